/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands that overlap on several lanes of one queue. Each lane adds up its own; what ran at the
 * same time for one brick, category or group is taken off again here, so that none of them has more
 * time than its queues were busy. Called by summary_accumulator.c and summary_device.c.
 */
#include <stdlib.h>
#include "analysis/accounts/summary_accumulator.h"
#include "base/array.h"
#include "base/order.h"

enum overlap_kind { OF_CATEGORY, OF_BRICK, OF_GROUP };

struct order {
	const struct run *run;
	enum overlap_kind kind;
};

static uint32_t key_of(const struct order *order, const struct summary_span *span)
{
	if (order->kind == OF_GROUP)
		return span->group;
	if (order->kind == OF_BRICK || span->brick == RUN_NONE)
		return span->brick;
	return order->run->bricks[span->brick].category;
}

static int compare(const void *a, const void *b, void *context)
{
	const struct summary_span *x = a, *y = b;

	return ORDER(x->queue, y->queue) ?: ORDER(key_of(context, x), key_of(context, y))
		?: ORDER(x->begin_ns, y->begin_ns);
}

static void take_off(struct summary_sums *sums, uint64_t ns)
{
	sums->total_ns -= ns < sums->total_ns ? ns : sums->total_ns;
}

static void subtract(
	struct summary_accumulator *t, enum overlap_kind kind, uint32_t key, uint64_t ns)
{
	switch (kind) {
	case OF_CATEGORY:
		t->device_cross_ns[key] += ns;
		break;
	case OF_BRICK: /* which is off its category's sum, then */
		take_off(&t->device[key], ns);
		t->device_cross_ns[t->run->bricks[key].category] -= ns;
		break;
	case OF_GROUP:
		take_off(&t->device_groups[key], ns);
		break;
	}
}

static void subtract_all(struct summary_accumulator *t, enum overlap_kind kind)
{
	struct order order = {t->run, kind};
	struct summary_span *spans = t->spans;
	uint64_t end_ns = 0, ns = 0;

	qsort_r(spans, t->span_count, sizeof(*spans), compare, &order);
	for (size_t i = 0; i < t->span_count; i++) {
		uint32_t key = key_of(&order, &spans[i]);
		if (i && (spans[i].queue != spans[i - 1].queue ||
				 key != key_of(&order, &spans[i - 1])))
			end_ns = 0;
		ns = spans[i].end_ns < end_ns ? spans[i].end_ns : end_ns;
		if (key != RUN_NONE && ns > spans[i].begin_ns)
			subtract(t, kind, key, ns - spans[i].begin_ns);
		end_ns = spans[i].end_ns > end_ns ? spans[i].end_ns : end_ns;
	}
}

void summary_overlap_add(struct summary_accumulator *t, const struct summary_span *span)
{
	struct summary_span *moved =
		array_grow(t->spans, &t->span_capacity, t->span_count + 1, sizeof(*moved));

	if (!moved) {
		t->failed = true;
		return;
	}
	t->spans = moved;
	t->spans[t->span_count++] = *span;
}

void summary_overlap_subtract(struct summary_accumulator *t)
{
	if (t->failed || !t->span_count)
		return;
	subtract_all(t, OF_CATEGORY);
	subtract_all(t, OF_BRICK);
	if (t->device_groups)
		subtract_all(t, OF_GROUP);
}
