/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two sides: recordings in, differences out, in each row one value of each recording.
 * Intervals are wide enough for all of them together (difference.h): half of the probability of an
 * error is for the rows of whole phases, half for their parts.
 *
 * Parts of a step's time have points: what they add to the effect on the time of their phase. All
 * points of a phase and its residual are that effect. Bricks that only one side has are compared
 * with those of their category that only the other has: so renamed and fused ones meet. Owned by
 * the comparison, which borrows the names. Read-only once made: any thread.
 */
#pragma once

#include "analysis/compare/compare_blocks.h"
#include "analysis/compare/difference.h"
#include "base/array.h"

/* The probability that some row is called slower or faster although none is. */
static const double compare_family_alpha = 0.03;

enum compare_measure {
	COMPARE_TTFT,
	COMPARE_TIME,	 /* of a token, typical steps */
	COMPARE_RATE,	 /* tokens per s of all steps; there is none if some took no time */
	COMPARE_ELAPSED, /* of a token, all steps and the time between them; if that is much */
	COMPARE_COLUMN,	 /* of a token, in a brick, category, layer or kernel */
};

struct compare_row {
	enum compare_measure measure;
	int phase;		      /* enum step_phase; -1: of none */
	enum compare_kind kind;	      /* of a column */
	const char *name;	      /* of a column, else NULL */
	struct difference difference; /* ns a token; TTFT: ns; tokens/s */
	double points;		      /* NAN: no part of the step's time */
	struct compare_work a, b;     /* a token, means of the recordings */
};

struct compare_phase {
	bool is_known;	 /* false: nothing to compare */
	uint64_t steps;	 /* of each recording that were compared; 0: all */
	double residual; /* of the effect on its time: in no part */
};

struct compare {
	double threshold;
	bool assumes; /* too few recordings: their spread is assumed */
	/* of bricks and layers; mixed: times off the CPU are known of some only, no verdicts */
	enum summary_basis basis;
	struct compare_row *rows; /* TTFT, then by phase: time, rate, parts by points, kernels */
	size_t row_count;
	struct compare_phase phases[STEP_PHASES];
	enum compare_verdict verdict; /* on the whole: of all rows without a name */
	ARRAY(char *) names;	      /* of bricks that were renamed */
};

/*
 * series: those of A, then those of B; at least one each, read with `names`. threshold: ratio less
 * 1 below which nothing matters; negative: 0.01. -ENOMEM.
 */
int compare_create(struct compare **out, const struct compare_series *series, size_t in_a,
	size_t in_b, const struct compare_names *names, double threshold);
void compare_destroy(struct compare *compare);

/* The row of a phase (TTFT: -1) that measures that, or NULL. */
const struct compare_row *compare_find(
	const struct compare *compare, int phase, enum compare_measure measure);
