/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of SAMPLEs that their producer did not count (BRICK_FLAG_UNCOUNTED): who drains the
 * records counts them, and who only looks adds those that are drained to those in the ring. Nothing
 * in a lane is trusted here, as it may be another process's. The entries have one owner.
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
 * Count records in their order, those of the first `bricks` ones. `depth` and `open`: of what they
 * lie in.
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
 * All of a lane, drained or not, while its owner and its consumer go on: entries of the first
 * `bricks` ones. ring, capacity: the lane's, which were checked. False: a turn of the consumer did
 * not end (it was killed?), so that a batch may be counted twice or not at all.
 */
bool brick__leaf_stats_read(const struct brick_lane *lane, const struct brick_record *ring,
	uint64_t capacity, uint32_t bricks, struct leaf_stats *out);

/* Into the statistics of the same brick. */
void brick__leaf_stat_add(struct brick_stat *to, const struct brick_leaf_stat *leaf);
