/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how the bricks of decoding grow with context and batch. A step's context is the mean
 * number of tokens that its tokens attend to. Steps of one model with equally many tokens are a
 * series. For each series and brick a line of the brick's time in a step over the context is
 * fitted: its slope is the median of slopes between independent pairs of steps, with a 95 %
 * interval that allows for noise which lasts over several steps. Nothing is extrapolated. Times are
 * of the thread that runs the steps, or of devices, without preemption where that is known.
 * Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analysis/walk/walk.h"
#include "analysis/walk/step_index.h"
#include "trace/run.h"

struct scaling_value {
	double value, low, high; /* low, high: its 95 % interval */
};

/* A measured point: the medians of neighbours, when the steps are sorted by context. */
enum { SCALING_POINTS = 24 }; /* of a line, at most */
struct scaling_point {
	double context; /* tokens */
	double ns;
};

/* A time over the context, in ns. */
struct scaling_line {
	double median_ns; /* of single steps */
	struct scaling_point points[SCALING_POINTS];
	uint32_t point_count;
	bool is_known; /* false: contexts or steps are too few, and the rest is not valid */
	struct scaling_value slope; /* ns for each token of context */
	struct scaling_value at;    /* ns at the context `middle` */
	double middle;		    /* of the contexts, tokens */
	bool bends; /* the slopes of the shorter and longer contexts differ: intervals do not
		       overlap */
};

struct scaling_brick {
	uint32_t brick;
	bool on_device; /* time of devices, not of the thread */
	struct scaling_line line;
};

/* Steps of one model with so many tokens. */
struct scaling_series {
	uint32_t process, model; /* model: RUN_NONE: not known */
	uint32_t batch;		 /* tokens in a step */
	bool is_counted; /* no sequence was recorded: contexts are sums of the steps' tokens */
	uint32_t steps;
	double shortest, longest; /* contexts, tokens */
	struct scaling_line step; /* the whole step, with the work after it in its account */
	struct scaling_line ffn;  /* all bricks of the category FFN */
	bool ffn_on_device;	  /* `ffn` is on devices: where FlashAttention is */
	/*
	 * The share of its median by which the FFN takes longer at the longest context than at the
	 * shortest; 0: the interval has 0 in it. The FFN does not depend on the context: if it
	 * falls by SCALING_DRIFT or more, the machine changed meanwhile; if it grows, caches may
	 * have become too small as well.
	 */
	double drift;
	struct scaling_brick *bricks; /* the longest median first; waits and overhead included */
	size_t brick_count;
	size_t attention; /* FlashAttention, where it is longest, in bricks; brick_count: none */
};

struct scaling {
	struct scaling_series *series; /* by process and model, then by batch */
	size_t count;
	uint64_t unknown_steps;	     /* decoding steps whose context is not known */
	struct scaling_maker *maker; /* valid only while the walk feeds it */
};

/*
 * A slope is known from SCALING_MIN_STEPS steps on, if the longest context is SCALING_MIN_SPAN
 * times the shortest. Six pairs are the least that a 95 % interval can be made of.
 */
enum { SCALING_MIN_STEPS = 12, SCALING_MIN_SPAN = 2 };
#define SCALING_DRIFT 0.1

/*
 * The result is valid when the walk has run. 0, -ENOMEM, or BRICK_ENOTRECORDED: no decoding step
 * has a known context. Call scaling_destroy(*out) in any case, after an error as well.
 */
int scaling_create_in(struct scaling **out, struct walk *walk);

/* As scaling_create_in(), with a walk of its own. */
int scaling_create(struct scaling **out, const struct run *run, const struct step_index *index);
void scaling_destroy(struct scaling *scaling);

/* The line's time at a context between shortest and longest. line->is_known must be true. */
struct scaling_value scaling_at(const struct scaling_line *line, double context);

/* True if a time grows: its slope and the interval are above 0. */
static inline bool scaling_grows(const struct scaling_line *line)
{
	return line->is_known && line->slope.low > 0;
}

/* True if the slope may be 0. */
static inline bool scaling_is_level(const struct scaling_line *line)
{
	return line->slope.low <= 0 && line->slope.high >= 0;
}

/*
 * True if nothing can be said of a slope: it may go up or down, and either by more than a quarter
 * of the time over these contexts.
 */
static inline bool scaling_is_noisy(
	const struct scaling_series *series, const struct scaling_line *line)
{
	double half = (line->slope.high - line->slope.low) / 2;

	return line->is_known && scaling_is_level(line) &&
	       half * (series->longest - series->shortest) > line->median_ns / 4;
}

/* True if the FFN became faster meanwhile: the machine changed, and slopes say little. */
static inline bool scaling_drifted(const struct scaling_series *series)
{
	return series->drift <= -SCALING_DRIFT;
}
