/* SPDX-License-Identifier: Apache-2.0 */
/* The roof of a product, also where roofline.h states none: a lower bound of it serves here. */
#include "analysis/explain/product_due.h"

#include <math.h>
#include <stdio.h>

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

/* A power of `base` that is not above the value. */
static double power_below(double value, double base)
{
	return value >= 1 ? pow(base, floor(log(value) / log(base) + 1e-9)) : 1;
}

/*
 * "8.5b x32 1024kB memo", "32.0b x32 1024kB memo decode": engines have other kernels for other
 * types, columns and sizes, and programs have kernels of their own.
 */
static void product_name(
	char name[CEILINGS_NAME], const struct roofline_row *row, const struct product_kind *kind)
{
	snprintf(name, CEILINGS_NAME, "%.1fb x%.0f %.0fkB %.4s%s%.6s", kind->bits,
		power_below(kind->columns, 2), power_below(kind->weight_bytes / 1024, 4),
		row->level ? row->level : "-", kind->program ? " " : "",
		kind->program ? kind->program : "");
}

bool product_due_find(struct product_due *due, const struct roofline *roofline,
	const struct roofline_row *row, const struct product_kind *kind)
{
	const double short_ns = 5000; /* launching and timing are a part of shorter executions */
	char name[CEILINGS_NAME];

	*due = (struct product_due){0};
	if (!row || row->on_device || row->mean_ns < short_ns || row->flops_per_ns <= 0 ||
		row->flags & (ROOFLINE_AT_MOST | ROOFLINE_NO_WORK | ROOFLINE_NOT_ALL |
				     ROOFLINE_OFF_CPU | ROOFLINE_CROWDED))
		return false;
	due->roof = rate_by_ceilings(roofline, row);
	bool by_memory = due->roof < row->peak_per_ns;
	due->usual = by_memory ? 1.0 / 2 : 1.0 / 6;
	due->least = by_memory ? 1.0 / 8 : 1.0 / 32;
	/* what memory gives depends on all that a step reads, of which another model reads less */
	if (due->roof > 0 && kind && !by_memory) {
		product_name(name, row, kind);
		due->slower = kind->slower;
		due->seen = ceilings_product_of(row->can, name, row->roof_threads);
	}
	return due->roof > 0;
}

double product_due_part(const struct roofline *roofline, const struct roofline_row *row,
	const struct product_kind *kind)
{
	struct product_due due;

	if (!product_due_find(&due, roofline, row, kind) ||
		row->flops_per_ns >= product_due_least(&due))
		return 1;
	return row->flops_per_ns / product_due_usual(&due);
}

int product_due_learn(struct ceilings *kept, const struct roofline *roofline,
	const struct roofline_row *row, const struct product_kind *kind)
{
	enum { EXECUTIONS = 16 };
	const uint64_t long_ns = 1000000; /* of all of them */
	struct product_due due;
	bool added;

	if (!product_due_find(&due, roofline, row, kind) || row->count < EXECUTIONS ||
		row->team_ns < long_ns || row->flags & ROOFLINE_OTHER_THREADS)
		return 0;
	struct ceilings_reached product = {.threads = row->roof_threads,
		.unix_ns = roofline->run->start_unix_ns,
		.rate = {.best = row->flops_per_ns,
			.median = row->flops_per_ns,
			.worst = row->flops_per_ns,
			.count = 1}};
	product_name(product.level, row, kind);
	snprintf(product.brick, sizeof(product.brick), "%s", row->name);
	snprintf(product.recording, sizeof(product.recording), "%s",
		roofline->run->path ? roofline->run->path : "");
	int rc = ceilings_reach_product(kept, &product, &added);
	return rc ? rc : added;
}
