/* SPDX-License-Identifier: Apache-2.0 */
/* What the system says of this process's memory. Any thread. */
#pragma once

#include <stdint.h>

struct system_memory {
	uint64_t peak_bytes;	  /* the most that the process had at a time, with pages of files */
	uint64_t anonymous_bytes; /* that it has now, without pages of files */
};

/* All 0: not known, or a filter of system calls may refuse to tell. */
struct system_memory system_memory_now(void);
