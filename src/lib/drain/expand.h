/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes out the ring's compact records for the writer: SAMPLES become SAMPLEs, and a WORK_AHEAD
 * becomes the WORK of each sample that it is about. BRICK_FLAG_UNCOUNTED is for producer and
 * consumer only: the writer does not get it. Emitting side.
 */
#pragma once

#include <stddef.h>
#include "brick/abi/lane.h"
#include "lib/writer/sink.h"

enum { DRAIN_AHEAD = 64 }; /* samples that a WORK_AHEAD may be about: bits of `ticks` and `wait` */

/* Works of samples in SAMPLES that are yet to come. All 0: none. */
struct drain_ahead {
	uint64_t known; /* bit i: works[] has the work of the i-th next sample */
	uint32_t next;	/* counts samples; % DRAIN_AHEAD: place in works[] */
	struct brick_record works[DRAIN_AHEAD]; /* a ring */
};

static inline void drain_ahead_add(struct drain_ahead *a, const struct brick_record *record)
{
	uint64_t samples = (uint64_t)record->wait << 32 | record->ticks;

	a->known |= samples;
	for (; samples; samples &= samples - 1)
		a->works[(a->next + (uint32_t)__builtin_ctzll(samples)) % DRAIN_AHEAD] = *record;
}

/* Goes on to the next sample, and returns its work; NULL: it did what its site says. */
static inline const struct brick_record *drain_ahead_take(struct drain_ahead *a)
{
	const struct brick_record *work = a->known & 1 ? &a->works[a->next % DRAIN_AHEAD] : NULL;

	a->known >>= 1;
	a->next++;
	return work;
}

/*
 * Writes out a lane's next `count` records into `out`, with bricks and layers from the tables;
 * returns how many it wrote, at most `capacity`, which is at least 6 (three samples with works).
 * *used: how many of the records there was room for.
 */
size_t drain_expand(const struct sink_tables *tables, struct drain_ahead *ahead,
	const struct brick_record *records, size_t count, struct brick_record *out, size_t capacity,
	size_t *used);
