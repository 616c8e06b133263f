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
#include "analysis/compare/permutation.h"
#include "analysis/accounts/statistics.h"

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
	static const double turns[] = {1, -1, 1, -1, 1, -1}, slope[] = {1, 2, 3, 4, 5, 6, 7, 8};
	(void)state;

	assert_true(statistics_median(values, 4) == 2.5);
	assert_true(statistics_median(values, 3) == 2);
	assert_true(fabs(statistics_autocorrelation(turns, 6) + 5.0 / 6) < 1e-9);
	assert_true(statistics_autocorrelation(slope, 8) > 0.6);
	assert_true(statistics_autocorrelation(slope, 1) == 0);
	assert_true(permutation_labellings(4, 4) == 70);
	assert_true(permutation_labellings(10, 10) == 184756);
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

static double student(const double *v, unsigned in_a, int n)
{
	double mean[2] = {0, 0}, squares = 0, count[2] = {0, 0};

	for (int i = 0; i < n; i++) {
		mean[in_a >> i & 1] += v[i];
		count[in_a >> i & 1]++;
	}
	for (int i = 0; i < n; i++) {
		double by = v[i] - mean[in_a >> i & 1] / count[in_a >> i & 1];
		squares += by * by;
	}
	return fabs(mean[1] / count[1] - mean[0] / count[0]) /
	       sqrt(squares / (n - 2) * (1 / count[0] + 1 / count[1]));
}

/* Step-down by definition: the greater of own and later ones, for all 70 labellings. */
static void family_by_definition(void **state)
{
	static const double v[3][8] = {{1, 2, 1.5, 2.5, 7, 8, 7.5, 9}, {5, 1, 4, 2, 3, 6, 7, 1},
		{1, 3, 2, 4, 3.5, 2.5, 5, 4.5}};
	const struct permutation_family family = {&v[0][0], 3, 8, 4, false, NULL};
	static const int order[] = {0, 2, 1}; /* by t of what was found */
	double p[3], critical, expected = 0;
	(void)state;

	assert_int_equal(permutation_test(&family, 0.05, p, &critical), 0);
	for (int k = 0; k < 3; k++) {
		int reached = 0, all = 0;
		double found = student(v[order[k]], 0x0f, 8);
		for (unsigned in_a = 0; in_a < 256; in_a++) {
			if (__builtin_popcount(in_a) != 4)
				continue;
			double highest = 0;
			for (int later = k; later < 3; later++)
				highest = fmax(highest, student(v[order[later]], in_a, 8));
			reached += highest >= found - 1e-9;
			all++;
		}
		assert_int_equal(all, 70);
		expected = fmax(expected, reached / 70.0);
		assert_true(fabs(p[order[k]] - expected) < 1e-9);
	}
	assert_true(fabs(p[0] - 2 / 70.0) < 1e-9);
	assert_true(critical > 2.447); /* of one measure, by the table of t */
}

/* Two measures that are one say no less than one; neither do signs of pairs. */
static void family_of_pairs(void **state)
{
	static const double d[2][6] = {{1, 2, 3, 4, 5, 6}, {2, 4, 6, 8, 10, 12}};
	const double widen[] = {1, 4};
	struct permutation_family family = {&d[0][0], 2, 6, 6, true, NULL};
	double p[2], critical;
	(void)state;

	assert_int_equal(permutation_test(&family, 0.05, p, &critical), 0);
	assert_true(p[0] == 2 / 64.0 && p[1] == 2 / 64.0);
	family.widen = widen;
	assert_int_equal(permutation_test(&family, 0.05, p, &critical), 0);
	assert_true(p[0] == 2 / 64.0 && p[1] > 0.25);
	family.blocks = 4; /* 16 labellings: none is rare enough */
	assert_int_equal(permutation_test(&family, 0.05, p, &critical), 0);
	assert_true(isinf(critical));
}

/* Beyond 20000 labellings: random ones, the same each time. */
static void family_of_many(void **state)
{
	double v[2][24], p[2], again[2], critical;
	const struct permutation_family family = {&v[0][0], 2, 24, 12, false, NULL};
	(void)state;

	for (int i = 0; i < 24; i++) {
		v[0][i] = (i * 7 % 24) + (i >= 12 ? 30 : 0);
		v[1][i] = i * 7 % 24;
	}
	assert_int_equal(permutation_test(&family, 0.05, p, &critical), 0);
	assert_int_equal(permutation_test(&family, 0.05, again, &critical), 0);
	assert_true(p[0] == again[0] && p[1] == again[1]);
	assert_true(p[0] == 1 / 20000.0 && p[1] > 0.5);
}

/* Mean, sigma and outliers of a few numbers, by hand. */
static void spread_by_hand(void **state)
{
	struct statistics_spread spread;
	double values[] = {7, 1, 4, 4, 4, 4, 4};
	double far[] = {10, 11, 12, 11, 10, 90, 12};
	(void)state;

	assert_int_equal(statistics_spread(&spread, values, 7), 0);
	assert_true(spread.mean == 4 && spread.median == 4 && spread.min == 1 && spread.max == 7);
	assert_true(fabs(spread.sigma - sqrt(3)) < 1e-12);
	assert_int_equal(spread.outliers, 0); /* most are alike: no distance is usual */
	assert_int_equal(statistics_spread(&spread, far, 7), 0);
	assert_int_equal(spread.outliers, 1);
	assert_int_equal(statistics_spread(&spread, far, 1), 0);
	assert_true(spread.mean == 10 && isnan(spread.sigma));
	assert_int_equal(statistics_spread(&spread, far, 0), 0);
	assert_true(isnan(spread.mean) && isnan(spread.min) && spread.count == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_of_tables),
		cmocka_unit_test(bounds_of_many),
		cmocka_unit_test(bounds_of_t),
		cmocka_unit_test(shift_by_hand),
		cmocka_unit_test(small_things),
		cmocka_unit_test(family_by_definition),
		cmocka_unit_test(family_of_pairs),
		cmocka_unit_test(family_of_many),
		cmocka_unit_test(spread_by_hand),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
