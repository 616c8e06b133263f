/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best of two measurements of one machine. Whatever disturbs a measurement makes it worse, so
 * the better figure is nearer to the truth, whichever came first.
 */
#include "analysis/machine/ceilings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static double better(double a, double b, bool smallest)
{
	return (a < b) == smallest ? a : b;
}

/* Of each repetition by rank: so they stay in order. */
static void keep_figure(
	struct ceilings_figure *to, const struct ceilings_figure *from, bool smallest)
{
	double second = better(to->second, from->second, smallest);

	/* the lesser of the two best ones may be better than both second ones */
	if (to->second > 0 && from->second > 0)
		to->second = better(second, better(to->best, from->best, !smallest), smallest);
	else
		to->second = better(to->best, from->best, !smallest);
	to->best = better(to->best, from->best, smallest);
	to->median = better(to->median, from->median, smallest);
	to->worst = better(to->worst, from->worst, smallest);
	to->count = to->count > from->count ? to->count : from->count;
}

/* Rows of one kind: which are of the same thing, and where their figure is. */
struct kind {
	size_t row_bytes, figure_at;
	bool smallest;
	bool (*same)(const void *a, const void *b);
};

static bool same_compute(const void *first, const void *second)
{
	const struct ceilings_compute *a = first, *b = second;

	return a->threads == b->threads && !strcmp(a->isa, b->isa) && !strcmp(a->type, b->type);
}

static bool same_bandwidth(const void *first, const void *second)
{
	const struct ceilings_bandwidth *a = first, *b = second;

	return a->threads == b->threads && a->bytes == b->bytes && !strcmp(a->isa, b->isa) &&
	       !strcmp(a->kernel, b->kernel);
}

static bool same_latency(const void *first, const void *second)
{
	const struct ceilings_latency *a = first, *b = second;

	return a->threads == b->threads && !strcmp(a->backend, b->backend) &&
	       !strcmp(a->what, b->what);
}

static bool same_reached(const void *first, const void *second)
{
	const struct ceilings_reached *a = first, *b = second;

	return a->threads == b->threads && !strcmp(a->level, b->level);
}

#define KIND(type, figure, small, same_rows)                                         \
	{                                                                            \
		sizeof(struct type), offsetof(struct type, figure), small, same_rows \
	}

static const struct kind compute = KIND(ceilings_compute, rate, false, same_compute);
static const struct kind bandwidth = KIND(ceilings_bandwidth, rate, false, same_bandwidth);
static const struct kind latency = KIND(ceilings_latency, ns, true, same_latency);
static const struct kind reached = KIND(ceilings_reached, rate, false, same_reached);

static int keep_rows(
	void **rows, size_t *count, const void *from, size_t from_count, const struct kind *kind)
{
	const size_t bytes = kind->row_bytes;
	char *to = realloc(*rows, (*count + from_count + 1) * bytes);
	size_t own = *count;

	if (!to)
		return -ENOMEM;
	*rows = to;
	for (size_t i = 0; i < from_count; i++) {
		const char *row = (const char *)from + i * bytes;
		size_t at = 0;
		while (at < own && !kind->same(to + at * bytes, row))
			at++;
		if (at < own)
			keep_figure((void *)(to + at * bytes + kind->figure_at),
				(const void *)(row + kind->figure_at), kind->smallest);
		else if (*count < CEILINGS_ROWS)
			memcpy(to + (*count)++ * bytes, row, bytes);
	}
	return 0;
}

static int keep_tables(struct ceilings *to, const struct ceilings *from)
{
#define KEEP(rows) \
	keep_rows((void **)&to->rows, &to->rows##_count, from->rows, from->rows##_count, &rows)
	int rc = KEEP(compute) ?: KEEP(bandwidth) ?: KEEP(latency) ?: KEEP(reached);
#undef KEEP
	return rc ? rc : ceilings_find_levels(to);
}

int ceilings_keep_best(struct ceilings *to, const struct ceilings *from)
{
	int rc = keep_tables(to, from);

	for (size_t i = 0; i < from->device_count && !rc; i++)
		for (size_t k = 0; k < to->device_count && !rc; k++)
			if (!strcmp(from->devices[i].backend, to->devices[k].backend) &&
				!strcmp(from->devices[i].name, to->devices[k].name))
				rc = keep_tables(&to->devices[k].can, &from->devices[i].can);
	to->quick = to->quick && from->quick;
	if (from->most_threads > to->most_threads)
		to->most_threads = from->most_threads;
	return rc;
}
