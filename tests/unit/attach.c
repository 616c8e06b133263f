/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What interposers need of the library: samples by the hundred leave exactly what they leave one by
 * one, out of the ordinary ones among them; lanes made ready; the cost of hooks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "brick/attach.h"
#include "lib/probe/series.h"
#include "tests/unit/peek.h"

enum { MOST = 3000, UNKNOWN_SITE = 60000, RING = 1024 };

static struct brick_timing timings[MOST];
static struct brick_timing_work works[MOST];
static uint32_t work_count;
static uint32_t sites[3];

static void register_sites(void)
{
	static const uint16_t bricks[3] = {BRICK_RMS_NORM, BRICK_QKV_PROJECTION, BRICK_EMBEDDING};

	for (int i = 0; i < 3 && !sites[i]; i++) {
		const struct brick_site site = {.size = sizeof(struct brick_site),
			.brick = bricks[i],
			.layer = (int16_t)(i - 1),
			.elements = 10,
			.bytes = 20,
			.flops = (uint64_t)i};
		sites[i] = (uint32_t)brick_site_register(&site);
	}
}

/* Ordinary timings, one after the other. */
static void fill(uint32_t count)
{
	uint64_t at = 1000000;

	register_sites();
	for (uint32_t i = 0; i < count; i++) {
		timings[i] = (struct brick_timing){
			at, 100 + i * 7 % 50, i % 5 * 3, i % 4 * 2, sites[i % 3], i};
		at += 1000;
	}
}

/* Every seventh did other work than its site says; of some of these it is not known how much. */
static void fill_works(uint32_t count)
{
	work_count = 0;
	for (uint32_t i = 0; i < count; i += 7)
		works[work_count++] = (struct brick_timing_work){i, 0, i % 3 * 10, i % 3};
}

static void record_singly(const struct brick_timing *t, uint32_t count)
{
	for (uint32_t i = 0, work = 0; i < count; i++) {
		const struct brick_sample sample = {.begin = t[i].begin,
			.end = t[i].begin + t[i].ticks,
			.wait = t[i].wait,
			.inner = t[i].inner,
			.site = t[i].site,
			.source = BRICK_SOURCE_TSC};
		if (work < work_count && works[work].timing == i) {
			brick_record_sample_work(&sample, works[work].bytes, works[work].flops);
			work++;
		} else {
			brick_record_sample(&sample);
		}
	}
}

static void record_with_works(const struct brick_timing *t, uint32_t count)
{
	brick_record_timings_work(t, count, works, work_count);
}

/* Those from `first` on, as executions of sites that are known beforehand. */
static void record_part(
	struct brick__series *series, const struct brick_timing *t, uint32_t first, uint32_t count)
{
	static struct brick__series_timing lengths[MOST];
	static struct brick_timing_work part[MOST];
	struct brick__series_run run = {
		first, count, t[first].begin, t[first + count - 1].begin, lengths, part, 0};
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		lengths[i] = (struct brick__series_timing){
			0, (uint32_t)t[first + i].begin, t[first + i].ticks};
		sum += t[first + i].ticks;
	}
	for (uint32_t i = 0; i < work_count; i++)
		if (works[i].timing >= first && works[i].timing < first + count) {
			part[run.work_count] = works[i];
			part[run.work_count++].timing -= first;
		}
	assert_int_equal(brick__series_record(series, &run), sum);
}

static struct brick__series *series_of(const struct brick_timing *t, uint32_t count)
{
	static uint32_t of[MOST];

	for (uint32_t i = 0; i < count; i++)
		of[i] = t[i].site;
	return brick__series_create(of, count);
}

static void record_series(const struct brick_timing *t, uint32_t count)
{
	struct brick__series *series = series_of(t, count);

	record_part(series, t, 0, count);
	brick__series_free(series);
}

static void record_series_in_parts(const struct brick_timing *t, uint32_t count)
{
	struct brick__series *series = series_of(t, count);

	record_part(series, t, 0, count / 3);
	record_part(series, t, count / 3, 1);
	record_part(series, t, count / 3 + 1, count - count / 3 - 1);
	brick__series_free(series);
}

typedef void (*record_fn)(const struct brick_timing *timings, uint32_t count);

/* What a way to record leaves behind. */
struct outcome {
	struct brick_stat stats[BRICK_FIRST_ROWS];
	struct brick_ledger ledger;
	struct brick_record records[RING];
	uint64_t head, dropped_lengths;
};

/* The times of the frames around them differ from run to run; what was nested in them does not. */
static void forget_times(struct outcome *o, uint32_t outer)
{
	struct brick_stat *around[] = {&o->stats[outer], &o->stats[BRICK_DECODE]};

	for (uint64_t i = 0; i < RING; i++)
		if (!(o->records[i].flags & BRICK_FLAG_SITE))
			o->records[i].begin = o->records[i].ticks = o->records[i].elements = 0;
	for (int i = 0; i < 2; i++) {
		around[i]->total = i ? 0 : around[i]->total - around[i]->self;
		around[i]->self = around[i]->min = around[i]->max = 0;
	}
}

static void spin(void)
{
	uint64_t end = brick_ticks() + 3000000;

	while (brick_ticks() < end)
		;
}

static struct outcome *run(record_fn record, uint32_t outer, uint32_t count)
{
	struct outcome *o = calloc(1, sizeof *o);
	struct peek p = {0};

	assert_non_null(o);
	peek_start(&p, RING);
	brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1), span = brick_begin(outer);
	record(timings, count);
	spin(); /* their sum must not be longer than what they lie in */
	brick_end(span);
	brick_end(step);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	memcpy(o->stats, lane->stats, sizeof o->stats);
	o->ledger = lane->ledger;
	for (uint64_t i = 0; i < lane->head && i < RING; i++)
		o->head += peek_read(&p, lane, i, &o->records[o->head]);
	peek_stop(&p);
	forget_times(o, outer);
	return o;
}

static void assert_same_by(record_fn record, uint32_t outer, uint32_t count)
{
	struct outcome *a = run(record_singly, outer, count);
	struct outcome *b = run(record, outer, count);

	assert_int_equal(a->head, b->head);
	assert_memory_equal(&a->ledger, &b->ledger, sizeof a->ledger);
	assert_memory_equal(a->records, b->records, sizeof a->records);
	assert_memory_equal(a->stats, b->stats, sizeof a->stats);
	free(a);
	free(b);
}

static void assert_same(uint32_t outer, uint32_t count)
{
	assert_same_by(work_count ? record_with_works : brick_record_timings, outer, count);
}

static void assert_series_same(uint32_t count, uint64_t apart)
{
	for (uint32_t i = 0; i < count; i++) {
		timings[i].begin = 1000000 + i * apart;
		timings[i].wait = timings[i].inner = 0;
	}
	assert_same_by(record_series, BRICK_GRAPH_COMPUTE, count);
	assert_same_by(record_series, BRICK_QKV_PROJECTION, count); /* recursion */
	assert_same_by(record_series_in_parts, BRICK_GRAPH_COMPUTE, count);
}

static void many_are_as_one_by_one(void **state)
{
	fill(500);
	assert_same(BRICK_GRAPH_COMPUTE, 0);
	assert_same(BRICK_GRAPH_COMPUTE, 1);
	assert_same(BRICK_GRAPH_COMPUTE, 500);
}

static void series_are_as_one_by_one(void **state)
{
	work_count = 0;
	fill(500);
	assert_series_same(500, 1000);
	assert_series_same(3, 1000);
	assert_series_same(500, UINT16_MAX + 125); /* some too far apart for one record */
	assert_series_same(400, UINT32_MAX - 100); /* longer than half a time tells */
	fill(MOST);				   /* more than the ring has room for */
	fill_works(300);
	assert_series_same(300, 1000);
	fill_works(MOST);
	assert_series_same(MOST, 1000);
	work_count = 0;
	assert_null(brick__series_create((const uint32_t[]){sites[0], UNKNOWN_SITE}, 2));
}

static void their_statistics_are_right(void **state)
{
	struct peek p = {0};
	uint64_t ticks = 0, wait = 0;

	fill(300);
	for (int i = 0; i < 300; i += 3) {
		ticks += timings[i].ticks;
		wait += timings[i].wait + timings[i].inner;
	}
	peek_start(&p, RING);
	brick_record_timings(timings, 300);
	peek_map(&p);
	const struct brick_stat *stat = &peek_lane(&p, 0)->stats[BRICK_RMS_NORM];
	assert_int_equal(stat->count, 100);
	assert_int_equal(stat->total, ticks);
	assert_int_equal(stat->wait, wait);
	assert_int_equal(stat->elements, 1000);
	assert_int_equal(stat->bytes, 2000);
	assert_int_equal(peek_lane(&p, 0)->head, 301);
	peek_stop(&p);
}

/* Of 2000 and so on bytes that the site says, it is told 7. */
static void work_of_its_own(void **state)
{
	struct peek p = {0};

	fill(3);
	peek_start(&p, RING);
	struct brick_sample sample = {
		.begin = timings[0].begin, .end = timings[0].begin + 5, .site = timings[0].site};
	brick_record_sample_work(&sample, 7, 9);
	brick_record_sample_work(&sample, 0, 0); /* as the site says */
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	const struct brick_stat *stat = &lane->stats[BRICK_RMS_NORM];
	assert_int_equal(stat->count, 2);
	assert_int_equal(stat->bytes, 7 + 20);
	uint64_t samples = 0, works = 0;
	for (uint64_t i = 0; i < lane->head; i++) {
		const struct brick_record *r = peek_record(lane, i);
		samples += r->kind == BRICK_RECORD_SAMPLE;
		if (r->kind != BRICK_RECORD_WORK)
			continue;
		works++;
		assert_int_equal(r->begin, 7);
		assert_int_equal(r->elements, 9);
		assert_int_equal(peek_record(lane, i - 1)->kind, BRICK_RECORD_SAMPLE);
	}
	assert_int_equal(samples, 2);
	assert_int_equal(works, 1);
	peek_stop(&p);
}

static void odd_ones_among_them(void **state)
{
	fill(400);
	timings[7].site = UNKNOWN_SITE;
	timings[130].site = 0;
	timings[200].inner = timings[200].ticks + 1; /* clamped */
	timings[399].site = UNKNOWN_SITE;
	assert_same(BRICK_GRAPH_COMPUTE, 400);
	assert_same(BRICK_QKV_PROJECTION, 400); /* which some of them are: recursion */
}

static void a_full_ring_drops_and_counts(void **state)
{
	fill(MOST);
	assert_same(BRICK_GRAPH_COMPUTE, MOST);
}

static void some_with_work_of_their_own(void **state)
{
	fill(300);
	fill_works(300);
	assert_same(BRICK_GRAPH_COMPUTE, 300);
	timings[14].site = 0;
	timings[21].inner = timings[21].ticks + 1;
	assert_same(BRICK_GRAPH_COMPUTE, 300);
	assert_same(BRICK_QKV_PROJECTION, 300);
	fill(MOST);
	fill_works(MOST);
	assert_same(BRICK_GRAPH_COMPUTE, MOST);
	work_count = 0;
}

static void off_and_not_ready(void **state)
{
	fill(10);
	assert_int_equal(brick_thread_ready(), -2 /* ENOENT */);
	brick_record_timings(timings, 10);
	brick_hook_cost(64, 100);
}

static void lanes_are_made_ready_and_costs_kept(void **state)
{
	struct peek p = {0};

	peek_start(&p, RING);
	assert_int_equal(brick_thread_ready(), 0);
	assert_int_equal(brick_thread_ready(), 0);
	brick_hook_cost(64, 100);
	brick_hook_cost(60, 300);
	peek_map(&p);
	assert_int_equal(peek_header(&p)->lane_count, 1);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(lane->hook_calls, 124);
	assert_int_equal(lane->hook_timed, 2);
	assert_int_equal(lane->hook_ticks, 400);
	peek_stop(&p);
}

static void assert_parent(uint32_t brick, int32_t layer)
{
	struct brick_launch launch;

	brick_launch_parent(&launch);
	assert_int_equal(launch.brick, brick);
	assert_int_equal(launch.layer, layer);
}

static void a_launch_belongs_to_the_brick_that_is_open_else_to_the_owner(void **state)
{
	static const struct brick_launch_owner owner = {
		.brick = BRICK_QKV_PROJECTION, .layer = 3, .operation = "MUL_MAT"};
	struct peek p = {0};

	peek_start(&p, RING);
	assert_parent(BRICK_NONE, -1);
	assert_null(brick_launch_owner_set(&owner));
	assert_parent(BRICK_QKV_PROJECTION, 3);
	brick_span phase = brick_begin_layer(BRICK_GRAPH_COMPUTE, -1);
	assert_parent(BRICK_QKV_PROJECTION, 3);
	assert_ptr_equal(brick_launch_owner(), &owner);
	brick_span work = brick_begin_layer(BRICK_RMS_NORM, 1);
	assert_parent(BRICK_RMS_NORM, 1);
	assert_null(brick_launch_owner());
	brick_end(work);
	brick_end(phase);
	assert_ptr_equal(brick_launch_owner_set(NULL), &owner);
	assert_parent(BRICK_NONE, -1);
	peek_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_belongs_to_the_brick_that_is_open_else_to_the_owner),
		cmocka_unit_test(off_and_not_ready),
		cmocka_unit_test(many_are_as_one_by_one),
		cmocka_unit_test(series_are_as_one_by_one),
		cmocka_unit_test(their_statistics_are_right),
		cmocka_unit_test(work_of_its_own),
		cmocka_unit_test(odd_ones_among_them),
		cmocka_unit_test(a_full_ring_drops_and_counts),
		cmocka_unit_test(some_with_work_of_their_own),
		cmocka_unit_test(lanes_are_made_ready_and_costs_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
