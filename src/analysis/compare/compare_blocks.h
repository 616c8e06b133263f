/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks that two sides are compared by. A block is a recording, of which each measure is
 * reduced to one value per token: for decode over the quarter of the steps below the median (by time
 * per token), else over all steps. A disturbance makes a step longer, so that this quarter changes
 * only when half of all steps are disturbed. All parts are of the same steps, so that they add up. Where a side has too few recordings for any test, blocks are
 * stretches of consecutive steps instead: as many as leave neighbours independent, each of A paired
 * with the one of B at the same place. Only decode steps that all recordings have are looked at, by
 * their place from the first on: later tokens have longer contexts.
 */
#pragma once

#include "analysis/compare/compare_series.h"

enum {
	COMPARE_STRETCHES_MIN = 8, /* with fewer, and many bricks, all is noise */
	COMPARE_STRETCHES_MAX = 24,
	COMPARE_STRETCH_STEPS = 3, /* the least that a median is one of */
};

/*
 * The probability that any of all measures is called different where none is. It is kept below the
 * 5 % that are promised, as four recordings a side (2 of 70 labellings) allow.
 */
static const double compare_family_alpha = 0.03;

enum compare_unit {
	COMPARE_RECORDINGS,
	COMPARE_STRETCHES, /* of steps, in pairs */
};

/* One phase: values in ns per token, A's blocks before B's. */
struct compare_phase_blocks {
	/* Recordings also where there are too few steps for stretches: then nothing is tested. */
	enum compare_unit unit;
	size_t in_a, in_b; /* 0: not all recordings have steps of it */
	uint64_t steps;	   /* of each recording that were looked at; 0: all that it has */
	double *time;	   /* [in_a + in_b] */
	double *rate;	   /* the same of all steps, as they overlap */
	double *columns;   /* [in_a + in_b][names] */
};

struct compare_blocks {
	enum compare_unit unit;
	size_t names;
	struct compare_phase_blocks phases[STEP_PHASES];
};

/*
 * Make one cell of each phase: that of the steps which a block is made of, so that whole recordings
 * compare as before, but for where they have different numbers of decode steps. -ENOMEM.
 */
int compare_series_reduce(struct compare_series *series);

/* True if there are enough recordings a side for a difference to be found. */
bool compare_recordings_suffice(size_t in_a, size_t in_b);

/* series: those of A, then those of B; at least one each. -ENOMEM; *blocks is then empty. */
int compare_blocks_init(struct compare_blocks *blocks, const struct compare_series *series,
	size_t in_a, size_t in_b, size_t names);
void compare_blocks_fini(struct compare_blocks *blocks);
