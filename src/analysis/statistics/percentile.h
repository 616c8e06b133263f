/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percentiles by nearest rank. The percentile P is the smallest value that at least P percent of
 * all values do not exceed. With fewer than 100 / (100 - P) values it is unknown: p95 needs 20
 * values, p99 needs 100. Pure; any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "brick/clock.h"
#include "trace/lengths.h"

/* Values that are needed before a percentile (0 < percent < 100) may be stated. */
uint64_t percentile_needs(unsigned percent);

/* Percentile of n values in ascending order; ANALYSIS_UNKNOWN: too few. */
uint64_t percentile_sorted(const uint64_t *values, size_t n, unsigned percent);

/*
 * Percentile of a histogram in ns: the middle of the bucket that holds it. ANALYSIS_UNKNOWN: too
 * few values. `lengths` may be NULL.
 */
uint64_t percentile_of_ns(const struct ns_lengths *lengths, unsigned percent);
uint64_t percentile_of_ticks(
	const struct ticks_lengths *lengths, const struct brick_clock *clock, unsigned percent);

/*
 * Bounds a percentile of a histogram by the exact least and greatest values, which a bucket's
 * middle may lie beyond. An unknown percentile stays unknown; an unknown bound has no effect.
 */
uint64_t percentile_bounded(uint64_t ns, uint64_t min_ns, uint64_t max_ns);

/* Sort ascending, in place. */
void percentile_sort(uint64_t *values, size_t n);
