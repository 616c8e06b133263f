/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What products with weights should reach on this machine, as a share of their roof. Pure; any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/roofline/roofline.h"

/*
 * As a rule, and at least. Engines come nearer to the roof of memory than to the peak of
 * arithmetic, for which their kernels must be written.
 */
struct product_due {
	double usual, least;
	double roof;			     /* FLOPs per ns */
	const struct ceilings_reached *seen; /* the best of its kind that was seen; NULL: none */
	double slower;			     /* struct product_kind */
};

/* Kinds of products: their rates compare. */
struct product_kind {
	double bits, weight_bytes, columns; /* of a weight; of the largest weights; of a batch */
	const char *program; /* that computes them itself, in its own way; NULL: an engine does */
	/* a rate that many times lower than a seen one is too slow; more than 2 beside others */
	double slower;
};

/*
 * False: nothing is known of the row, which may be NULL, or its time is not its own. kind may be
 * NULL: then no other recording is asked.
 */
bool product_due_find(struct product_due *due, const struct roofline *roofline,
	const struct roofline_row *row, const struct product_kind *kind);

/*
 * The rate in FLOPs per ns that is expected, and the one below which a product is too slow: a part
 * of what was seen, or by its roof.
 */
static inline double product_due_usual(const struct product_due *due)
{
	return due->seen ? due->seen->rate.best : due->usual * due->roof;
}

static inline double product_due_least(const struct product_due *due)
{
	double by_roof = due->least * due->roof;
	double by_seen = due->seen ? due->seen->rate.best / due->slower : 0;

	return by_seen > by_roof ? by_seen : by_roof;
}

/*
 * The part of a product's time that is not in excess of what it should take, 0 to 1; 1 also if
 * nothing is known of the row.
 */
double product_due_part(const struct roofline *roofline, const struct roofline_row *row,
	const struct product_kind *kind);

/* Adds the row's rate to those that were seen. 1: it is the best; 0: it is not; or -ENOMEM. */
int product_due_learn(struct ceilings *kept, const struct roofline *roofline,
	const struct roofline_row *row, const struct product_kind *kind);
