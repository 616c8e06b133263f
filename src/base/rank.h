/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percentiles by nearest rank, in integers: equal input gives equal output everywhere. Header only;
 * any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* How many values it takes to tell a percentile (below 100) from the greatest of them. */
static inline uint64_t rank_needs(unsigned percent)
{
	return percent <= 50 ? 1 : (100 + (100 - percent) - 1) / (100 - percent);
}

/* Rank of a percentile among n sorted values, from 1. */
static inline uint64_t rank_of_percent(uint64_t n, unsigned percent)
{
	uint64_t rank = n / 100 * percent + (n % 100 * percent + 99) / 100;
	return rank ? rank : 1;
}

/* The first bucket up to which `rank` values are counted; the last one when there are fewer. */
static inline size_t rank_bucket(const uint64_t *counts, size_t buckets, uint64_t rank)
{
	uint64_t seen = 0;
	size_t i = 0;

	for (; i + 1 < buckets; i++) {
		seen += counts[i];
		if (seen >= rank)
			break;
	}
	return i;
}
