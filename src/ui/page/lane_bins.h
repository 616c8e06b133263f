/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A time line of lanes, in columns of equal length. A cell is one column of one lane: it names the
 * brick that took most of the column, and has the share of the column that lies in bricks and
 * waits. A walk fills all cells; lane_bins_fill() fills them without a walk. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "analysis/walk/walk.h"

struct lane_bin {
	/* a brick's index + 1; 0: none; brick_count + 1: waiting, in runs without BarrierWait */
	uint32_t brick;
	uint8_t percent; /* share of the column in bricks and waits, 0 to 100 */
};

struct lane_bins {
	const struct run *run;
	const struct step_index *index;
	uint64_t begin_ns;     /* the begin of column 0 */
	uint64_t bin_ns;       /* the length of a column */
	size_t count;	       /* the number of columns */
	uint32_t *row_of;      /* [lane_count]: a lane's row in `bins`; RUN_NONE: it has none */
	uint32_t *lanes;       /* [lane_total]: the lane of each row */
	size_t lane_total;     /* the number of rows */
	struct lane_bin *bins; /* [lane_total][count] */
	uint32_t wait_brick;   /* the brick that counts waits; brick_count: the run has none */
	/* The column that is being summed up: */
	uint64_t *ns;		/* [brick_count + 1]: time of each brick in it */
	uint32_t *touched;	/* the bricks that have time in it */
	uint32_t touched_count; /* entries of `touched` */
	uint64_t cursor_ns;	/* time before this moment is counted */
	uint64_t next_ns;	/* its end */
	size_t column;		/* its number */
	struct lane_bin *row;	/* the row of its lane */
};

/*
 * Divides [begin_ns, end_ns) into at most `count` columns for these lanes, which are copied. The
 * run and the index must outlive the bins. -ENOMEM, after which there is nothing to finish.
 */
int lane_bins_init(struct lane_bins *bins, const struct run *run, const struct step_index *index,
	const uint32_t *lanes, size_t lane_total, uint64_t begin_ns, uint64_t end_ns, size_t count);
void lane_bins_fini(struct lane_bins *bins);

/* Accumulates in a walk over the whole run; the context is the bins. */
extern const struct walk_ops lane_bins_ops;

/* Fills the cells from the samples of the bins' own range alone; lane_range() says what it misses.
 */
void lane_bins_fill(struct lane_bins *bins);

enum { LANE_RANGE_BACK = 65536 }; /* samples; bounds the search for the outermost holder */

/* Samples of a lane for a range of time: [first, end). */
struct lane_range {
	size_t first; /* the outermost sample that holds the range's first one */
	size_t end;   /* the first sample that begins after the range */
};

/* Finds these samples, but no holder more than LANE_RANGE_BACK samples before the first. */
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

/* True if the sample, with its wait, ends after the range's begin. */
static inline bool lane_range_holds(const struct run_sample *sample, uint64_t since_ns)
{
	return sample->end_ns + sample->wait_ns > since_ns;
}
