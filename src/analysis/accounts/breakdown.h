/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wall time of a run cut up in the ways that pictures need: each step by category, layers by
 * brick, and the lengths of executions by phase, all from one pass over the samples. It follows the
 * rules of src/analysis/accounts/summary.h, so that sums over steps or layers are the rows of a
 * summary:
 *
 *   sum over steps of a category = the wall time of that category
 *   sum over layers and phases of a brick = the wall time of that brick
 *
 * Owned by the breakdown, which borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "analysis/steps/step_times.h"
#include "analysis/walk/walk.h"
#include "brick/recorded.h"
#include "trace/run.h"

enum {
	BREAKDOWN_LAYERS = 512, /* layers from this one on are counted as this one */
	BREAKDOWN_FINE = 4,	/* buckets of a run's histogram that make one of ours */
	BREAKDOWN_BUCKETS = BRICK_HISTOGRAM_BUCKETS / BREAKDOWN_FINE,
	BREAKDOWN_PHASES = STEP_PHASES + 1, /* the last: in no step, of a run without steps */
};

/* Columns of a step's parts behind those of bricks. */
enum breakdown_rest {
	BREAKDOWN_LEFT_OUT, /* bricks that are left out of the run */
	BREAKDOWN_PREEMPTED,
	BREAKDOWN_BLOCKED,
	BREAKDOWN_RESTS,
};

struct breakdown {
	const struct run *run;
	/* of the run, one for waits of runs that name none, "preempted" and "blocked" */
	uint32_t category_count;
	uint32_t brick_count; /* of the run, and one for waits */
	uint32_t wait_brick, wait_category;
	uint32_t layer_count; /* rows: layer + 1, so that row 0 is outside of layers */
	uint64_t *steps;      /* [step_count][category_count], ns of wall time */
	uint64_t *layers;     /* [BREAKDOWN_PHASES][layer_count][brick_count], ns of wall time */
	uint64_t *counts;     /* the same: executions, on all threads */
	/* [BREAKDOWN_PHASES][brick_count], each NULL or uint64_t[BREAKDOWN_BUCKETS] */
	uint64_t **histograms;
	/* of the steps that breakdown_parts() was asked for, ns of wall time:
	 * [count][brick_count + BREAKDOWN_RESTS] */
	uint64_t *parts;
	uint32_t *part_of; /* [step_count]: row + 1, 0: none; NULL: nothing was asked for */
	const struct step_index *index; /* while it is fed */
	bool failed;
};

/* Whole when the walk has run. -ENOMEM. */
int breakdown_create_in(struct breakdown **out, struct walk *walk);
void breakdown_destroy(struct breakdown *breakdown);

/* Before the walk runs: also count these steps by brick. -ENOMEM. */
int breakdown_parts(struct breakdown *breakdown, const uint32_t *steps, size_t count);

/* [brick_count + BREAKDOWN_RESTS] of a step that was asked for. */
static inline uint64_t *breakdown_part(const struct breakdown *b, uint32_t step)
{
	return b->parts + (size_t)(b->part_of[step] - 1) * (b->brick_count + BREAKDOWN_RESTS);
}

/*
 * ns by category of a step; the place of a layer's row and a brick of a phase in layers and counts.
 */
static inline const uint64_t *breakdown_step(const struct breakdown *b, uint32_t step)
{
	return b->steps + (size_t)step * b->category_count;
}

static inline size_t breakdown_cell(
	const struct breakdown *b, unsigned phase, uint32_t row, uint32_t brick)
{
	return ((size_t)phase * b->layer_count + row) * b->brick_count + brick;
}

const char *breakdown_category_name(const struct breakdown *b, uint32_t category);

/* A bucket of lengths in ns reaches from one edge to below the next. */
uint32_t breakdown_bucket(uint64_t ns);
uint64_t breakdown_edge_ns(uint32_t bucket);

/*
 * Lengths of all executions of a brick on threads, also of those whose samples were dropped: the
 * run's own histogram of it where there is one (src/analysis/accounts/durations.h), else that of
 * the samples. out: [BREAKDOWN_BUCKETS].
 */
void breakdown_all_durations(const struct breakdown *breakdown, uint32_t brick, uint64_t *out);
