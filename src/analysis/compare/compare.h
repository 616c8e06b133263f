/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two sides of recordings, A and B. Each row is a difference, with one value of each
 * recording. Intervals are wide enough for all rows together (difference.h): half of the
 * probability of an error is for rows of whole phases, half for rows of parts.
 *
 * A part of a step's time has points: its share in the effect on the time of its phase. All points
 * of a phase and its residual add up to this effect. Bricks that only one side has are compared by
 * category with bricks that only the other side has, so that renamed and fused bricks meet. The
 * comparison borrows the names. Read-only once made: any thread.
 */
#pragma once

#include "analysis/compare/compare_blocks.h"
#include "analysis/compare/difference.h"
#include "base/array.h"

/* The probability that any row is called slower or faster although no row is. */
static const double compare_family_alpha = 0.03;

enum compare_measure {
	COMPARE_TTFT,	 /* ns to the first token */
	COMPARE_TIME,	 /* ns per token, of typical steps */
	COMPARE_RATE,	 /* tokens per s, of all steps; no row if some recording took no time */
	COMPARE_ELAPSED, /* ns per token, of all steps and the time between; only if that is much */
	COMPARE_COLUMN,	 /* ns per token, in a brick, category, layer or kernel */
	COMPARE_WALL,	 /* ns of a run: of plain runs where both sides have some */
	COMPARE_PRINTED, /* the number that plain runs print, in its own unit */
};

/*
 * The rows that decide a comparison (the table in verdict.c). Of a phase these are tokens/s; if
 * they do not differ, typical steps.
 */
enum compare_metric {
	COMPARE_BY_DEFAULT, /* printed numbers if there are any; else the first row that differs */
	COMPARE_BY_PRINTED,
	COMPARE_BY_DECODE,
	COMPARE_BY_WALL,
	COMPARE_BY_PREFILL,
	COMPARE_BY_MIXED,
	COMPARE_BY_FIRST_TOKEN,
	COMPARE_BY_OTHER, /* steps/s */
};

struct compare_row {
	enum compare_measure measure;
	int phase;		      /* enum step_phase; -1: none */
	enum compare_kind kind;	      /* of a COMPARE_COLUMN */
	const char *name;	      /* of a COMPARE_COLUMN; NULL: a row of the whole */
	struct difference difference; /* in the unit of the measure */
	double points;		      /* NAN: no part of the step's time */
	struct compare_work a, b;     /* means over the recordings of A, and of B */
};

struct compare_phase {
	bool is_known;	 /* false: some recording has no such step */
	uint64_t steps;	 /* compared steps of each recording; 0: all */
	double residual; /* part of the effect on the phase's time that no part has */
};

struct compare_rule {
	double threshold; /* smaller effects do not matter: a ratio less 1; negative: 0.01 */
	enum compare_metric metric;
	double alpha;	     /* the error of all rows together; 0: compare_family_alpha */
	bool even_disturbed; /* judge also where most runs of a side were disturbed */
};

struct compare {
	double threshold; /* of the rule, with its default */
	bool assumes;	  /* too few recordings: difference_assumes() */
	/* clock of bricks and layers; BASIS_MIXED: recordings differ, so these get no verdict */
	enum summary_basis basis;
	struct compare_row *rows; /* TTFT, then by phase: time, rate, parts by points, kernels */
	size_t row_count;
	struct compare_phase phases[STEP_PHASES];
	/* the verdict on the whole: compare_judge() */
	enum compare_verdict verdict;
	const struct compare_row *by; /* the row that decided, or the metric's first; NULL: none */
	bool is_mixed;		      /* another row of the whole goes the other way than `by` */
	/*
	 * Others disturbed more than half of a side's runs, and the rule does not judge such runs:
	 * the verdict is COMPARE_UNSURE, whatever the rows say. Order and mirrored turns undo a
	 * steady disturbance, but one that comes and goes moves even the median of a side.
	 */
	bool is_disturbed;
	struct compare_runs {
		size_t recorded, plain;
		size_t disturbed; /* of both kinds */
	} runs[2];
	ARRAY(char *) names; /* of rows of renamed bricks, which no series has */
};

/*
 * Compares series of A with series of B, which follow in the same array: in_a and in_b are at
 * least 1. All were read with `names`; plain and recorded runs come in any order. -ENOMEM.
 */
int compare_create(struct compare **out, const struct compare_series *series, size_t in_a,
	size_t in_b, const struct compare_names *names, const struct compare_rule *rule);
void compare_destroy(struct compare *compare);

/* Sets the verdict on the whole, when the rows are sorted; compare_create() calls it. */
void compare_judge(struct compare *compare, enum compare_metric metric);

/*
 * True if the verdict is certain, so that more recordings are not needed: the metric's rows are
 * same, slower or faster, up to the first that differs. all: this must hold for all rows of the
 * whole, so that none may still go the other way.
 */
bool compare_is_settled(const struct compare *compare, enum compare_metric metric, bool all);

enum { COMPARE_PLACES = 15 }; /* rows of the whole */

/* The place of a row of the whole in the order in which rows decide; SIZE_MAX: another row. */
size_t compare_order(const struct compare_row *row);

/* "default", "printed", "decode", "wall", "prefill", "mixed", "first-token"; NULL: no more. */
const char *compare_metric_name(enum compare_metric metric);

/* The first row with this phase (-1: none) and measure; NULL: none. */
const struct compare_row *compare_find(
	const struct compare *compare, int phase, enum compare_measure measure);
