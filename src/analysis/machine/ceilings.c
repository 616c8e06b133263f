/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are found by going through the tables: there are some hundred. */
#include "analysis/machine/ceilings.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/order.h"

struct ceilings_figure ceilings_figure_of(double *values, uint32_t count, bool smallest_is_best)
{
	if (!count)
		return (struct ceilings_figure){0};
	qsort(values, count, sizeof(*values), order_doubles);
	double low = values[0], high = values[count - 1];
	double median =
		count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
	if (smallest_is_best)
		return (struct ceilings_figure){low, median, high, count, values[count > 1]};
	return (struct ceilings_figure){high, median, low, count, values[count - 1 - (count > 1)]};
}

double ceilings_spread(const struct ceilings_figure *figure)
{
	double difference = figure->median - figure->best;

	if (!(figure->best > 0))
		return 0;
	return (difference < 0 ? -difference : difference) / figure->best;
}

/*
 * Disturbances only make a repetition worse. So if another repetition comes near to the best one,
 * the best is the machine's, however far off the rest.
 */
bool ceilings_is_wide(const struct ceilings_figure *figure)
{
	const double most = 0.15;

	double second = figure->second > 0 ? figure->second : figure->median;
	double difference = second - figure->best;

	return figure->count < 2 ||
	       (difference < 0 ? -difference : difference) > most * figure->best;
}

bool ceilings_noisy(const struct ceilings *c)
{
	size_t wide = 0;

	for (size_t i = 0; i < c->compute_count; i++)
		wide += (size_t)ceilings_is_wide(&c->compute[i].rate);
	for (size_t i = 0; i < c->bandwidth_count; i++)
		wide += (size_t)ceilings_is_wide(&c->bandwidth[i].rate);
	return 4 * wide > c->compute_count + c->bandwidth_count;
}

uint32_t ceilings_threads_for(const struct ceilings *c, uint32_t threads)
{
	uint32_t larger = 0, largest = 0;

	for (size_t i = 0; i < c->compute_count; i++) {
		uint32_t n = c->compute[i].threads;
		if (n >= threads && (!larger || n < larger))
			larger = n;
		if (n > largest)
			largest = n;
	}
	return larger ? larger : largest;
}

const struct ceilings_compute *ceilings_peak(
	const struct ceilings *c, const char *type, uint32_t threads)
{
	const struct ceilings_compute *best = NULL;

	for (size_t i = 0; i < c->compute_count; i++) {
		const struct ceilings_compute *row = &c->compute[i];
		if (row->threads != threads || (type && strcmp(row->type, type)))
			continue;
		if (!best || row->rate.best > best->rate.best)
			best = row;
	}
	return best;
}

/* Sets near the size that the level before it holds are found there in part. */
static uint64_t least_of_level(const struct ceilings *c, const char *level, uint32_t threads)
{
	uint64_t largest = 0, before = 0;
	size_t at = 0;

	while (at < c->level_count && strcmp(c->levels[at].name, level))
		at++;
	for (size_t i = 0; i < c->bandwidth_count; i++) {
		const struct ceilings_bandwidth *row = &c->bandwidth[i];
		if (row->threads == threads && !strcmp(row->level, level) && row->bytes > largest)
			largest = row->bytes;
	}
	for (size_t i = 0; i < at && i < c->level_count; i++)
		before = ceilings_usable_bytes(c, i, threads) ?: before;
	uint64_t least = 4 * before;
	return least < largest / 2 ? least : largest / 2;
}

const struct ceilings_bandwidth *ceilings_fastest_of(
	const struct ceilings *c, const char *level, const char *kernel, uint32_t threads)
{
	const struct ceilings_bandwidth *best = NULL;
	uint64_t least = level ? least_of_level(c, level, threads) : 0;

	for (size_t i = 0; i < c->bandwidth_count; i++) {
		const struct ceilings_bandwidth *row = &c->bandwidth[i];
		if (row->threads != threads || row->bytes < least ||
			(level && strcmp(row->level, level)) ||
			(kernel && strcmp(row->kernel, kernel)))
			continue;
		if (!best || row->rate.best > best->rate.best)
			best = row;
	}
	return best;
}

const struct ceilings_bandwidth *ceilings_fastest(
	const struct ceilings *c, const char *level, uint32_t threads)
{
	return ceilings_fastest_of(c, level, NULL, threads);
}

double ceilings_bandwidth_at(const struct ceilings *c, uint32_t threads, uint64_t bytes,
	const struct ceilings_figure **figure)
{
	const struct ceilings_bandwidth *best = NULL, *largest = NULL;

	for (size_t i = 0; i < c->bandwidth_count; i++) {
		const struct ceilings_bandwidth *row = &c->bandwidth[i];
		if (row->threads != threads)
			continue;
		if (row->bytes >= bytes && (!best || row->rate.best > best->rate.best))
			best = row;
		if (!largest || row->bytes > largest->bytes ||
			(row->bytes == largest->bytes && row->rate.best > largest->rate.best))
			largest = row;
	}
	best = best ? best : largest;
	*figure = best ? &best->rate : NULL;
	double rate = best ? best->rate.best : 0;
	for (size_t i = 0; best && i < c->reached_count; i++) {
		const struct ceilings_reached *row = &c->reached[i];
		bool is_it = row->bytes && row->threads == threads &&
			     (row->bytes >= bytes || row->bytes >= largest->bytes);
		if (is_it && row->rate.best > rate)
			rate = row->rate.best;
	}
	return rate;
}

double ceilings_peak_at(const struct ceilings *c, const struct ceilings_compute *peak)
{
	double rate = peak->rate.best;

	for (size_t i = 0; i < c->reached_count; i++) {
		const struct ceilings_reached *row = &c->reached[i];
		if (!row->bytes && row->threads == peak->threads &&
			!strcmp(row->level, peak->type) && row->rate.best > rate)
			rate = row->rate.best;
	}
	return rate;
}

static struct ceilings_reached *ceilings_reached_of(
	struct ceilings_reached *rows, size_t count, const char *level, uint32_t threads)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].threads == threads && !strcmp(rows[i].level, level))
			return &rows[i];
	return NULL;
}

static int ceilings_reach_in(struct ceilings_reached **rows, size_t *count,
	const struct ceilings_reached *reached, bool *added)
{
	struct ceilings_reached *same =
		ceilings_reached_of(*rows, *count, reached->level, reached->threads);

	*added = false;
	/* files keep six digits */
	if (same && same->rate.best * (1 + 1e-5) >= reached->rate.best)
		return 0;
	if (!same) {
		if (*count >= CEILINGS_ROWS)
			return 0;
		same = realloc(*rows, (*count + 1) * sizeof(*same));
		if (!same)
			return -ENOMEM;
		*rows = same;
		same += (*count)++;
	}
	*same = *reached;
	*added = true;
	return 0;
}

int ceilings_reach(struct ceilings *c, const struct ceilings_reached *reached, bool *added)
{
	return ceilings_reach_in(&c->reached, &c->reached_count, reached, added);
}

int ceilings_reach_product(struct ceilings *c, const struct ceilings_reached *product, bool *added)
{
	return ceilings_reach_in(&c->products, &c->product_count, product, added);
}

const struct ceilings_reached *ceilings_product_of(
	const struct ceilings *c, const char *kind, uint32_t threads)
{
	return ceilings_reached_of(c->products, c->product_count, kind, threads);
}

const struct ceilings_latency *ceilings_latency_of(
	const struct ceilings *c, const char *backend, const char *what, uint32_t threads)
{
	for (size_t i = 0; i < c->latency_count; i++) {
		const struct ceilings_latency *row = &c->latency[i];
		if (row->threads == threads && !strcmp(row->backend, backend) &&
			!strcmp(row->what, what))
			return row;
	}
	return NULL;
}

const struct ceilings_device *ceilings_device_of(
	const struct ceilings *c, const char *backend, const char *name)
{
	const struct ceilings_device *found = NULL;

	for (size_t i = 0; i < c->device_count; i++)
		if (!strcmp(c->devices[i].name, name) &&
			(!found || !strcmp(c->devices[i].backend, backend)))
			found = &c->devices[i];
	return found;
}

static void destroy_tables(struct ceilings *c)
{
	free(c->levels);
	free(c->compute);
	free(c->bandwidth);
	free(c->latency);
	free(c->usable);
	free(c->reached);
	free(c->products);
	free(c->missing);
}

void ceilings_destroy(struct ceilings *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->device_count; i++)
		destroy_tables(&c->devices[i].can);
	free(c->devices);
	destroy_tables(c);
	free(c);
}

/*
 * The best of two measurements of one machine. Whatever disturbs a measurement makes it worse, so
 * the better figure is nearer to the truth, whichever came first.
 */

static double better(double a, double b, bool smallest)
{
	return (a < b) == smallest ? a : b;
}

/* Keeps each repetition's figure by rank, so that best and second stay in order. */
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

/* A kind of rows: how to tell rows of the same thing, and the place of their figure. */
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
	rc = rc ? rc
		: keep_rows((void **)&to->products, &to->product_count, from->products,
			  from->product_count, &reached);
	return rc ? rc : ceilings_find_levels(to);
}

static int keep_device(struct ceilings *to, const struct ceilings_device *from)
{
	size_t at = 0;

	while (at < to->device_count && (strcmp(from->backend, to->devices[at].backend) ||
						strcmp(from->name, to->devices[at].name)))
		at++;
	if (at == to->device_count) { /* it was not measured this time */
		struct ceilings_device *devices = realloc(to->devices, (at + 1) * sizeof(*devices));
		if (!devices)
			return -ENOMEM;
		to->devices = devices;
		memset(&devices[at], 0, sizeof(devices[at]));
		memcpy(devices[at].backend, from->backend, sizeof(from->backend));
		memcpy(devices[at].name, from->name, sizeof(from->name));
		to->device_count++;
	}
	return keep_tables(&to->devices[at].can, &from->can);
}

int ceilings_keep_best(struct ceilings *to, const struct ceilings *from)
{
	int rc = keep_tables(to, from);

	for (size_t i = 0; i < from->device_count && !rc; i++)
		rc = keep_device(to, &from->devices[i]);
	to->quick = to->quick && from->quick;
	if (from->most_threads > to->most_threads)
		to->most_threads = from->most_threads;
	return rc;
}

/*
 * Finds the level of memory that holds a working set, by the bandwidth of larger and larger sets.
 * It falls where a cache ends, and that may be long before the size that the CPU tells: a virtual
 * machine shares its cache with others.
 */

/* Levels whose bandwidths differ less are one. */
static const double distinct = 1.2, flat = 1.1;

/* The best rate of reading working sets as large, or larger. */
static double ceilings_read_at(const struct ceilings *c, uint32_t threads, uint64_t bytes)
{
	double best = 0;

	for (size_t i = 0; i < c->bandwidth_count; i++) {
		const struct ceilings_bandwidth *row = &c->bandwidth[i];
		if (row->threads == threads && row->bytes >= bytes && row->rate.best > best &&
			!strcmp(row->kernel, "read"))
			best = row->rate.best;
	}
	return best;
}

/* The largest working set that was read at such a rate; 0: none was. */
static uint64_t largest_at(const struct ceilings *c, uint32_t threads, double rate)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < c->bandwidth_count; i++) {
		const struct ceilings_bandwidth *row = &c->bandwidth[i];
		if (row->threads == threads && row->bytes > largest && row->rate.best >= rate &&
			!strcmp(row->kernel, "read"))
			largest = row->bytes;
	}
	return largest;
}

uint64_t ceilings_told_bytes(const struct ceilings_level *level, uint32_t threads)
{
	uint32_t shared = level->shared ? level->shared : 1;

	return level->bytes * ((threads + shared - 1) / shared);
}

/* The rate of a level, from sets that are too large for the level before it. */
static double rate_of_level(const struct ceilings *c, size_t level, uint32_t threads)
{
	uint64_t before = level ? ceilings_told_bytes(&c->levels[level - 1], threads) : 0;
	uint64_t largest = largest_at(c, threads, 0);

	if (level + 1 == c->level_count)
		return ceilings_read_at(c, threads, largest);
	return ceilings_read_at(c, threads, 2 * before < largest ? 2 * before : largest);
}

/*
 * True if the largest sets come from memory: they are well above the last cache, or bandwidth has
 * fallen and falls no more.
 */
static bool reaches_memory(const struct ceilings *c, uint32_t threads)
{
	uint64_t largest = largest_at(c, threads, 0);
	double last = ceilings_read_at(c, threads, largest);

	if (c->level_count < 2)
		return true;
	const struct ceilings_level *cache = &c->levels[c->level_count - 2];
	/* of a device's caches nobody tells the size; its sweep takes all that it may */
	if (!cache->bytes || largest >= 2 * ceilings_told_bytes(cache, threads))
		return true;
	return ceilings_read_at(c, threads, largest / 4) <= flat * last &&
	       rate_of_level(c, c->level_count - 2, threads) >= distinct * last;
}

static int ceilings_add_usable(struct ceilings *c, size_t level, uint32_t threads, uint64_t bytes)
{
	struct ceilings_usable *rows = realloc(c->usable, (c->usable_count + 1) * sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	c->usable = rows;
	struct ceilings_usable *row = &rows[c->usable_count++];
	*row = (struct ceilings_usable){.threads = threads, .bytes = bytes};
	snprintf(row->level, sizeof(row->level), "%s", c->levels[level].name);
	return 0;
}

/* A level ends halfway between its bandwidth and the next one's, on a logarithmic scale. */
static int find_usable(struct ceilings *c, uint32_t threads)
{
	uint64_t before = 0;
	int rc = 0;

	for (size_t i = 0; i + 1 < c->level_count && !rc; i++) {
		double rate = rate_of_level(c, i, threads);
		double next = rate_of_level(c, i + 1, threads);
		uint64_t bytes = rate >= distinct * next ? largest_at(c, threads, sqrt(rate * next))
							 : before;
		if (i + 2 == c->level_count && !reaches_memory(c, threads))
			bytes = ceilings_told_bytes(&c->levels[i], threads);
		before = bytes > before ? bytes : before;
		if (before)
			rc = ceilings_add_usable(c, i, threads, before);
	}
	return rc;
}

/* The row is the first of its number of threads. */
static bool is_first(const struct ceilings *c, size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (c->bandwidth[i].threads == c->bandwidth[row].threads)
			return false;
	return true;
}

int ceilings_find_levels(struct ceilings *c)
{
	int rc = 0;

	free(c->usable);
	c->usable = NULL;
	c->usable_count = 0;
	for (size_t i = 0; i < c->bandwidth_count && !rc; i++)
		if (is_first(c, i))
			rc = find_usable(c, c->bandwidth[i].threads);
	for (size_t i = 0; i < c->bandwidth_count && c->level_count && !rc; i++) {
		struct ceilings_bandwidth *row = &c->bandwidth[i];
		size_t level = ceilings_level_of(c, row->threads, row->bytes);
		snprintf(row->level, sizeof(row->level), "%s", c->levels[level].name);
	}
	return rc;
}

uint64_t ceilings_usable_bytes(const struct ceilings *c, size_t at, uint32_t threads)
{
	const struct ceilings_level *level = &c->levels[at];

	for (size_t i = 0; i < c->usable_count; i++)
		if (c->usable[i].threads == threads && !strcmp(c->usable[i].level, level->name))
			return c->usable[i].bytes;
	return c->usable_count ? 0 : ceilings_told_bytes(level, threads);
}

size_t ceilings_level_of(const struct ceilings *c, uint32_t threads, uint64_t bytes)
{
	for (size_t i = 0; i + 1 < c->level_count; i++)
		if (bytes <= ceilings_usable_bytes(c, i, threads))
			return i;
	return c->level_count ? c->level_count - 1 : 0;
}
