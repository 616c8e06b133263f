/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latest ends of a queue's commands, by the program's own waits for them; the newest waits are
 * remembered. Zeroed it is empty. Whoever has one locks it.
 */
#pragma once

#include <stdint.h>

enum { WAIT_ENDS = 64 };

struct wait_ends {
	struct {
		uint64_t below,
			ns; /* commands below that number were done by that time of the host */
	} ends[WAIT_ENDS];
	uint32_t count; /* ever */
};

static inline void wait_ends_add(struct wait_ends *w, uint64_t below, uint64_t host_ns)
{
	uint32_t at = w->count++ % WAIT_ENDS;

	w->ends[at].below = below;
	w->ends[at].ns = host_ns;
}

/* UINT64_MAX: not known. */
static inline uint64_t wait_ends_over_ns(const struct wait_ends *w, uint64_t number)
{
	uint64_t over_ns = UINT64_MAX;

	for (uint32_t i = 0; i < WAIT_ENDS && i < w->count; i++)
		if (number < w->ends[i].below && w->ends[i].ns < over_ns)
			over_ns = w->ends[i].ns;
	return over_ns;
}
