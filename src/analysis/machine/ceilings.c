/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are found by going through the tables: there are some hundred. */
#include "analysis/machine/ceilings.h"

#include <errno.h>
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
 * Whatever disturbs a repetition makes it worse. So a best that another repetition came near to is
 * the machine's, however far off the rest.
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

int ceilings_reach(struct ceilings *c, const struct ceilings_reached *reached, bool *added)
{
	struct ceilings_reached *same = NULL;

	*added = false;
	for (size_t i = 0; i < c->reached_count && !same; i++)
		if (c->reached[i].threads == reached->threads &&
			!strcmp(c->reached[i].level, reached->level))
			same = &c->reached[i];
	/* files keep six digits */
	if (same && same->rate.best * (1 + 1e-5) >= reached->rate.best)
		return 0;
	if (!same) {
		if (c->reached_count >= CEILINGS_ROWS)
			return 0;
		same = realloc(c->reached, (c->reached_count + 1) * sizeof(*same));
		if (!same)
			return -ENOMEM;
		c->reached = same;
		same += c->reached_count++;
	}
	*same = *reached;
	*added = true;
	return 0;
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
