/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts up the wall time of a run in the ways that pictures need: steps by category, layers by
 * brick, and lengths of executions by phase, all in one pass over the samples. It follows the rules
 * of src/analysis/accounts/summary.h, so that sums over steps or layers are the rows of a summary:
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
	BREAKDOWN_LAYERS =
		512,	    /* rows of layers; where there are more, the last row has the rest */
	BREAKDOWN_FINE = 4, /* buckets of a run's histogram in one bucket of a breakdown */
	BREAKDOWN_BUCKETS = BRICK_HISTOGRAM_BUCKETS / BREAKDOWN_FINE,
	BREAKDOWN_PHASES = STEP_PHASES + 1, /* the last: in no step */
};

/* Columns of a step's parts, after the columns of bricks. */
enum breakdown_rest {
	BREAKDOWN_LEFT_OUT, /* time in bricks that the selection left out */
	BREAKDOWN_PREEMPTED,
	BREAKDOWN_BLOCKED,
	BREAKDOWN_RESTS,
};

struct breakdown {
	const struct run *run;
	/* the run's categories, then waits (for runs without that category), preempted, blocked */
	uint32_t category_count;
	uint32_t brick_count; /* the run's bricks, then waits (for runs without BarrierWait) */
	uint32_t wait_brick, wait_category; /* where waits of samples count */
	uint32_t layer_count;		    /* rows: layer + 1; row 0 is outside of layers */
	bool last_is_rest;		    /* the last row has more than one layer */
	uint64_t *steps;		    /* [step_count][category_count], ns of wall time */
	uint64_t *layers; /* [BREAKDOWN_PHASES][layer_count][brick_count], ns of wall time */
	uint64_t *counts; /* cells as in layers: executions on all threads, and waits */
	/* [BREAKDOWN_PHASES][brick_count]: NULL or [BREAKDOWN_BUCKETS] counts of lengths */
	uint64_t **histograms;
	/* ns of wall time, of steps that breakdown_parts() asked for:
	 * [count][brick_count + BREAKDOWN_RESTS]; NULL: none */
	uint64_t *parts;
	uint32_t *part_of; /* [step_count]: row of parts + 1; 0: none; NULL: no parts */
	const struct step_index *index; /* used while the walk runs */
	bool failed;			/* out of memory: the walk ends with -ENOMEM */
};

/* Joins the walk; numbers are there when the walk has run. -ENOMEM. */
int breakdown_create_in(struct breakdown **out, struct walk *walk);
void breakdown_destroy(struct breakdown *breakdown);

/* Before the walk runs, at most once: also counts these steps by brick. -ENOMEM. */
int breakdown_parts(struct breakdown *breakdown, const uint32_t *steps, size_t count);

/* [brick_count + BREAKDOWN_RESTS] ns of a step that breakdown_parts() was given. */
static inline uint64_t *breakdown_part(const struct breakdown *b, uint32_t step)
{
	return b->parts + (size_t)(b->part_of[step] - 1) * (b->brick_count + BREAKDOWN_RESTS);
}

/* [category_count] ns of a step. */
static inline const uint64_t *breakdown_step(const struct breakdown *b, uint32_t step)
{
	return b->steps + (size_t)step * b->category_count;
}

/* The place in `layers` and `counts`. row: layer + 1. */
static inline size_t breakdown_cell(
	const struct breakdown *b, unsigned phase, uint32_t row, uint32_t brick)
{
	return ((size_t)phase * b->layer_count + row) * b->brick_count + brick;
}

const char *breakdown_category_name(const struct breakdown *b, uint32_t category);

/* A bucket has lengths from its edge to below the edge of the next bucket. */
uint32_t breakdown_bucket(uint64_t ns);
uint64_t breakdown_edge_ns(uint32_t bucket);

/*
 * Lengths of all executions of a brick on threads, also of those whose samples were dropped: the
 * run's own histogram of it where there is one (src/analysis/accounts/durations.h), else that of
 * the samples. out: [BREAKDOWN_BUCKETS].
 */
void breakdown_all_durations(const struct breakdown *breakdown, uint32_t brick, uint64_t *out);
