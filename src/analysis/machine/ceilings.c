/* SPDX-License-Identifier: Apache-2.0 */
/* Rows are found by going through the tables: there are some hundred. */
#include "analysis/machine/ceilings.h"

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
	return smallest_is_best ? (struct ceilings_figure){low, median, high, count}
				: (struct ceilings_figure){high, median, low, count};
}

double ceilings_spread(const struct ceilings_figure *figure)
{
	double difference = figure->median - figure->best;

	if (!(figure->best > 0))
		return 0;
	return (difference < 0 ? -difference : difference) / figure->best;
}

/* One repetition alone says nothing of how far others would be from it. */
static bool is_wide(const struct ceilings_figure *figure)
{
	const double most = 0.15;

	return figure->count < 2 || ceilings_spread(figure) > most;
}

bool ceilings_noisy(const struct ceilings *c)
{
	size_t wide = 0;

	for (size_t i = 0; i < c->compute_count; i++)
		wide += (size_t)is_wide(&c->compute[i].rate);
	for (size_t i = 0; i < c->bandwidth_count; i++)
		wide += (size_t)is_wide(&c->bandwidth[i].rate);
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

const struct ceilings_bandwidth *ceilings_fastest(
	const struct ceilings *c, const char *level, uint32_t threads)
{
	const struct ceilings_bandwidth *best = NULL;

	for (size_t i = 0; i < c->bandwidth_count; i++) {
		const struct ceilings_bandwidth *row = &c->bandwidth[i];
		if (row->threads != threads || (level && strcmp(row->level, level)))
			continue;
		if (!best || row->rate.best > best->rate.best)
			best = row;
	}
	return best;
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
