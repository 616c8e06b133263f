/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that a thread of a stopped process makes for us. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "record/enter/tracee.h"

/* A system call: its number and six arguments. */
struct system_call {
	uint64_t words[7];
};

enum { SYSTEM_CALLS_MOST = 4 };

/*
 * Has a thread make system calls, at most SYSTEM_CALLS_MOST, and reads the mappings anew until
 * `is_done` finds what they should do. 0; -ENOSPC: there is no place for the code; -EIO: it was not
 * done. The thread does them by itself, so that it comes to no harm if we are killed.
 */
int system_calls_make(struct tracee *t, const struct system_call *calls, size_t count,
	bool (*is_done)(const struct tracee *t, const void *context), const void *context);

/*
 * Put back what was in the place of the code of system calls. True: it is, or was before. False: a
 * thread is in it. All threads are stopped.
 */
bool system_calls_give_back(struct tracee *t);
