/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that stand for several, written out for sinks: samples that share a record, and works
 * that were told ahead of their samples (BRICK_RECORD_WORK_AHEAD). Who counts a record is between
 * producer and consumer, and no sink is told. Emitting side.
 */
#pragma once

#include <stddef.h>
#include "brick/abi/lane.h"
#include "lib/writer/sink.h"

enum { DRAIN_AHEAD = 64 };

/* Works of samples that are yet to come. */
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

/*
 * Write what a lane's next records stand for into `out`, which holds `capacity` (at least 6),
 * with bricks and layers from the tables; returns how many. *used: of the records, as many as there
 * was room for.
 */
size_t drain_expand(const struct sink_tables *tables, struct drain_ahead *ahead,
	const struct brick_record *records, size_t count, struct brick_record *out, size_t capacity,
	size_t *used);
