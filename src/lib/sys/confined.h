/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program may forbid itself system calls (seccomp); the kernel then kills it at the first call
 * that it has not allowed. Such a process is confined: nothing in src/lib/sys/ makes a system call
 * any more, apart from the C library's own for threads and memory. A function that would need one
 * returns -EPERM or "not known": check brick__sys_is_confined() before each new system call. A
 * process that inherits a filter is confined from its start. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include "base/file.h"
#include "brick/export.h"

/* 1: the process is confined. brick__confine() sets it (lib/session/session_lanes.h). */
BRICK_API extern uint32_t brick__confined;

static inline bool brick__sys_is_confined(void)
{
	return __builtin_expect(__atomic_load_n(&brick__confined, __ATOMIC_ACQUIRE), 0) != 0;
}

/*
 * Returns how many seccomp filters this process has; before Linux 5.9 the mode, which is above 0 if
 * there is any. It makes only system calls that the dynamic linker has made before.
 */
static inline uint32_t brick__sys_filters(void)
{
	char text[16] = "";

	file_field("/proc/self/status", "Seccomp_filters", text, sizeof(text));
	if (!*text)
		file_field("/proc/self/status", "Seccomp", text, sizeof(text));
	return (uint32_t)strtoul(text, NULL, 10);
}
