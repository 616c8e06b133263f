/* SPDX-License-Identifier: Apache-2.0 */
/* What each object exports that annotates its work, for tests. Any thread. */
#pragma once

#include <stdint.h>

/* One range as the program knows it; ns of CLOCK_MONOTONIC around both calls. */
struct said {
	const char *brick, *domain;
	int layer, is_async, level;
	uint64_t before_begin, after_begin, before_end, after_end;
};

struct annotated_object {
	/* `rounds` rounds of all kinds of ranges; returns how many were said, up to `most`. */
	int (*work)(int number, int rounds, struct said *said, int most);
	int (*push)(const char *text);
	int (*pop)(void);
	uint64_t (*start)(const char *text);
	void (*end)(uint64_t id);
	void (*name_thread)(const char *name);
	/* so many pairs of begin and end; ns of CPU time for one */
	double (*pairs)(int count, int registered);
	/* ranges of two domains, of which each ends across the other's */
	int (*across)(int rounds, struct said *said, int most);
	/* a range with a structure of `bytes` bytes, as NCCL has them; 0: it cannot */
	int (*payload)(uint64_t bytes);
	/* so many different strings are registered, then each is a range */
	void (*registered)(int count);
};
