/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interval of estimated lengths: 0 where all were measured, unknown with one measured replay,
 * and as wide as copies of the measured ones make it.
 */
#include <math.h>
#include "analysis/accounts/estimated_times.h"
#include "analysis/statistics/statistics.h"
#include "analysis/statistics/unknown.h"
#include "tests/unit/summary_kit.h"

/* Replays of two commands of one kernel; a negative length: estimated. */
static uint64_t error_of(const int *lengths, size_t count)
{
	struct run run;
	struct estimated_times times;
	uint32_t lane = start(&run), queue = builder_queue(&run, 0, 2);
	uint32_t site = builder_site(&run, builder_brick(&run, "Work", "Other"), 0, NULL, NULL);
	uint32_t kernel = builder_kernel(&run, "k", BRICK_KERNEL_COMPUTE, 1);

	for (size_t i = 0; i < count; i++) {
		builder_sample(&run, lane, site, 1000 * i, 1000 * i + 10, 1);
		for (uint64_t k = 0; k < 2; k++) {
			uint64_t begin = 1000 * i + 500 * k;
			builder_sample(
				&run, queue, site, begin, begin + (uint64_t)abs(lengths[i]) / 2, 0)
				->source = lengths[i] < 0 ? BRICK_SOURCE_ESTIMATED
							  : BRICK_SOURCE_DEVICE_ACTIVITY;
			builder_command(&run, queue, kernel, lane, (uint32_t)i, RUN_NONE);
		}
	}
	assert_int_equal(estimated_times_init(&times, &run), 0);
	for (uint32_t i = 0; i < 2 * count; i++) {
		const struct run_sample *s = &run.lanes[queue].samples[i];
		assert_int_equal(
			estimated_times_add(&times, 7, queue, i, s->end_ns - s->begin_ns), 0);
	}
	assert_int_equal(estimated_times_error_ns(&times, 8), 0);
	uint64_t error = estimated_times_error_ns(&times, 7);
	estimated_times_fini(&times);
	run_fini(&run);
	return error;
}

#define ERROR_OF(...) \
	error_of((const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

static void intervals(void **state)
{
	assert_int_equal(ERROR_OF(200, 240, 220), 0);
	assert_true(ERROR_OF(200, -200, -200) == ANALYSIS_UNKNOWN);
	assert_int_equal(ERROR_OF(200, -200, -200, 200, -200), 0);
	/* one copies the first, two the second; they vary by 40 / sqrt(2), and by no drift */
	double sigma = sqrt((40 * 40 + 40 * 40) / 2. / 2);
	double wanted = statistics_t_bound(0.05, 2) * sigma * sqrt(1 + 4 + 3);
	assert_true(fabs((double)ERROR_OF(200, -200, 240, -240, -240, 200) - wanted) <= 1);
	/* brought to other lengths than any that was measured */
	assert_int_equal(ERROR_OF(200, 200, -100, -100), 200);
	/* each of four replays is half a difference of 100 behind */
	assert_true(ERROR_OF(200, -200, -200, 300, -300, -300) >= 4 * 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(intervals)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
