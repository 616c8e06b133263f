/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the threads of a stopped process are, and where they will return to. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record/enter/tracee.h"

/* A range of addresses: [low, end). */
struct code_range {
	uint64_t low, end;
};

/* Is the thread on the stack that it was started with? */
bool thread_has_own_stack(const struct tracee *t, const struct tracee_thread *thread);

/*
 * Is a thread in one of the ranges, or will it return there? 1; 0; or -EAGAIN: it is not known, as
 * the thread has frames that cannot be followed, and behind them words that look like it.
 */
int thread_is_in(const struct tracee *t, const struct tracee_thread *thread,
	const struct code_range *ranges, size_t count);

/* The same of all threads but the one whose stack is in `except`, which may be NULL. */
int any_thread_is_in(const struct tracee *t, const struct code_range *ranges, size_t count,
	const struct code_range *except);
