/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank statistics against published tables (critical values of Mann and Whitney's U and of
 * Wilcoxon's signed rank sum, two-sided 5 %), against values worked out by hand, and the test of
 * many measures against one that tries all labellings by itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <cmocka.h>
#include "analysis/statistics/statistics.h"

static void bounds_of_tables(void **state)
{
	static const struct {
		size_t a, b;
		int u;
	} mann_whitney[] = {{3, 3, -1}, {4, 4, 0}, {5, 5, 2}, {6, 6, 5}, {8, 8, 13}, {10, 10, 23},
		{12, 12, 37}, {20, 20, 127}, {5, 10, 8}, {7, 15, 24}, {3, 5, 0}};
	static const int wilcoxon[] = {
		[5] = -1, [6] = 0, [7] = 2, [8] = 3, [9] = 5, [10] = 8, [15] = 25, [20] = 52};
	(void)state;

	for (size_t i = 0; i < sizeof(mann_whitney) / sizeof(*mann_whitney); i++) {
		size_t a = mann_whitney[i].a, b = mann_whitney[i].b;
		assert_int_equal(statistics_rank_sum_bound(a, b, 0.025), mann_whitney[i].u);
		assert_int_equal(statistics_rank_sum_bound(b, a, 0.025), mann_whitney[i].u);
	}
	for (size_t n = 5; n < sizeof(wilcoxon) / sizeof(*wilcoxon); n++)
		if (wilcoxon[n])
			assert_int_equal(statistics_signed_rank_bound(n, 0.025), wilcoxon[n]);
	assert_int_equal(statistics_signed_rank_bound(6, 0.025), 0);
}

/* The approximation goes on where counting ends. */
static void bounds_of_many(void **state)
{
	(void)state;
	int exact = statistics_rank_sum_bound(50, 50, 0.025);
	int beyond = statistics_rank_sum_bound(51, 50, 0.025);
	assert_true(beyond > exact && beyond < exact + 45);
	exact = statistics_signed_rank_bound(60, 0.025);
	beyond = statistics_signed_rank_bound(61, 0.025);
	assert_true(beyond > exact && beyond < exact + 61);
}

/* 4 and 4: 16 differences, of which all are within the bounds (97.1 %). */
static void shift_by_hand(void **state)
{
	static const double a[] = {1, 2, 3, 4}, b[] = {3, 5, 7, 20};
	struct statistics_shift s;
	(void)state;

	assert_int_equal(statistics_shift(&s, a, 4, b, 4, 0.05), 0);
	/* -1 0 1 1 2 2 3 3 4 4 5 6 16 17 18 19 */
	assert_true(s.shift == 3.5 && s.low == -1 && s.high == 19);
	assert_int_equal(statistics_shift(&s, a, 3, b, 3, 0.05), 0);
	assert_true(s.shift == 3 && isinf(s.low) && isinf(s.high) && s.low < s.high);

	static const double d[] = {1, 2, 4, 8, 16, 32};
	/* The median of 21 averages is the 11th: 1 1.5 2 2.5 3 4 4.5 5 6 8 8.5 ... */
	assert_int_equal(statistics_shift_paired(&s, d, 6, 0.05), 0);
	assert_true(s.shift == 8.5 && s.low == 1 && s.high == 32);
	assert_int_equal(statistics_shift_paired(&s, d, 5, 0.05), 0);
	assert_true(isinf(s.low) && isinf(s.high));
}

static void small_things(void **state)
{
	double values[] = {4, 1, 3, 2};
	(void)state;

	assert_true(statistics_median(values, 4) == 2.5);
	assert_true(statistics_median(values, 3) == 2);
}

/* Tables of Student's t, both tails. */
static void bounds_of_t(void **state)
{
	static const struct {
		double tails, t;
		unsigned freedom;
	} rows[] = {{0.05, 12.706, 1}, {0.01, 9.925, 2}, {0.05, 3.182, 3}, {0.01, 4.604, 4},
		{0.05, 2.228, 10}, {0.001, 3.883, 19}, {0.05, 1.984, 100}};
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double t = statistics_t_bound(rows[i].tails, rows[i].freedom);
		assert_true(fabs(t - rows[i].t) < 0.001);
		assert_true(fabs(statistics_t_tails(t, rows[i].freedom) - rows[i].tails) < 1e-9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_of_tables),
		cmocka_unit_test(bounds_of_many),
		cmocka_unit_test(bounds_of_t),
		cmocka_unit_test(shift_by_hand),
		cmocka_unit_test(small_things),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
