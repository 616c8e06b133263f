/* SPDX-License-Identifier: Apache-2.0 */
/* Each ns below 32 has a bucket of its own. Kept buckets are found by bisection. */
#include "analysis/history/kept_histogram.h"

#include <stdio.h>

#include "base/number.h"
#include "base/order.h"

enum { SUB_BITS = 4, SUB = 1 << SUB_BITS };

uint32_t history_bucket_of(uint64_t ns)
{
	if (ns < SUB)
		return (uint32_t)ns;
	uint32_t shift = 63u - (uint32_t)__builtin_clzll(ns) - SUB_BITS;
	return (shift << SUB_BITS) + (uint32_t)(ns >> shift);
}

uint64_t history_bucket_low_ns(uint32_t index)
{
	if (index < 2 * SUB)
		return index;
	return (uint64_t)((index & (SUB - 1)) + SUB) << ((index >> SUB_BITS) - 1);
}

uint64_t history_bucket_ns(uint32_t index)
{
	if (index < 2 * SUB)
		return index;
	return history_bucket_low_ns(index) + ((1ull << ((index >> SUB_BITS) - 1)) >> 1);
}

int history_histogram_add(struct history_histogram *h, uint32_t index, uint64_t count)
{
	size_t at = BISECT(i, 0, h->buckets.count, h->buckets.items[i].index < index);

	if (at < h->buckets.count && h->buckets.items[at].index == index) {
		h->buckets.items[at].count += count;
		return 0;
	}
	if (array_reserve(&h->buckets, 1))
		return -ENOMEM;
	memmove(h->buckets.items + at + 1, h->buckets.items + at,
		(h->buckets.count++ - at) * sizeof(*h->buckets.items));
	h->buckets.items[at] = (struct history_bucket){index, count};
	return 0;
}

int history_histogram_merge(struct history_histogram *h, const struct history_histogram *other)
{
	int rc = 0;

	for (size_t i = 0; i < other->buckets.count && rc == 0; i++)
		rc = history_histogram_add(
			h, other->buckets.items[i].index, other->buckets.items[i].count);
	return rc;
}

uint64_t history_histogram_count(const struct history_histogram *h)
{
	uint64_t count = 0;

	for (size_t i = 0; i < h->buckets.count; i++)
		count += h->buckets.items[i].count;
	return count;
}

uint64_t history_histogram_percentile(const struct history_histogram *h, unsigned percent)
{
	uint64_t count = history_histogram_count(h), seen = 0;
	/* count * percent / 100 without overflow, rounded up */
	uint64_t rank = count / 100 * percent + (count % 100 * percent + 99) / 100;

	if (count * (100 - percent) < 100)
		return 0;
	for (size_t i = 0; i < h->buckets.count; i++) {
		seen += h->buckets.items[i].count;
		if (seen >= rank)
			return history_bucket_ns(h->buckets.items[i].index);
	}
	return 0;
}

char *history_histogram_text(const struct history_histogram *h)
{
	enum { BUCKET_BYTES = 32 };
	char *text = malloc(h->buckets.count * BUCKET_BYTES + 1), *at = text;

	if (!text)
		return NULL;
	*at = '\0';
	for (size_t i = 0; i < h->buckets.count; i++)
		at += snprintf(at, BUCKET_BYTES, "%s%u:%llu", i ? " " : "",
			h->buckets.items[i].index, (unsigned long long)h->buckets.items[i].count);
	return text;
}

int history_histogram_parse(struct history_histogram *h, const char *text)
{
	int rc = 0;

	while (*text && rc == 0) {
		uint64_t index, count;
		if (number_leading_u64(text, &index, &text) || *text++ != ':' ||
			number_leading_u64(text, &count, &text) || index >= HISTORY_BUCKETS ||
			!count || (*text && *text++ != ' '))
			return -EINVAL;
		rc = history_histogram_add(h, (uint32_t)index, count);
	}
	return rc;
}

void history_histogram_fini(struct history_histogram *h)
{
	array_fini(&h->buckets);
}
