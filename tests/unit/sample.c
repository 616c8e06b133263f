/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that are timed elsewhere, long ones, bricks around a scope; and what stops and starts
 * between begin and end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/unit/peek.h"

static void sample_timed_elsewhere(void **state)
{
	struct peek p = {0};
	struct brick_site site = {.size = sizeof(struct brick_site),
		.brick = BRICK_LM_HEAD,
		.layer = 3,
		.elements = 10,
		.bytes = 20,
		.flops = 30,
		.flags = 7};

	peek_start(&p, 1024);
	int index = brick_site_register(&site);
	brick_span outer = brick_begin(BRICK_DECODE);
	uint64_t now = brick_ticks();
	struct brick_sample sample = {.begin = now - 1000,
		.end = now - 200,
		.wait = 150,
		.inner = 100,
		.site = (uint32_t)index,
		.source = BRICK_SOURCE_TSC};
	brick_record_sample(&sample);
	sample.end = sample.begin - 1; /* a clock that jumped back */
	brick_record_sample(&sample);
	brick_end(outer);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	struct brick_stat *stat = &lane->stats[BRICK_LM_HEAD];
	assert_int_equal(stat->count, 2);
	assert_int_equal(stat->total, 800);
	assert_int_equal(stat->self, 700);
	assert_int_equal(stat->elements, 20);
	assert_int_equal(stat->bytes, 40);
	assert_int_equal(stat->flops, 60);
	assert_int_equal(lane->ledger.clamped, 1);
	assert_int_equal(lane->stats[BRICK_BARRIER_WAIT].total, 150 + 100 + 150);
	struct brick_record *r = peek_record(lane, 2);
	assert_int_equal(r->kind, BRICK_RECORD_SAMPLE);
	assert_int_equal(r->ticks, 800);
	assert_int_equal(r->wait, 150);
	assert_int_equal(r->inner, 100);
	assert_int_equal(r->site, index);
	assert_int_equal(r->layer, 3);
	peek_stop(&p);
}

static void long_sample(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_end(brick_begin(1));
	uint64_t now = brick_ticks();
	struct brick_sample sample = {.begin = now,
		.end = now + (5ull << 32),
		.wait = 6ull << 32,
		.brick = 2,
		.layer = -1,
		.source = BRICK_SOURCE_TSC,
		.elements = 9};
	brick_record_sample(&sample);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(peek_record(lane, 2)->kind, BRICK_RECORD_OPEN);
	assert_int_equal(peek_record(lane, 3)->kind, BRICK_RECORD_CLOSE);
	assert_int_equal(peek_record(lane, 3)->begin - peek_record(lane, 2)->begin, 5ull << 32);
	assert_int_equal(peek_record(lane, 3)->elements, 9);
	assert_int_equal(peek_record(lane, 4)->kind, BRICK_RECORD_WAIT);
	assert_int_equal(peek_record(lane, 4)->elements, 6ull << 32);
	assert_int_equal(lane->stats[2].total, 5ull << 32);
	peek_stop(&p);
}

static void scope_and_timed(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	{
		BRICK_SCOPE(7);
		BRICK_SCOPE(8);
	}
	int value = BRICK_TIMED(6, 40 + 2);
	assert_int_equal(value, 42);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	for (int i = 6; i <= 8; i++)
		assert_int_equal(lane->stats[i].count, 1);
	assert_true(lane->stats[7].total >= lane->stats[8].total);
	peek_stop(&p);
}

static void pause_and_resume(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_span across = brick_begin(1);
	brick_pause();
	assert_false(brick_enabled());
	brick_end(brick_begin(2));
	brick_end(across); /* begun while on: ends all the same */
	brick_resume();
	brick_span again = brick_begin(3);
	brick_end(again);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(lane->stats[1].count, 1);
	assert_int_equal(lane->stats[2].count, 0);
	assert_int_equal(lane->stats[3].count, 1);
	assert_int_equal(lane->ledger.unmatched, 0);
	peek_stop(&p);
}

/* A brick begun in one session and ended in the next belongs to neither. */
static void span_of_old_session(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_span old = brick_begin(1);
	peek_stop(&p);
	brick_end(old);
	peek_start(&p, 1024);
	brick_span young = brick_begin(2);
	brick_end(old);
	brick_end(young);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(lane->stats[1].count, 0);
	assert_int_equal(lane->stats[2].count, 1);
	assert_int_equal(lane->ledger.unmatched, 1);
	peek_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_timed_elsewhere),
		cmocka_unit_test(long_sample),
		cmocka_unit_test(scope_and_timed),
		cmocka_unit_test(pause_and_resume),
		cmocka_unit_test(span_of_old_session),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
