/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program may forbid itself system calls (seccomp), and be killed by the first that it has not
 * foreseen. From then on nothing in src/lib/sys/ makes one but those of the C library's own threads
 * and memory: what would need one is refused with -EPERM, or not known. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern uint32_t brick__confined;

static inline bool brick__sys_is_confined(void)
{
	return __builtin_expect(__atomic_load_n(&brick__confined, __ATOMIC_ACQUIRE), 0) != 0;
}
