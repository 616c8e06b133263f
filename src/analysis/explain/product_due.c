/* SPDX-License-Identifier: Apache-2.0 */
/* The roof of a product, also where roofline.h states none: a lower bound of it serves here. */
#include "analysis/explain/product_due.h"

#include <math.h>

/*
 * The rate of a product at its roof, in FLOPs per ns, with all data from memory if their level is
 * not known. Ceilings that were measured on a busy machine are too low, and so is this rate. 0: not
 * known.
 */
static double rate_by_ceilings(const struct roofline *roofline, const struct roofline_row *row)
{
	const struct ceilings_figure *figure;
	double bandwidth = row->bandwidth_per_ns;

	if (!row->can || !row->peak || roofline->doubt == CEILINGS_OTHER_CPU ||
		roofline->doubt == CEILINGS_OTHER_HOST)
		return 0;
	if (!row->level)
		bandwidth = ceilings_bandwidth_at(row->can, row->roof_threads, UINT64_MAX, &figure);
	if (!(bandwidth > 0) || !(row->intensity > 0))
		return 0;
	return fmin(row->peak_per_ns, bandwidth * row->intensity);
}

bool product_due_find(
	struct product_due *due, const struct roofline *roofline, const struct roofline_row *row)
{
	const double short_ns = 5000; /* launching and timing are a part of shorter executions */

	if (!row || row->on_device || row->mean_ns < short_ns || row->flops_per_ns <= 0 ||
		row->flags & (ROOFLINE_AT_MOST | ROOFLINE_NO_WORK | ROOFLINE_NOT_ALL |
				     ROOFLINE_OFF_CPU | ROOFLINE_CROWDED))
		return false;
	due->roof = rate_by_ceilings(roofline, row);
	bool by_memory = due->roof < row->peak_per_ns;
	due->usual = by_memory ? 1.0 / 2 : 1.0 / 6;
	due->least = by_memory ? 1.0 / 8 : 1.0 / 32;
	return due->roof > 0;
}

double product_due_part(const struct roofline *roofline, const struct roofline_row *row)
{
	struct product_due due;

	if (!product_due_find(&due, roofline, row) || row->flops_per_ns >= due.least * due.roof)
		return 1;
	return row->flops_per_ns / (due.usual * due.roof);
}
