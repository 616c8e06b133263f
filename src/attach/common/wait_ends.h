/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upper bounds for the ends of a queue's commands, from the program's own waits for them. The
 * newest WAIT_ENDS waits are kept. Zeroed it is empty. The owner locks it.
 */
#pragma once

#include <stdint.h>

enum { WAIT_ENDS = 64 };

struct wait_ends {
	struct {
		uint64_t below; /* commands with lower numbers were done ... */
		uint64_t ns;	/* ... by this host's time */
	} ends[WAIT_ENDS];
	uint32_t count; /* of all waits so far */
};

static inline void wait_ends_add(struct wait_ends *w, uint64_t below, uint64_t host_ns)
{
	uint32_t at = w->count++ % WAIT_ENDS;

	w->ends[at].below = below;
	w->ends[at].ns = host_ns;
}

/* The host's time by which the command was done; UINT64_MAX: not known. */
static inline uint64_t wait_ends_over_ns(const struct wait_ends *w, uint64_t number)
{
	uint64_t over_ns = UINT64_MAX;

	for (uint32_t i = 0; i < WAIT_ENDS && i < w->count; i++)
		if (number < w->ends[i].below && w->ends[i].ns < over_ns)
			over_ns = w->ends[i].ns;
	return over_ns;
}
