/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the deviation that brick_stats_get() tells is within what it says of itself, and is
 * not told where the histogram cannot know it.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "brick/brick.h"

/* Executions of `ticks` and of `ticks` + 2 * spread, by halves: their deviation is the spread. */
static double deviation_of(uint64_t ticks, uint64_t spread)
{
	struct brick_stats stats = BRICK_STATS_INIT;
	struct brick_sample sample = {
		.brick = BRICK_RMS_NORM, .layer = -1, .source = BRICK_SOURCE_TSC};

	assert_int_equal(brick_session_start(NULL), 0);
	uint64_t at = brick_ticks();
	for (uint64_t i = 0; i < 1000; i++) {
		sample.begin = at;
		sample.end = at += ticks + i % 2 * 2 * spread;
		brick_record_sample(&sample);
	}
	assert_int_equal(brick_stats_get(BRICK_RMS_NORM, &stats), 0);
	assert_int_equal(stats.count, 1000);
	assert_int_equal(brick_session_stop(), 0);
	const struct brick_clock *clock = brick_clock_get();
	return ldexp(stats.stddev_ns / (double)clock->mult, (int)clock->shift);
}

static void the_deviation_is_right_or_not_known(void **state)
{
	(void)state;
	/* what the buckets cannot tell is not told */
	for (uint64_t ticks = 10000; ticks < 10400; ticks += 7)
		assert_true(deviation_of(ticks, ticks / 1000) == 0);
	for (uint64_t ticks = 10000; ticks < 10400; ticks += 7)
		for (uint64_t spread = ticks / 30; spread < ticks; spread += ticks / 5) {
			double off = deviation_of(ticks, spread) - (double)spread;
			double length =
				sqrt(pow((double)(ticks + spread), 2) + pow((double)spread, 2));
			assert_true(fabs(off) <= length / 128 + 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_deviation_is_right_or_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
