/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles as the library records them (F356-F378): their own switch, nesting, statistics, their
 * place behind the sample, and that the brick around them keeps its time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "brick/brick.h"
#include "tests/unit/peek.h"

static void spin(uint64_t ns)
{
	uint64_t end = brick_clock_ns(brick_clock_get(), brick_ticks()) + ns;

	while (brick_clock_ns(brick_clock_get(), brick_ticks()) < end)
		;
}

static void nothing_is_recorded_while_off(void **state)
{
	struct peek p = {0};
	struct brick_stats stats = BRICK_STATS_INIT;

	peek_start(&p, 1024);
	brick_tiles_set(1u << BRICK_TILE_LEVEL_MICRO);
	struct brick_tile tile = brick_tile_begin(BRICK_TILE_LEVEL_MIDI, 1, 2);
	assert_int_equal(tile.span, 0);
	brick_tile_end(&tile, 1, 2, 3);
	assert_int_equal(brick_tile_stats_get(BRICK_TILE_LEVEL_MIDI, &stats), BRICK_ENOTRECORDED);
	tile = brick_tile_begin(BRICK_TILE_LEVEL_MICRO, 1, 2);
	assert_int_not_equal(tile.span, 0);
	brick_tile_end(&tile, 1, 2, 3);
	assert_int_equal(brick_tile_stats_get(BRICK_TILE_LEVEL_MICRO, &stats), 0);
	assert_int_equal(stats.count, 1);
	brick_tiles_set(0);
	tile = brick_tile_begin(BRICK_TILE_LEVEL_MICRO, 1, 2);
	assert_int_equal(tile.span, 0);
	peek_stop(&p);
}

static void work_and_places_are_kept(void **state)
{
	struct peek p = {0};
	struct brick_stats stats = BRICK_STATS_INIT;
	unsigned places = 0;

	peek_start(&p, 1024);
	brick_tiles_set(1u << BRICK_TILE_LEVEL_MIDI);
	for (uint32_t row = 0; row < 3; row++)
		for (uint32_t column = 0; column < 4; column++) {
			struct brick_tile tile =
				brick_tile_begin(BRICK_TILE_LEVEL_MIDI, row, 70000 + column);
			brick_tile_end(&tile, 16, 100, 1000 + row);
		}
	assert_int_equal(brick_tile_stats_get(BRICK_TILE_LEVEL_MIDI, &stats), 0);
	assert_int_equal(stats.count, 12);
	assert_int_equal(stats.elements, 12 * 16);
	assert_int_equal(stats.bytes, 12 * 100);
	assert_int_equal(stats.flops, 4 * (1000 + 1001 + 1002));
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	const struct brick_record *ring = peek_record(lane, 0);
	for (uint64_t i = 0; i < lane->head; i++) {
		if (ring[i].kind != BRICK_RECORD_TILE)
			continue;
		assert_int_equal(ring[i].begin >> 32, places / 4);
		assert_int_equal((uint32_t)ring[i].begin, 70000 + places % 4);
		assert_int_equal(ring[i].elements, BRICK_TILE_LEVEL_MIDI);
		assert_int_equal(ring[i - 1].kind, BRICK_RECORD_WORK);
		assert_int_equal(ring[i - 2].kind, BRICK_RECORD_SAMPLE);
		places++;
	}
	assert_int_equal(places, 12);
	brick_tiles_set(0);
	peek_stop(&p);
}

/* The self time of a brick is its own although tiles cover all of it; what is nested is not. */
static void the_brick_around_keeps_its_time(void **state)
{
	struct brick_stats outer = BRICK_STATS_INIT, inner = BRICK_STATS_INIT,
			   macro = BRICK_STATS_INIT;

	assert_int_equal(brick_session_start(NULL), 0);
	brick_tiles_set(7);
	brick_span span = brick_begin(BRICK_UP_PROJECTION);
	struct brick_tile big = brick_tile_begin(BRICK_TILE_LEVEL_MACRO, 0, 0);
	struct brick_tile small = brick_tile_begin(BRICK_TILE_LEVEL_MIDI, 0, 0);
	spin(300000);
	brick_span nested = brick_begin(BRICK_FORMAT_CONVERT);
	spin(200000);
	brick_end(nested);
	brick_tile_end(&small, 1, 1, 1);
	brick_tile_end(&big, 1, 1, 1);
	brick_end(span);
	assert_int_equal(brick_stats_get(BRICK_UP_PROJECTION, &outer), 0);
	assert_int_equal(brick_stats_get(BRICK_FORMAT_CONVERT, &inner), 0);
	assert_int_equal(brick_tile_stats_get(BRICK_TILE_LEVEL_MACRO, &macro), 0);
	assert_true(outer.total_ns >= 500000);
	uint64_t sum = outer.self_ns + inner.self_ns;
	assert_true(sum + 20 >= outer.total_ns && sum <= outer.total_ns + 20);
	assert_true(macro.total_ns <= outer.total_ns);
	assert_true(macro.total_ns + 20 >= sum - 50000);
	brick_tiles_set(0);
	assert_int_equal(brick_session_stop(), 0);
}

static void unbalanced_ends_are_counted(void **state)
{
	struct brick_losses losses = BRICK_LOSSES_INIT;

	assert_int_equal(brick_session_start(NULL), 0);
	brick_tiles_set(7);
	struct brick_tile big = brick_tile_begin(BRICK_TILE_LEVEL_MACRO, 0, 0);
	struct brick_tile small = brick_tile_begin(BRICK_TILE_LEVEL_MICRO, 0, 0);
	brick_tile_end(&big, 1, 1, 1);
	brick_tile_end(&small, 1, 1, 1);
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.unmatched, 2);
	brick_tiles_set(0);
	assert_int_equal(brick_session_stop(), 0);
}

static void wrong_levels_are_refused(void **state)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	assert_int_equal(brick_tile_stats_get((enum brick_tile_level)3, &stats), -EINVAL);
	assert_true(sizeof(struct brick_tile) <= 32); /* F108's bound holds for tiles, too */
	brick_tiles_set(7);
	assert_int_equal(brick_tiles_enabled(BRICK_TILE_LEVEL_MICRO), 1);
	assert_int_equal(brick_tiles_enabled((enum brick_tile_level)BRICK_TILE_LEVELS), 0);
	assert_int_equal(brick_tiles_enabled((enum brick_tile_level)32), 0);
	assert_int_equal(brick_tiles_enabled((enum brick_tile_level) - 32), 0);
	brick_tiles_set(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_recorded_while_off),
		cmocka_unit_test(work_and_places_are_kept),
		cmocka_unit_test(the_brick_around_keeps_its_time),
		cmocka_unit_test(unbalanced_ends_are_counted),
		cmocka_unit_test(wrong_levels_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
