/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe, seen through the session file: what records a nest of bricks makes, self and total
 * times, recursion, ends that do not match, a full ring.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/unit/peek.h"

static void spin_ticks(uint64_t ticks)
{
	uint64_t end = brick_ticks() + ticks;
	while (brick_ticks() < end)
		;
}

static void off_does_nothing(void **state)
{
	assert_false(brick_enabled());
	assert_int_equal(brick_begin(BRICK_RMS_NORM), 0);
	brick_end(0);
	struct brick_stats stats = BRICK_STATS_INIT;
	assert_int_equal(brick_stats_get(BRICK_RMS_NORM, &stats), -2 /* ENOENT */);
}

static void traffic_is_kept_by_direction(void **state)
{
	struct peek p = {0};
	struct brick_stats stats = BRICK_STATS_INIT;

	peek_start(&p, 1024);
	brick_end_traffic(brick_begin(BRICK_FORMAT_CONVERT), 10, 400, 100, 7);
	brick_end_traffic(brick_begin(BRICK_FORMAT_CONVERT), 10, 200, 50, 7);
	assert_int_equal(brick_stats_get(BRICK_FORMAT_CONVERT, &stats), 0);
	assert_int_equal(stats.bytes, 600);
	assert_int_equal(stats.bytes_out, 150);
	assert_int_equal(stats.elements, 20);
	peek_map(&p);
	const struct brick_record *work = peek_record(peek_lane(&p, 0), 2);
	assert_int_equal(work->kind, BRICK_RECORD_WORK);
	assert_int_equal(work->begin, 500);
	peek_stop(&p);
}

/* Of the whole statistics: the shortest, the longest, and what lies between. */
static void lengths_have_ends(void **state)
{
	struct brick_stats stats = BRICK_STATS_INIT;
	uint64_t ns[2];

	assert_int_equal(brick_session_start(NULL), 0);
	for (int i = 0; i < 2; i++) {
		brick_span span = brick_begin(BRICK_RMS_NORM);
		spin_ticks(i ? 1000000 : 1000);
		ns[i] = brick_end_ns(span, 0);
	}
	assert_int_equal(brick_stats_get(BRICK_RMS_NORM, &stats), 0);
	/* the first may be longer all the same: its thread lost its CPU */
	assert_int_equal(stats.min_ns, ns[0] < ns[1] ? ns[0] : ns[1]);
	assert_int_equal(stats.max_ns, ns[0] < ns[1] ? ns[1] : ns[0]);
	assert_true(stats.total_ns + 1 >= ns[0] + ns[1] && stats.total_ns <= ns[0] + ns[1] + 1);
	assert_int_equal(brick_session_stop(), 0);
}

static void leaf_is_one_sample(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_span span = brick_begin_layer(BRICK_RMS_NORM, 5);
	spin_ticks(1000);
	brick_end_elements(span, 4096);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(lane->head, 2);
	assert_int_equal(peek_record(lane, 0)->kind, BRICK_RECORD_THREAD);
	struct brick_record *r = peek_record(lane, 1);
	assert_int_equal(r->kind, BRICK_RECORD_SAMPLE);
	assert_int_equal(r->source, BRICK_SOURCE_TSC);
	assert_int_equal(r->brick, BRICK_RMS_NORM);
	assert_int_equal(r->layer, 5);
	assert_int_equal(r->flags, BRICK_FLAG_ELEMENTS);
	assert_int_equal(r->elements, 4096);
	assert_int_equal(r->wait, 0);
	assert_true(r->ticks >= 1000);
	struct brick_stat *stat = &lane->stats[BRICK_RMS_NORM];
	assert_int_equal(stat->count, 1);
	assert_int_equal(stat->total, r->ticks);
	assert_int_equal(stat->self, r->ticks);
	assert_int_equal(stat->min, r->ticks);
	assert_int_equal(stat->max, r->ticks);
	assert_int_equal(stat->elements, 4096);
	peek_stop(&p);
}

static void nest_is_open_and_close(void **state)
{
	static const uint8_t kinds[] = {BRICK_RECORD_THREAD, BRICK_RECORD_OPEN, BRICK_RECORD_OPEN,
		BRICK_RECORD_SAMPLE, BRICK_RECORD_CLOSE, BRICK_RECORD_SAMPLE, BRICK_RECORD_CLOSE};
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_span outer = brick_begin(1), middle = brick_begin(2), inner = brick_begin(3);
	spin_ticks(3000);
	brick_end(inner);
	spin_ticks(2000);
	brick_end_work(middle, 1, 2, 3); /* with work: a WORK record follows */
	inner = brick_begin(4);
	brick_end(inner);
	brick_end(outer);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	uint64_t at = 0, last = 0;
	for (size_t i = 0; i < sizeof kinds; i++, at++) {
		if (peek_record(lane, at)->kind == BRICK_RECORD_WORK) {
			assert_int_equal(peek_record(lane, at)->begin, 2);
			assert_int_equal(peek_record(lane, at)->elements, 3);
			at++;
		}
		assert_int_equal(peek_record(lane, at)->kind, kinds[i]);
		assert_true(peek_record(lane, at)->begin >= last);
		last = peek_record(lane, at)->begin;
	}
	assert_int_equal(lane->head, at);
	assert_int_equal(lane->depth, 0);
	struct brick_stat *s = lane->stats;
	assert_int_equal(s[1].self, s[1].total - s[2].total - s[4].total);
	assert_int_equal(s[2].self, s[2].total - s[3].total);
	assert_int_equal(s[1].self + s[2].self + s[3].self + s[4].self, s[1].total);
	assert_true(s[2].self >= 2000);
	assert_int_equal(s[2].bytes, 2);
	peek_stop(&p);
}

static void recurse(int depth)
{
	brick_span span = brick_begin(9);

	spin_ticks(500);
	if (depth > 1)
		recurse(depth - 1);
	brick_end(span);
}

static void recursion_counts_once(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	uint64_t begin = brick_ticks();
	recurse(10);
	uint64_t span = brick_ticks() - begin;
	peek_map(&p);
	struct brick_stat *stat = &peek_lane(&p, 0)->stats[9];
	assert_int_equal(stat->count, 10);
	assert_true(stat->total <= span);
	assert_true(stat->total >= 5000);
	assert_int_equal(stat->self, stat->total); /* all time inside is its own */
	assert_true(stat->nested >= 500 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9));
	assert_int_equal(stat->max, stat->total);
	peek_stop(&p);
}

static void outer_end_closes_inner(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_span outer = brick_begin(1);
	brick_span inner = brick_begin(2);
	brick_begin(3);
	brick_end(outer);
	brick_end(inner); /* too late: counted, nothing else */
	brick_end(outer);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(lane->depth, 0);
	assert_int_equal(lane->ledger.unmatched, 4);
	for (int i = 1; i <= 3; i++)
		assert_int_equal(lane->stats[i].count, 1);
	brick_end(brick_begin(4)); /* and goes on as if nothing had been */
	peek_lane(&p, 0);
	assert_int_equal(lane->stats[4].count, 1);
	peek_stop(&p);
}

static void too_deep_is_counted(void **state)
{
	struct peek p = {0};
	brick_span spans[BRICK_MAX_DEPTH + 10];

	peek_start(&p, 4096);
	for (int i = 0; i < BRICK_MAX_DEPTH + 10; i++)
		spans[i] = brick_begin(1);
	for (int i = BRICK_MAX_DEPTH + 9; i >= 0; i--)
		brick_end(spans[i]);
	brick_begin(5000);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(lane->ledger.too_deep, 10);
	assert_int_equal(lane->ledger.unmatched, 1);
	assert_int_equal(lane->stats[1].count, BRICK_MAX_DEPTH);
	assert_int_equal(lane->depth, 0);
	peek_stop(&p);
}

/* Statistics and histogram stay exact when the ring is full; opened bricks still get their CLOSE.
 */
static void full_ring(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_span outer = brick_begin(1);
	for (int i = 0; i < 5000; i++)
		brick_end(brick_begin(2));
	brick_end(outer);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(lane->stats[2].count, 5000);
	uint64_t samples = 0, opens = 0, closes = 0, kept = 0;
	for (uint64_t i = 0; i < lane->head; i++) {
		samples += peek_record(lane, i)->kind == BRICK_RECORD_SAMPLE;
		opens += peek_record(lane, i)->kind == BRICK_RECORD_OPEN;
		closes += peek_record(lane, i)->kind == BRICK_RECORD_CLOSE;
	}
	assert_true(lane->head <= lane->capacity);
	assert_int_equal(opens, 1);
	assert_int_equal(closes, 1);
	assert_int_equal(lane->ledger.dropped, 5000 - samples);
	uint32_t *row =
		(uint32_t *)((char *)lane + lane->histogram_offset) + 2 * BRICK_HISTOGRAM_BUCKETS;
	for (int i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		kept += row[i];
	assert_int_equal(kept, 5000 - samples);
	peek_stop(&p);
}

/* An OPEN that found no room takes its CLOSE with it. */
static void dropped_open(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	for (int i = 0; i < 1024; i++)
		brick_end(brick_begin(2));
	brick_span outer = brick_begin(1), inner = brick_begin(3);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	lane->tail = lane->head; /* the consumer comes by */
	brick_end(inner);
	brick_end(outer);
	uint64_t depth = 0;
	for (uint64_t i = lane->tail; i < lane->head; i++) {
		depth += peek_record(lane, i)->kind == BRICK_RECORD_OPEN;
		assert_true(depth > 0 || peek_record(lane, i)->kind != BRICK_RECORD_CLOSE);
	}
	assert_int_equal(lane->stats[1].count, 1);
	peek_stop(&p);
}

static void step_carries_tokens(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_span step = brick_step_begin(BRICK_PHASE_PREFILL, 256);
	brick_end(step);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(peek_record(lane, 1)->kind, BRICK_RECORD_OPEN);
	assert_int_equal(peek_record(lane, 1)->brick, BRICK_PREFILL);
	assert_int_equal(peek_record(lane, 1)->elements, 256);
	assert_int_equal(lane->stats[BRICK_PREFILL].elements, 256);
	peek_stop(&p);
}

static void mixed_steps_carry_both(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_end(brick_step_begin_mixed(20, 3));
	brick_end(brick_step_begin_mixed(20, 0));
	brick_end(brick_step_begin_mixed(0, 3));
	brick_end(brick_step_begin(BRICK_PHASE_WARM_UP, 2));
	brick_end(brick_step_begin(BRICK_PHASE_OTHER, 7));
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(peek_record(lane, 1)->brick, BRICK_MIXED);
	assert_true(peek_record(lane, 1)->elements == brick_mixed_tokens(20, 3));
	assert_int_equal(lane->stats[BRICK_MIXED].elements, 23);
	assert_int_equal(lane->stats[BRICK_PREFILL].elements, 20);
	assert_int_equal(lane->stats[BRICK_DECODE].elements, 3);
	assert_int_equal(lane->stats[BRICK_WARM_UP].elements, 2);
	assert_int_equal(lane->stats[BRICK_OTHER_STEP].elements, 7);
	peek_stop(&p);
}

static void *never_ends(void *holds)
{
	brick_begin(BRICK_RMS_NORM);
	if (holds)
		brick_begin(BRICK_SAMPLING);
	return NULL;
}

/* A thread ends inside of bricks: all of them begin in its records, and it leaves them open. */
static void threads_end_inside_of_bricks(void **state)
{
	static const uint8_t kinds[] = {BRICK_RECORD_THREAD, BRICK_RECORD_OPEN, BRICK_RECORD_NAME,
		BRICK_RECORD_THREAD, BRICK_RECORD_THREAD, BRICK_RECORD_OPEN, BRICK_RECORD_OPEN,
		BRICK_RECORD_NAME, BRICK_RECORD_THREAD};
	struct peek p;

	(void)state;
	peek_start(&p, 256);
	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, never_ends, i ? &p : NULL), 0);
		pthread_join(thread, NULL);
	}
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(lane->head, sizeof kinds);
	for (uint32_t i = 0; i < sizeof kinds; i++)
		assert_int_equal(peek_record(lane, i)->kind, kinds[i]);
	assert_int_equal(peek_record(lane, 3)->elements, 0);
	assert_true(peek_record(lane, 8)->begin >= peek_record(lane, 6)->begin);
	assert_int_equal(lane->ledger.unmatched, 0);
	peek_stop(&p);
}

static void *fills_the_ring(void *holds)
{
	for (int i = 0; i < 1024; i++)
		brick_end(brick_begin(BRICK_LM_HEAD));
	return never_ends(holds);
}

/*
 * What found no room for its begin is counted. Who comes and goes is told all the same: the room
 * that ends would take is not needed by what never ends.
 */
static void threads_end_where_nothing_fits(void **state)
{
	static const uint8_t kinds[] = {
		BRICK_RECORD_OPEN, BRICK_RECORD_NAME, BRICK_RECORD_THREAD, BRICK_RECORD_THREAD};
	struct peek p;
	pthread_t thread;

	(void)state;
	peek_start(&p, 1024);
	assert_int_equal(pthread_create(&thread, NULL, fills_the_ring, &p), 0);
	pthread_join(thread, NULL);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	uint64_t full = lane->limit;
	assert_int_equal(lane->ledger.unmatched, 1);
	assert_int_equal(pthread_create(&thread, NULL, never_ends, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(lane->head, full + 7);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(peek_record(lane, full + i)->kind, kinds[i]);
	assert_int_equal(peek_record(lane, full + 2)->elements, 0);
	assert_int_not_equal(peek_record(lane, full + 3)->elements, 0);
	peek_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(off_does_nothing),
		cmocka_unit_test(traffic_is_kept_by_direction),
		cmocka_unit_test(lengths_have_ends),
		cmocka_unit_test(leaf_is_one_sample),
		cmocka_unit_test(nest_is_open_and_close),
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(outer_end_closes_inner),
		cmocka_unit_test(too_deep_is_counted),
		cmocka_unit_test(full_ring),
		cmocka_unit_test(dropped_open),
		cmocka_unit_test(step_carries_tokens),
		cmocka_unit_test(mixed_steps_carry_both),
		cmocka_unit_test(threads_end_inside_of_bricks),
		cmocka_unit_test(threads_end_where_nothing_fits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
