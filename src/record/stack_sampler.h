/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes stacks of a program and its children from the kernel into the recording. One thread. A turn
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

/*
 * Call it between the program's fork and its exec. hz: stacks per second of CPU time, from 1 to
 * STACKS_HZ_MOST. 0, or -errno as stack_events_follow().
 */
int stack_sampler_create(struct stack_sampler **out, pid_t program, unsigned hz);

/* The same for processes that run already: stack_sampler_enter() follows each. 0 or -ENOMEM. */
int stack_sampler_create_running(struct stack_sampler **out, unsigned hz);

/* All threads of the process are stopped. 0, or -errno as stack_events_add(), counted as a loss. */
int stack_sampler_enter(struct stack_sampler *s, pid_t pid);

/* Is a process followed? */
bool stack_sampler_any(const struct stack_sampler *s);

/* Writes a sentence that explains an error of stack_sampler_create(), and of _enter(). */
void stack_sampler_reason(int error, char *text, size_t size);

/* If it is due, hand new stacks to the encoder. Returns the ms until it is due again. */
uint32_t stack_sampler_turn(struct stack_sampler *s, struct encoder *e, uint64_t now_ns);

/* True if packets were handed on since the last call. */
bool stack_sampler_has_passed(struct stack_sampler *s);

/*
 * Write the remaining stacks and all functions' names. Call it when the program is over and
 * encoder_finish() has given the writer back. An error stays in the writer.
 */
void stack_sampler_finish(struct stack_sampler *s, struct trace_writer *w, uint64_t end_ns);

/* Fills in all of *account but `error` and `reason`. */
void stack_sampler_account(const struct stack_sampler *s, struct stack_account *account);

/* NULL is legal. */
void stack_sampler_destroy(struct stack_sampler *s);
