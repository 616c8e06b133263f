/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms of durations in ns that can be added up, whatever machine they are of. Buckets are
 * log-linear: 16 to an octave, so that the middle of one is within 3.2 % of all that it holds; only
 * those that are taken are kept, by number. As text: "17:3 18:1", bucket and count. One thread at a
 * time.
 */
#pragma once

#include <stdint.h>
#include "base/array.h"

enum { HISTORY_BUCKETS = 976 };

struct history_bucket {
	uint32_t index;
	uint64_t count;
};

struct history_histogram {
	ARRAY(struct history_bucket) buckets; /* by index, none is empty */
};

uint32_t history_bucket_of(uint64_t ns);

/* The middle of a bucket. */
uint64_t history_bucket_ns(uint32_t index);

/* -ENOMEM. */
int history_histogram_add(struct history_histogram *histogram, uint32_t index, uint64_t count);
int history_histogram_merge(
	struct history_histogram *histogram, const struct history_histogram *other);

uint64_t history_histogram_count(const struct history_histogram *histogram);

/* A percentile by nearest rank; 0 where fewer than 100 / (100 - percent) values are in it. */
uint64_t history_histogram_percentile(const struct history_histogram *histogram, unsigned percent);

/* The caller frees; NULL: not enough memory. */
char *history_histogram_text(const struct history_histogram *histogram);

/* Adds the values of a text. -EINVAL: it is no histogram; -ENOMEM. */
int history_histogram_parse(struct history_histogram *histogram, const char *text);

void history_histogram_fini(struct history_histogram *histogram);
