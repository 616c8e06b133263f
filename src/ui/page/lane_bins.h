/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A time line of lanes, in columns of equal length: for each lane and column the brick that took
 * most of the column, and the share of the column that was spent in bricks. A walk feeds it. One
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "analysis/walk/walk.h"

struct lane_bin {
	uint32_t brick;	 /* + 1; 0: none. brick_count + 1: waiting, in runs without such a brick */
	uint8_t percent; /* of its length in bricks and waits */
};

struct lane_bins {
	const struct run *run;
	const struct step_index *index;
	uint64_t begin_ns, bin_ns;
	size_t count;	  /* of columns */
	uint32_t *row_of; /* [lane_count]: of a lane, RUN_NONE: it has none */
	uint32_t *lanes;  /* [lane_total] */
	size_t lane_total;
	struct lane_bin *bins; /* [lane_total][count] */
	/* of the lane that is fed */
	uint64_t *ns; /* [brick_count + 1], in the column */
	uint32_t *touched, touched_count, wait_brick;
	uint64_t cursor_ns, next_ns; /* next_ns: where the column ends */
	size_t column;
	struct lane_bin *row;
};

/*
 * Makes columns for these lanes, which it copies; `count` columns over [begin_ns, end_ns). -ENOMEM.
 */
int lane_bins_init(struct lane_bins *bins, const struct run *run, const struct step_index *index,
	const uint32_t *lanes, size_t lane_total, uint64_t begin_ns, uint64_t end_ns, size_t count);
void lane_bins_fini(struct lane_bins *bins);

/* Functions for a walk over the whole run. */
extern const struct walk_ops lane_bins_ops;

/* The same for samples of that range only, as far as the samples around them can be found. */
void lane_bins_fill(struct lane_bins *bins);

/* The samples of a lane that lie in a range of time, with those that hold them. */
enum { LANE_RANGE_BACK = 65536 };
struct lane_range {
	size_t first, end; /* from the outermost sample around the first one on */
};

/* Finds the range. It misses a sample that began more than LANE_RANGE_BACK samples before it. */
static inline struct lane_range lane_range(
	const struct run_lane *lane, uint64_t since_ns, uint64_t until_ns)
{
	struct lane_range range = {run_sample_from(lane, since_ns), 0};
	size_t least = range.first > LANE_RANGE_BACK ? range.first - LANE_RANGE_BACK : 0;

	range.end = range.first;
	while (range.end < lane->sample_count && lane->samples[range.end].begin_ns < until_ns)
		range.end++;
	while (range.first > least && lane->samples[--range.first].depth)
		;
	return range;
}

static inline bool lane_range_holds(const struct run_sample *sample, uint64_t since_ns)
{
	return sample->end_ns + sample->wait_ns > since_ns;
}
