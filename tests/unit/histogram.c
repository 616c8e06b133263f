/* SPDX-License-Identifier: Apache-2.0 */
/* The log-linear histogram: every value in a bucket whose middle is within 1 %, in order, no gaps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "brick/brick.h"

static void check(uint64_t value)
{
	uint32_t index = brick_histogram_index(value);
	uint64_t middle = brick_histogram_value(index);
	uint64_t off = middle > value ? middle - value : value - middle;

	assert_true(index < BRICK_HISTOGRAM_BUCKETS);
	assert_true(off * 100 <= value);
}

static void within_one_percent(void **state)
{
	uint64_t random = 1;

	for (uint64_t value = 0; value < 300000; value++)
		check(value);
	for (int i = 0; i < 1000000; i++) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		check(random >> (20 + random % 40));
	}
}

static void ordered(void **state)
{
	uint32_t last = 0;

	for (uint64_t value = 1; value < 1ull << 44; value += 1 + value / 200) {
		uint32_t index = brick_histogram_index(value);
		assert_true(index == last || index == last + 1);
		last = index;
	}
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		assert_int_equal(brick_histogram_index(brick_histogram_value(i)), i);
}

static void bounds(void **state)
{
	assert_int_equal(brick_histogram_index(0), 0);
	assert_int_equal(brick_histogram_index((1ull << 44) - 1), BRICK_HISTOGRAM_BUCKETS - 1);
	assert_int_equal(brick_histogram_index(1ull << 44), BRICK_HISTOGRAM_BUCKETS - 1);
	assert_int_equal(brick_histogram_index(UINT64_MAX), BRICK_HISTOGRAM_BUCKETS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_one_percent),
		cmocka_unit_test(ordered),
		cmocka_unit_test(bounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
