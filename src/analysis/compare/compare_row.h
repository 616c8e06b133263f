/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a comparison: what one measure was on both sides, and what that says. */
#pragma once

#include "analysis/compare/compare_blocks.h"

enum compare_verdict {
	COMPARE_UNSURE, /* not enough data */
	COMPARE_SAME,
	COMPARE_FASTER,
	COMPARE_SLOWER,
	COMPARE_ONLY_A,
	COMPARE_ONLY_B,
};

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
