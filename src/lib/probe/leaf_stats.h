/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of SAMPLEs that their producer did not count (BRICK_FLAG_UNCOUNTED). The consumer
 * counts them when it drains them; a reader adds the drained counts and those of the records in the
 * ring. Nothing in a lane is trusted here, as it may be another process's. One thread at a time for
 * each set of entries.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "brick/abi/lane.h"

/* Too big for a stack. */
struct leaf_stats {
	uint32_t depth; /* OPENs without a CLOSE so far */
	uint16_t open[BRICK_MAX_DEPTH];
	struct brick_leaf_stat stats[BRICK_MAX_BRICKS];
};

/* Counts one SAMPLE. nests: it lies in another execution of the same brick. */
static inline void leaf_count(
	struct brick_leaf_stat *stat, const struct brick_record *r, bool nests)
{
	uint64_t ticks = r->ticks;

	if (!stat->count || ticks < stat->min)
		stat->min = ticks;
	if (ticks > stat->max)
		stat->max = ticks;
	stat->count++;
	stat->total += nests ? 0 : ticks;
	stat->nested += nests ? ticks : 0;
	stat->elements += r->flags & BRICK_FLAG_ELEMENTS ? r->elements : 0;
}

static inline bool leaf_is_open(const uint16_t *open, uint32_t depth, uint32_t brick)
{
	for (uint32_t i = 0; i < depth; i++)
		if (open[i] == brick)
			return true;
	return false;
}

/*
 * Counts records in their order; ids from `bricks` on are left out. *depth and open: the OPENs
 * without a CLOSE before these records, and then behind them.
 */
static inline void leaf_count_all(struct brick_leaf_stat *stats, uint32_t bricks, uint32_t *depth,
	uint16_t *open, const struct brick_record *records, size_t count)
{
	uint32_t d = *depth;

	for (size_t i = 0; i < count; i++) {
		const struct brick_record *r = &records[i];
		if (r->kind == BRICK_RECORD_SAMPLE) {
			if (r->flags & BRICK_FLAG_UNCOUNTED && r->brick < bricks)
				leaf_count(&stats[r->brick], r, leaf_is_open(open, d, r->brick));
		} else if (r->kind == BRICK_RECORD_OPEN) {
			if (d < BRICK_MAX_DEPTH)
				open[d++] = r->brick;
		} else if (r->kind == BRICK_RECORD_CLOSE) {
			d -= d > 0;
		} else if (r->kind == BRICK_RECORD_THREAD) {
			d = 0;
		}
	}
	*depth = d;
}

/*
 * Fills the entries below `bricks` with the counts of all of a lane's records, drained or not,
 * while its owner and its consumer go on. ring, capacity: the lane's, checked by the caller. False:
 * a turn of the consumer did not end (it may have been killed), so that a batch may be counted
 * twice or not at all.
 */
bool brick__leaf_stats_read(const struct brick_lane *lane, const struct brick_record *ring,
	uint64_t capacity, uint32_t bricks, struct leaf_stats *out);

/* Adds an entry to the statistics of the same brick. */
void brick__leaf_stat_add(struct brick_stat *to, const struct brick_leaf_stat *leaf);
