/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sides are compared recording by recording. Each measure of a recording is reduced to one
 * value per token. For decode this value is taken over the quarter of the steps below the median
 * (by time per token), else over all steps. A disturbance makes a step longer, so that this quarter
 * changes only when half of all steps are disturbed. All parts are of the same steps, so that they
 * add up. Later tokens have longer contexts, so decode steps count up to the last one that all
 * recordings have.
 *
 * Where recordings are so few that their spread must be assumed, each measure also has its spread
 * within a recording, over stretches of its steps.
 */
#pragma once

#include "analysis/compare/compare_series.h"

/*
 * One phase: values in ns per token, one of each recording, A's before B's. Arrays are NULL if some
 * recording has no step of the phase.
 */
struct compare_phase_blocks {
	uint64_t steps;	 /* compared steps of each recording; 0: all */
	double *time;	 /* [recordings]: of the typical steps */
	double *rate;	 /* [recordings]: of all steps; overlapping steps count once */
	double *elapsed; /* [recordings]: as rate, with the program's time between steps */
	double *columns; /* [recordings][names]: of the typical steps */
	/* standard deviations of logarithms within a recording, where needed: time, rate, elapsed
	 */
	double spread[3];
	double *column_spread; /* [names]: the same of columns */
};

struct compare_blocks {
	size_t in_a, in_b, names;
	struct compare_phase_blocks phases[STEP_PHASES];
};

/* The spread of values that are measured once in a recording. */
static const double compare_spread_unknown = 0.5;

/*
 * Reduces each phase to one cell, of the typical steps. Recordings then compare as before, unless
 * their numbers of decode steps differ. -ENOMEM.
 */
int compare_series_reduce(struct compare_series *series);

/* series: in_a of A, then in_b of B; both at least 1. -ENOMEM; *blocks is then empty. */
int compare_blocks_init(struct compare_blocks *blocks, const struct compare_series *series,
	size_t in_a, size_t in_b, size_t names);
void compare_blocks_fini(struct compare_blocks *blocks);
