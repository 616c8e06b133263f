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
	COMPARE_WALL,	 /* of a run: of plain ones where both sides have some */
	COMPARE_PRINTED, /* the number that plain runs print */
};

/* What a comparison is decided by. Of a phase: tokens/s; if these do not differ, typical steps. */
enum compare_metric {
	COMPARE_BY_DEFAULT, /* what is printed; else the first that differs, in this order */
	COMPARE_BY_PRINTED,
	COMPARE_BY_DECODE,
	COMPARE_BY_WALL,
	COMPARE_BY_PREFILL,
	COMPARE_BY_MIXED,
	COMPARE_BY_FIRST_TOKEN,
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

struct compare_rule {
	double threshold; /* ratio less 1 below which nothing matters; negative: 0.01 */
	enum compare_metric metric;
	double alpha; /* of the whole family; 0: compare_family_alpha */
};

struct compare {
	double threshold;
	bool assumes; /* too few recordings: their spread is assumed */
	/* of bricks and layers; mixed: times off the CPU are known of some only, no verdicts */
	enum summary_basis basis;
	struct compare_row *rows; /* TTFT, then by phase: time, rate, parts by points, kernels */
	size_t row_count;
	struct compare_phase phases[STEP_PHASES];
	/* On the whole; verdict.c. */
	enum compare_verdict verdict;
	const struct compare_row *by; /* the row that it is the verdict of; NULL: there is none */
	bool is_mixed;		      /* a row without a name goes the other way than `by` */
	struct compare_runs {
		size_t recorded, plain;
	} runs[2];
	ARRAY(char *) names; /* of bricks that were renamed */
};

/*
 * series: those of A, then those of B; at least one each, read with `names`; plain and recorded
 * ones in any order. -ENOMEM.
 */
int compare_create(struct compare **out, const struct compare_series *series, size_t in_a,
	size_t in_b, const struct compare_names *names, const struct compare_rule *rule);
void compare_destroy(struct compare *compare);

/* Sets the verdict on the whole: compare_create() calls it when the rows are sorted. */
void compare_judge(struct compare *compare, enum compare_metric metric);

/*
 * True if rows with the intervals of this comparison leave only one verdict: the first that is not
 * the same on both sides differs. all: no other row may still turn out to go the other way.
 */
bool compare_is_settled(const struct compare *compare, enum compare_metric metric, bool all);

enum { COMPARE_PLACES = 12 };

/* The place of a row of the whole in the order in which rows decide; SIZE_MAX: it has a name. */
size_t compare_order(const struct compare_row *row);

/* "default", "printed", "decode", "wall", "prefill", "mixed", "first-token"; NULL: no more. */
const char *compare_metric_name(enum compare_metric metric);

/* The row of a phase (TTFT: -1) that measures that, or NULL. */
const struct compare_row *compare_find(
	const struct compare *compare, int phase, enum compare_measure measure);
