/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program may forbid itself system calls (seccomp), and be killed by the first that it has not
 * foreseen. From then on nothing in src/lib/sys/ makes one but those of the C library's own threads
 * and memory: what would need one is refused with -EPERM, or not known. A program may also have
 * come behind a filter: then it is so from its start. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include "base/file.h"
#include "brick/export.h"

BRICK_API extern uint32_t brick__confined;

static inline bool brick__sys_is_confined(void)
{
	return __builtin_expect(__atomic_load_n(&brick__confined, __ATOMIC_ACQUIRE), 0) != 0;
}

/*
 * How many filters this process has; before Linux 5.9 only whether it has any, as a number above 0.
 * By calls that the dynamic linker has made before.
 */
static inline uint32_t brick__sys_filters(void)
{
	char text[16] = "";

	file_field("/proc/self/status", "Seccomp_filters", text, sizeof(text));
	if (!*text)
		file_field("/proc/self/status", "Seccomp", text, sizeof(text));
	return (uint32_t)strtoul(text, NULL, 10);
}
