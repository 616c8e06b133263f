/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed are, for each series in ascending order, varints: how much higher its number is than the
 * one before, FLEET_NUMBERS numbers, the count of its buckets, and for each bucket how much higher
 * its index is, and its count. Sums that have a damaged window are a byte that ends too early: they
 * are refused when they are asked for, and no other part of a history is.
 */
#include "analysis/history/fleet_sums.h"

#include <errno.h>
#include <string.h>

#include "base/number.h"
#include "base/order.h"
#include "base/pb_read.h"
#include "base/pb_write.h"

void fleet_sums_fini(struct fleet_sums *sums)
{
	for (size_t i = 0; i < sums->list.count; i++)
		history_histogram_fini(&sums->list.items[i].histogram);
	array_fini(&sums->list);
}

/* The sum of a series, empty if it is new. NULL: no memory. */
static struct fleet_sum *fleet_sums_find(struct fleet_sums *sums, uint64_t series, uint64_t hour)
{
	size_t at = BISECT(i, 0, sums->list.count, sums->list.items[i].series < series);

	if (at < sums->list.count && sums->list.items[at].series == series) {
		sums->list.items[at].first_hour = number_min(sums->list.items[at].first_hour, hour);
		return &sums->list.items[at];
	}
	if (array_reserve(&sums->list, 1))
		return NULL;
	memmove(sums->list.items + at + 1, sums->list.items + at,
		(sums->list.count++ - at) * sizeof(*sums->list.items));
	sums->list.items[at] = (struct fleet_sum){.series = series, .first_hour = hour};
	return &sums->list.items[at];
}

/* Packed sums, which are not trusted. */
struct fleet_packed {
	const uint8_t *at, *end;
};

static bool fleet_take(struct fleet_packed *p, uint64_t *value)
{
	p->at = pb_read_varint(p->at, p->end, value);
	return p->at != NULL;
}

/* Adds `buckets` buckets to a histogram; NULL: passes them over. -EINVAL: they are none. */
static int fleet_take_buckets(
	struct fleet_packed *p, struct history_histogram *histogram, uint64_t buckets)
{
	uint64_t index = 0, higher, count;
	size_t at = 0;

	for (; buckets; buckets--) {
		if (!fleet_take(p, &higher) || !fleet_take(p, &count) || !count ||
			higher >= HISTORY_BUCKETS || (index += higher) >= HISTORY_BUCKETS)
			return -EINVAL;
		if (!histogram)
			continue;
		while (at < histogram->buckets.count && histogram->buckets.items[at].index < index)
			at++;
		if (at < histogram->buckets.count && histogram->buckets.items[at].index == index)
			histogram->buckets.items[at].count += count;
		else if (history_histogram_add(histogram, (uint32_t)index, count))
			return -ENOMEM;
	}
	return 0;
}

int fleet_sums_add(struct fleet_sums *sums, const void *packed, size_t bytes, uint64_t hour,
	const struct fleet_wanted *wanted)
{
	struct fleet_packed p = {packed, (const uint8_t *)packed + bytes};
	uint64_t series = 0, higher, numbers[FLEET_NUMBERS], buckets;

	while (p.at < p.end) {
		if (!fleet_take(&p, &higher))
			return -EINVAL;
		series += higher;
		for (int i = 0; i < FLEET_NUMBERS; i++)
			if (!fleet_take(&p, &numbers[i]))
				return -EINVAL;
		if (!fleet_take(&p, &buckets))
			return -EINVAL;
		const struct fleet_series *want =
			wanted && series < wanted->list.count ? &wanted->list.items[series] : NULL;
		struct fleet_sum *sum = NULL;
		if (!wanted || (want && want->phase)) {
			sum = fleet_sums_find(sums, series, hour);
			if (!sum)
				return -ENOMEM;
			for (int i = 0; i < FLEET_NUMBERS; i++)
				sum->numbers[i] += numbers[i];
		}
		bool has_histogram = sum && (!want || want->has_histogram);
		int rc = fleet_take_buckets(&p, has_histogram ? &sum->histogram : NULL, buckets);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static bool fleet_put(struct pb_buffer *b, uint64_t value)
{
	enum { LONGEST = 10 };

	if (!pb_reserve(b, LONGEST))
		return false;
	b->size += pb_put_varint(b->data + b->size, value);
	return true;
}

/* ---- functions of SQL ---- */

/* Hands sums over as a function's result, and frees them. */
static void fleet_result(sqlite3_context *context, struct fleet_sums *sums, int rc)
{
	struct pb_buffer b = {0};
	uint64_t series = 0;

	for (size_t i = 0; i < sums->list.count && rc == 0; i++) {
		const struct fleet_sum *sum = &sums->list.items[i];
		uint32_t index = 0;
		fleet_put(&b, sum->series - series);
		series = sum->series;
		for (int k = 0; k < FLEET_NUMBERS; k++)
			fleet_put(&b, sum->numbers[k]);
		fleet_put(&b, sum->histogram.buckets.count);
		for (size_t k = 0; k < sum->histogram.buckets.count; k++) {
			const struct history_bucket *bucket = &sum->histogram.buckets.items[k];
			fleet_put(&b, bucket->index - index);
			fleet_put(&b, bucket->count);
			index = bucket->index;
		}
	}
	if (rc == -ENOMEM || b.failed)
		sqlite3_result_error_nomem(context);
	else if (rc < 0)
		sqlite3_result_blob(context, "\x80", 1, SQLITE_STATIC);
	else
		sqlite3_result_blob64(
			context, b.size ? (void *)b.data : "", b.size, SQLITE_TRANSIENT);
	pb_buffer_fini(&b);
	fleet_sums_fini(sums);
}

/* brick_sums(series, count, tokens, total_ns, typical_tokens, typical_ns, histogram) */
static void fleet_step(sqlite3_context *context, int arguments, sqlite3_value **values)
{
	struct fleet_sums *sums = sqlite3_aggregate_context(context, sizeof(*sums));
	sqlite3_int64 series = sqlite3_value_int64(values[0]);
	struct fleet_sum *sum =
		sums && series >= 0 ? fleet_sums_find(sums, (uint64_t)series, 0) : NULL;
	const char *histogram = (const char *)sqlite3_value_text(values[arguments - 1]);

	if (!sum) {
		sqlite3_result_error_nomem(context);
		return;
	}
	sum->numbers[FLEET_RUNS]++;
	for (int i = FLEET_COUNT; i < FLEET_NUMBERS; i++)
		sum->numbers[i] += (uint64_t)sqlite3_value_int64(values[i]);
	int rc = history_histogram_parse(&sum->histogram, histogram ? histogram : "");
	if (rc == -ENOMEM)
		sqlite3_result_error_nomem(context);
	sums->is_damaged |= rc < 0;
}

static void fleet_final(sqlite3_context *context)
{
	struct fleet_sums none = {0}, *sums = sqlite3_aggregate_context(context, 0);

	sums = sums ? sums : &none;
	fleet_result(context, sums, sums->is_damaged ? -EINVAL : 0);
}

static void fleet_plus(sqlite3_context *context, int arguments, sqlite3_value **values)
{
	struct fleet_sums sums = {0};
	int rc = 0;

	for (int i = 0; i < arguments && rc == 0; i++) {
		const void *packed = sqlite3_value_blob(values[i]);
		rc = fleet_sums_add(&sums, packed, (size_t)sqlite3_value_bytes(values[i]), 0, NULL);
	}
	fleet_result(context, &sums, rc);
}

void fleet_sums_functions(sqlite3 *db)
{
	int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;

	sqlite3_create_function(
		db, "brick_sums", 1 + FLEET_NUMBERS, flags, NULL, NULL, fleet_step, fleet_final);
	sqlite3_create_function(db, "brick_sums_plus", 2, flags, NULL, fleet_plus, NULL, NULL);
}
