/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of durations in ns, as histories store them. The buckets of all machines are the same,
 * so that histograms can be added up. Buckets are log-linear, 16 to an octave: the middle of a
 * bucket is within 3.2 % of each value in it. Only buckets with values are kept. The text "17:3
 * 18:1" is bucket and count, and is stored, so numbers of buckets stay. All zero is an empty
 * histogram. One thread at a time.
 */
#pragma once

#include <stdint.h>
#include "base/array.h"

enum { HISTORY_BUCKETS = 976 }; /* up to UINT64_MAX ns */

struct history_bucket {
	uint32_t index;
	uint64_t count;
};

struct history_histogram {
	ARRAY(struct history_bucket) buckets; /* by index, ascending; no count is 0 */
};

/* The bucket of a duration, below HISTORY_BUCKETS. */
uint32_t history_bucket_of(uint64_t ns);

/* The least duration of a bucket, and its middle, in ns. */
uint64_t history_bucket_low_ns(uint32_t index);
uint64_t history_bucket_ns(uint32_t index);

/* Adds so many values of a bucket; count must not be 0. -ENOMEM: the histogram stays. */
int history_histogram_add(struct history_histogram *histogram, uint32_t index, uint64_t count);
/* Adds all values of another histogram. -ENOMEM: some may have been added. */
int history_histogram_merge(
	struct history_histogram *histogram, const struct history_histogram *other);

/* The number of values. */
uint64_t history_histogram_count(const struct history_histogram *histogram);

/*
 * A percentile in ns by nearest rank. percent: below 100. 0: fewer than 100 / (100 - percent)
 * values.
 */
uint64_t history_histogram_percentile(const struct history_histogram *histogram, unsigned percent);

/* The histogram as text; the caller frees. NULL: no memory. */
char *history_histogram_text(const struct history_histogram *histogram);

/*
 * Adds the values of a text, which is not trusted. -EINVAL: the text is no histogram; -ENOMEM.
 * After an error some values may have been added.
 */
int history_histogram_parse(struct history_histogram *histogram, const char *text);

void history_histogram_fini(struct history_histogram *histogram);
