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
	double roof; /* FLOPs per ns */
};

/* False: nothing is known of the row, which may be NULL, or its time is not its own. */
bool product_due_find(
	struct product_due *due, const struct roofline *roofline, const struct roofline_row *row);

/*
 * The part of a product's time that is not in excess of what it should take, 0 to 1; 1 also if
 * nothing is known of the row.
 */
double product_due_part(const struct roofline *roofline, const struct roofline_row *row);
