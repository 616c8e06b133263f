/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of two sides is faster, where, and is that noise: blocks in, effects out. Each measure is a
 * time; its effect is the Hodges-Lehmann shift of the logarithms of the blocks' values, as a ratio
 * less 1, with its 95 % interval. A verdict of slower or faster needs both the interval beyond the
 * threshold and a test of all measures together (src/analysis/compare/permutation.h) that gives at
 * most 3 %; same needs the interval within the threshold; all else is not enough data.
 *
 * Parts of a step's time have points: what they add to the effect on the time of their phase. All
 * points of a phase and its residual are that effect. Owned by the comparison, which borrows the
 * names. Read-only once made: any thread.
 */
#pragma once

#include "analysis/compare/compare_blocks.h"
#include "analysis/compare/difference.h"

enum compare_measure {
	COMPARE_TTFT,
	COMPARE_TIME,	/* of a token, typical steps */
	COMPARE_RATE,	/* of a token, all steps: what tokens/s are */
	COMPARE_COLUMN, /* of a token, in a brick, layer or kernel */
};

struct compare_row {
	enum compare_measure measure;
	int phase;		/* enum step_phase; -1: of none */
	enum compare_kind kind; /* of a column */
	const char *name;	/* of a column, else NULL */
	double a, b;		/* ns a token (TTFT: ns): the medians of the blocks */
	/* NAN: not known. Ratios less 1. low and high are infinite where there are too few blocks
	 */
	double effect, low, high;
	double p;	   /* adjusted; NAN: not tested */
	double points;	   /* NAN: no part of the step's time */
	double detectable; /* least effect that would be found in 4 of 5 trials; INFINITY: none */
	enum compare_verdict verdict;
};

struct compare_phase {
	size_t in_a, in_b; /* blocks; 0: nothing to compare */
	uint64_t steps;	   /* of each recording that were compared; 0: all */
	double residual;   /* of the effect on its time: in no part */
};

struct compare {
	enum compare_unit unit;
	double threshold;
	/* of bricks and layers; mixed: times off the CPU are known of some only, no verdicts */
	enum summary_basis basis;
	struct compare_row *rows; /* TTFT, then by phase: time, rate, parts by points, kernels */
	size_t row_count;
	struct compare_phase phases[STEP_PHASES];
	enum compare_verdict verdict; /* on the whole: of all rows without a name */
};

/*
 * series: those of A, then those of B; at least one each, read with `names`. threshold: ratio less
 * 1 below which nothing matters; negative: 0.01 between recordings; between stretches 0.03, and no
 * verdict of slower or faster, as nobody says what processes differ by. -ENOMEM.
 */
int compare_create(struct compare **out, const struct compare_series *series, size_t in_a,
	size_t in_b, const struct compare_names *names, double threshold);
void compare_destroy(struct compare *compare);

/* The row of a phase (TTFT: -1) that measures that, or NULL. */
const struct compare_row *compare_find(
	const struct compare *compare, int phase, enum compare_measure measure);

/*
 * Effect, interval, test and verdict of values that are no part of a comparison: one value of each
 * run, at least one a side. alpha: of the test. -ENOMEM.
 */
int compare_values(struct compare_row *row, const double *a, size_t in_a, const double *b,
	size_t in_b, double threshold, double alpha);
