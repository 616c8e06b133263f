/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Effects of the rows of a comparison, and the tests of whole families of them: rows of the same
 * blocks. For src/analysis/compare/compare.c only.
 */
#pragma once

#include "analysis/compare/compare_row.h"
#include "base/array.h"

/* Rows that are tested together. */
struct compare_family {
	size_t in_a, in_b;
	enum compare_unit unit;
	ARRAY(size_t) rows;
	ARRAY(double) values; /* of each row: [in_a + in_b] logarithms */
};

/* All zero is none. */
struct compare_effects {
	ARRAY(struct compare_family) families;
	size_t current;
	bool failed; /* there was not enough memory */
};

/* Rows that are added from here on have such blocks: the same family where there is one. */
void compare_effects_family(
	struct compare_effects *effects, size_t in_a, size_t in_b, enum compare_unit unit);

/* A row without values that are 0 is tested; others have no effect. -ENOMEM. */
int compare_effects_add(struct compare_effects *effects, size_t row, const double *values);

/* Fill in effect, low, high, p and detectable. -ENOMEM. */
int compare_effects_finish(
	struct compare_effects *effects, struct compare_row *rows, double threshold);

void compare_effects_fini(struct compare_effects *effects);

/*
 * Fill in the points of a phase's rows, which stand in the order of the names. effect: on its time.
 * *residual: what of it is in no points. -ENOMEM.
 */
int compare_effects_points(struct compare_row *rows, size_t row_count, double effect, int phase,
	const struct compare_blocks *blocks, const struct compare_names *names, double *residual);

/*
 * Effect, interval, test and verdict of values that are no part of a family: one value of each run,
 * at least one a side. alpha: of the test. -ENOMEM.
 */
int compare_effects_values(struct compare_row *row, const double *a, size_t in_a, const double *b,
	size_t in_b, double threshold, double alpha);
