/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order statistics of exact values and of log-linear histograms. Ranks are computed in integers, so
 * that equal input gives equal output everywhere.
 */
#include "analysis/statistics/percentile.h"

#include <stdlib.h>

#include "analysis/statistics/unknown.h"
#include "base/order.h"
#include "brick/recorded.h"

uint64_t percentile_needs(unsigned percent)
{
	if (percent <= 50)
		return 1;
	return (100 + (100 - percent) - 1) / (100 - percent);
}

/* 1-based rank of a percentile among n values. */
static uint64_t percentile_rank_of(uint64_t n, unsigned percent)
{
	uint64_t rank = (uint64_t)(((unsigned __int128)n * percent + 99) / 100);
	return rank ? rank : 1;
}

uint64_t percentile_sorted(const uint64_t *values, size_t n, unsigned percent)
{
	if (n < percentile_needs(percent))
		return ANALYSIS_UNKNOWN;
	return values[percentile_rank_of(n, percent) - 1];
}

/* A percentile in the histogram's unit. */
static uint64_t percentile_bucket(const struct lengths_octaves *lengths, unsigned percent)
{
	uint64_t n = lengths_count(lengths);

	if (n < percentile_needs(percent))
		return ANALYSIS_UNKNOWN;

	uint64_t rank = percentile_rank_of(n, percent), seen = 0;
	LENGTHS_EACH (i, lengths) {
		seen += lengths_at(lengths, i);
		if (seen >= rank)
			return brick_histogram_value(i);
	}
	return ANALYSIS_UNKNOWN;
}

uint64_t percentile_of_ns(const struct ns_lengths *lengths, unsigned percent)
{
	return percentile_bucket(lengths ? &lengths->of_ns : NULL, percent);
}

uint64_t percentile_of_ticks(
	const struct ticks_lengths *lengths, const struct brick_clock *clock, unsigned percent)
{
	uint64_t ticks = percentile_bucket(lengths ? &lengths->of_ticks : NULL, percent);
	return ticks == ANALYSIS_UNKNOWN ? ticks : brick_clock_duration_ns(clock, ticks);
}

uint64_t percentile_bounded(uint64_t ns, uint64_t min_ns, uint64_t max_ns)
{
	if (ns == ANALYSIS_UNKNOWN || min_ns == ANALYSIS_UNKNOWN)
		return ns;
	return ns < min_ns ? min_ns : ns > max_ns ? max_ns : ns;
}

void percentile_sort(uint64_t *values, size_t n)
{
	if (n > 1)
		qsort(values, n, sizeof(*values), order_u64);
}
