/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percentiles by nearest rank: the smallest value that at least P percent of the values do not
 * exceed. One that fewer than 100 / (100 - P) values would have to carry is unknown: p95 needs 20
 * values, p99 needs 100. Pure; any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Values that are needed before a percentile (0 < percent < 100) may be stated. */
uint64_t percentile_needs(unsigned percent);

/* Of n values in ascending order; ANALYSIS_UNKNOWN when there are too few. */
uint64_t percentile_sorted(const uint64_t *values, size_t n, unsigned percent);

/*
 * Of a histogram, uint64_t[BRICK_HISTOGRAM_BUCKETS] (brick/abi/session.h): the middle of the
 * bucket, in the histogram's unit; ANALYSIS_UNKNOWN when it holds too few.
 */
uint64_t percentile_histogram(const uint64_t *buckets, unsigned percent);

/*
 * A bucket's middle may lie beyond the values that are really in it: bound it by those. What is
 * ANALYSIS_UNKNOWN stays so, and bounds nothing.
 */
uint64_t percentile_bounded(uint64_t ns, uint64_t min_ns, uint64_t max_ns);

/* Sort ascending, in place. */
void percentile_sort(uint64_t *values, size_t n);
