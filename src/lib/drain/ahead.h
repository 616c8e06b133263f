/* SPDX-License-Identifier: Apache-2.0 */
/* Works that a lane has told of samples that are yet to come (BRICK_RECORD_WORK_AHEAD). */
#pragma once

#include <stddef.h>
#include "brick/abi/lane.h"

enum { DRAIN_AHEAD = 64 };

struct drain_ahead {
	uint64_t known;				/* the next sample's is bit 0 */
	uint32_t next;				/* its place in `works` */
	struct brick_record works[DRAIN_AHEAD]; /* in turns */
};

static inline void drain_ahead_add(struct drain_ahead *a, const struct brick_record *record)
{
	uint64_t samples = (uint64_t)record->wait << 32 | record->ticks;

	a->known |= samples;
	for (; samples; samples &= samples - 1)
		a->works[(a->next + (uint32_t)__builtin_ctzll(samples)) % DRAIN_AHEAD] = *record;
}

/* The next sample's; NULL: it did what its site says. */
static inline const struct brick_record *drain_ahead_take(struct drain_ahead *a)
{
	const struct brick_record *work = a->known & 1 ? &a->works[a->next % DRAIN_AHEAD] : NULL;

	a->known >>= 1;
	a->next++;
	return work;
}
