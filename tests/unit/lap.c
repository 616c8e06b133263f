/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Laps: bricks back to back, with one reading of the clock where one ends and the next begins. They
 * leave what an end and a begin leave, without a gap, also where something is unusual.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/unit/peek.h"

static uint64_t end_of(const struct brick_record *r)
{
	return r->kind == BRICK_RECORD_CLOSE ? r->begin : r->begin + r->ticks;
}

static void laps_have_no_gap(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_layer_set(3);
	brick_span span = brick_begin(1);
	brick_span next = brick_lap(span, 2);
	assert_int_equal(next, span);
	brick_layer_set(4);
	span = brick_lap_work(next, 10, 20, 30, 5);
	int site = brick_site_register(&(struct brick_site){
		.size = sizeof(struct brick_site),
		.brick = 5,
		.layer = 4,
		.flags = BRICK_SITE_HAS_ELEMENTS,
		.elements = 7,
	});
	span = brick_lap_site(span, (uint32_t)site, 6);
	brick_end(span);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	static const uint8_t kinds[] = {BRICK_RECORD_THREAD, BRICK_RECORD_SAMPLE,
		BRICK_RECORD_SAMPLE, BRICK_RECORD_WORK, BRICK_RECORD_SAMPLE, BRICK_RECORD_SAMPLE};
	assert_int_equal(lane->head, sizeof kinds);
	for (unsigned i = 0; i < sizeof kinds; i++)
		assert_int_equal(peek_record(lane, i)->kind, kinds[i]);
	static const uint8_t at[] = {1, 2, 4, 5}, bricks[] = {1, 2, 5, 6}, layers[] = {3, 3, 4, 4};
	for (unsigned i = 0; i < 4; i++) {
		struct brick_record *r = peek_record(lane, at[i]);
		assert_int_equal(r->brick, bricks[i]);
		assert_int_equal(r->layer, layers[i]);
		assert_int_equal(lane->stats[r->brick].count, 1);
		assert_int_equal(lane->stats[r->brick].total, r->ticks);
		if (i)
			assert_int_equal(r->begin, end_of(peek_record(lane, at[i - 1])));
	}
	assert_int_equal(lane->stats[2].flops, 30);
	assert_int_equal(lane->stats[5].elements, 7);
	assert_int_equal(lane->depth, 0);
	peek_stop(&p);
}

static void laps_inside_and_around_others(void **state)
{
	static const uint8_t kinds[] = {BRICK_RECORD_THREAD, BRICK_RECORD_OPEN, BRICK_RECORD_SAMPLE,
		BRICK_RECORD_OPEN, BRICK_RECORD_SAMPLE, BRICK_RECORD_CLOSE, BRICK_RECORD_SAMPLE,
		BRICK_RECORD_CLOSE};
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_span outer = brick_begin(1), span = brick_begin(2);
	span = brick_lap(span, 3);
	brick_end(brick_begin(4)); /* the lap's brick holds another */
	span = brick_lap(span, 5);
	brick_end(span);
	brick_end(outer);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	struct brick_stat *s = lane->stats;
	assert_int_equal(lane->head, sizeof kinds);
	for (unsigned i = 0; i < sizeof kinds; i++)
		assert_int_equal(peek_record(lane, i)->kind, kinds[i]);
	assert_int_equal(peek_record(lane, 3)->begin, end_of(peek_record(lane, 2)));
	assert_int_equal(peek_record(lane, 6)->begin, end_of(peek_record(lane, 5)));
	assert_int_equal(s[3].self, s[3].total - s[4].total);
	assert_int_equal(s[1].self, s[1].total - s[2].total - s[3].total - s[5].total);
	peek_stop(&p);
}

static void unusual_laps(void **state)
{
	struct peek p = {0};
	struct brick_losses losses = BRICK_LOSSES_INIT;

	assert_int_equal(brick_lap(0, 1), 0); /* off */
	peek_start(&p, 1024);
	brick_span span = brick_lap(0, 1); /* nothing to end: begins */
	assert_int_not_equal(span, 0);
	brick_pause();
	assert_int_equal(brick_lap(span, 2), 0); /* ends, and begins nothing */
	brick_resume();
	span = brick_begin(2);
	brick_begin(3);
	span = brick_lap(span, 4); /* what is open inside is closed with it */
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.unmatched, 1);
	assert_int_equal(brick_lap(span, BRICK_MAX_BRICKS), 0); /* no such brick */
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.unmatched, 2);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	for (unsigned i = 1; i <= 4; i++)
		assert_int_equal(lane->stats[i].count, 1);
	assert_int_equal(lane->depth, 0);
	peek_stop(&p);
}

static void laps_in_a_full_ring(void **state)
{
	enum { LAPS = 5000 };
	struct peek p = {0};
	struct brick_losses losses = BRICK_LOSSES_INIT;

	peek_start(&p, 1024);
	brick_span span = brick_begin(1);
	for (int i = 1; i < LAPS; i++)
		span = brick_lap_work(span, 1, 0, 0, 1);
	brick_end(span);
	assert_int_equal(brick_losses_get(&losses), 0);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(lane->stats[1].count, LAPS);
	assert_int_equal(lane->stats[1].elements, LAPS - 1);
	assert_int_equal(lane->head - 1 + losses.dropped, LAPS);
	peek_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(laps_have_no_gap),
		cmocka_unit_test(laps_inside_and_around_others),
		cmocka_unit_test(unusual_laps),
		cmocka_unit_test(laps_in_a_full_ring),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
