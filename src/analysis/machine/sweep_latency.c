/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it takes to begin and to meet, whatever the work: a barrier of threads. Devices are in
 * sweep_device.c. Called by the sweep after its kernels.
 */
#include "analysis/machine/sweep_state.h"

#include <errno.h>
#include <stdio.h>

enum { BARRIERS = 500 };

int sweep_add_latency(struct sweep *s, const char *backend, const char *what, uint32_t threads,
	double *values, uint32_t count)
{
	struct ceilings *c = s->ceilings;
	struct ceilings_latency *rows =
		array_grow(c->latency, &s->latency_capacity, c->latency_count + 1, sizeof *rows);

	if (!rows)
		return -ENOMEM;
	c->latency = rows;
	struct ceilings_latency *row = &rows[c->latency_count++];
	*row = (struct ceilings_latency){.threads = threads};
	snprintf(row->backend, sizeof row->backend, "%s", backend);
	snprintf(row->what, sizeof row->what, "%s", what);
	row->ns = ceilings_figure_of(values, count, 1);
	return 0;
}

int sweep_add_missing(struct sweep *s, const char *what, const char *reason)
{
	struct ceilings *c = s->ceilings;
	struct ceilings_missing *rows =
		array_grow(c->missing, &s->missing_capacity, c->missing_count + 1, sizeof *rows);

	if (!rows)
		return -ENOMEM;
	c->missing = rows;
	struct ceilings_missing *row = &rows[c->missing_count++];
	snprintf(row->what, sizeof row->what, "%s", what);
	snprintf(row->reason, sizeof row->reason, "%s", reason);
	return 0;
}

int sweep_latency_threads(struct sweep *s)
{
	int rc = 0;

	for (size_t i = 0; i < s->thread_count_count && !rc; i++) {
		unsigned threads = s->thread_counts[i];
		double values[SWEEP_REPETITIONS];
		if (threads < 2)
			continue;
		for (uint32_t k = 0; k < s->repetitions; k++)
			values[k] = (double)team_barrier_ns(s->team, threads, BARRIERS) / BARRIERS;
		rc = sweep_add_latency(s, "threads", "barrier", threads, values, s->repetitions);
	}
	return rc;
}
