/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sides are compared block by block. A block is a recording, and each measure of it is reduced
 * to one value per token. For decode this value is taken over the quarter of the steps below the
 * median (by time per token), else over all steps. A disturbance makes a step longer, so that this
 * quarter changes only when half of all steps are disturbed. All parts are of the same steps, so
 * that they add up.
 *
 * If a side has too few recordings for any test, blocks are stretches of consecutive steps instead.
 * There are as many as leave neighbours independent, and each of A is paired with the one of B at
 * the same place. Later tokens have longer contexts, so decode steps are matched by their place
 * from the first on, and only places that all recordings have count.
 */
#pragma once

#include "analysis/compare/compare_series.h"

enum {
	COMPARE_STRETCHES_MIN = 8, /* with fewer, and many bricks, all is noise */
	COMPARE_STRETCHES_MAX = 24,
	COMPARE_STRETCH_STEPS = 3, /* a median needs so many steps */
};

/*
 * The probability that some measure is called different although none is. Four recordings a side
 * reach 2 of 70 labellings, so it can be kept below the 5 % that are promised.
 */
static const double compare_family_alpha = 0.03;

enum compare_unit {
	COMPARE_RECORDINGS,
	COMPARE_STRETCHES, /* of steps, in pairs */
};

/* One phase: values in ns per token, A's blocks before B's. */
struct compare_phase_blocks {
	/* With too few steps for stretches it stays recordings, and nothing is tested. */
	enum compare_unit unit;
	size_t in_a, in_b; /* 0: some recording has no step of this phase */
	uint64_t steps;	   /* used of each recording; 0: all */
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
 * Make one cell of each phase, from the steps which a block is made of. Whole recordings compare as
 * before, unless their numbers of decode steps differ. -ENOMEM.
 */
int compare_series_reduce(struct compare_series *series);

/* True if a test can find a difference between so many recordings. */
bool compare_recordings_suffice(size_t in_a, size_t in_b);

/* series: in_a of A, then in_b of B; each at least one. -ENOMEM; *blocks is then empty. */
int compare_blocks_init(struct compare_blocks *blocks, const struct compare_series *series,
	size_t in_a, size_t in_b, size_t names);
void compare_blocks_fini(struct compare_blocks *blocks);
