/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of a program and its children, from the kernel to the recording. One thread; a turn
 * takes microseconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "format/machine_use.h"
#include "record/encoder.h"

enum { STACKS_HZ = 99, STACKS_HZ_MOST = 997 };

struct stack_sampler;

/* Of a program that has not done its exec yet. 0, or why there will be no stacks: -errno. */
int stack_sampler_create(struct stack_sampler **out, pid_t program, unsigned hz);

/* A sentence on what stack_sampler_create() returned. */
void stack_sampler_reason(int error, char *text, size_t size);

/* Hand to the encoder what has been taken, if it is time. Returns in how many ms it is again. */
uint32_t stack_sampler_turn(struct stack_sampler *s, struct encoder *e, uint64_t now_ns);

/* Stacks were handed on since the last call of this. */
bool stack_sampler_has_passed(struct stack_sampler *s);

/*
 * The program is over: what is left, and the functions' names, into the recording. The writer keeps
 * its error.
 */
void stack_sampler_finish(struct stack_sampler *s, struct trace_writer *w, uint64_t end_ns);

void stack_sampler_account(const struct stack_sampler *s, struct stack_account *account);

/* NULL is legal. */
void stack_sampler_destroy(struct stack_sampler *s);
