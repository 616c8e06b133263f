/* SPDX-License-Identifier: Apache-2.0 */
/* Nearest rank: the definition for all small counts, large counts without overflow, buckets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/rank.h"

/* The smallest rank that at least `percent` of n values do not exceed. */
static void is_the_definition(void **state)
{
	for (uint64_t n = 1; n < 1000; n++)
		for (unsigned percent = 1; percent < 100; percent++) {
			uint64_t rank = rank_of_percent(n, percent);
			assert_true(rank * 100 >= n * percent);
			assert_true(rank == 1 || (rank - 1) * 100 < n * percent);
		}
	assert_true(rank_of_percent(UINT64_MAX, 50) == UINT64_MAX / 2 + 1);
	assert_int_equal(rank_of_percent(5, 0), 1);
}

static void how_many_it_takes(void **state)
{
	assert_int_equal(rank_needs(50), 1);
	assert_int_equal(rank_needs(95), 20);
	assert_int_equal(rank_needs(99), 100);
	for (unsigned percent = 51; percent < 100; percent++) {
		assert_true(rank_of_percent(rank_needs(percent), percent) < rank_needs(percent));
		assert_true(rank_of_percent(rank_needs(percent) - 1, percent) ==
			    rank_needs(percent) - 1);
	}
}

static void buckets(void **state)
{
	const uint64_t counts[] = {0, 3, 0, 2, 0};

	assert_int_equal(rank_bucket(counts, 5, 1), 1);
	assert_int_equal(rank_bucket(counts, 5, 3), 1);
	assert_int_equal(rank_bucket(counts, 5, 4), 3);
	assert_int_equal(rank_bucket(counts, 5, 5), 3);
	assert_int_equal(rank_bucket(counts, 5, 6), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_the_definition),
		cmocka_unit_test(how_many_it_takes),
		cmocka_unit_test(buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
