/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMetrics text: families, labels, histograms with bounds. */
#pragma once

#include <stdint.h>
#include <stdio.h>

enum { METRICS_BOUNDS_MAX = 410 };

/* Upper bounds of a histogram's buckets, ascending. */
struct metrics_bounds {
	uint64_t ns[METRICS_BOUNDS_MAX];
	unsigned count;
};

/* Of executions, and finer ones of steps. */
void metrics_bounds_coarse(struct metrics_bounds *bounds);
void metrics_bounds_fine(struct metrics_bounds *bounds);

/* A label with its value, in which what has a meaning is escaped. */
void metrics_label(FILE *out, const char *name, const char *value);

/* What a metric is called and means; unit may be NULL. */
void metrics_family(
	FILE *out, const char *name, const char *type, const char *unit, const char *help);

/* below: counts up to each bound. */
void metrics_histogram(FILE *out, const char *name, const char *labels,
	const struct metrics_bounds *bounds, const uint64_t *below, uint64_t count,
	uint64_t sum_ns);

static inline double metrics_seconds(uint64_t ns)
{
	return (double)ns * 1e-9;
}
