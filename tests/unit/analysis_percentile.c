/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percentiles: nearest rank, of values and of histograms, and unknown when there are too few; of
 * times that were not all watched to their ends by Kaplan and Meier.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/accounts/percentile.h"
#include "analysis/accounts/unknown.h"
#include "brick/abi/session.h"

static void nearest_rank(void **state)
{
	uint64_t values[100];
	for (uint64_t i = 0; i < 100; i++)
		values[i] = (i * 37) % 100 + 1; /* 1 to 100, mixed */
	percentile_sort(values, 100);
	assert_int_equal(values[0], 1);
	assert_int_equal(values[99], 100);
	assert_int_equal(percentile_sorted(values, 100, 50), 50);
	assert_int_equal(percentile_sorted(values, 100, 95), 95);
	assert_int_equal(percentile_sorted(values, 100, 99), 99);
	assert_int_equal(percentile_sorted(values, 3, 50), 2);
	assert_int_equal(percentile_sorted(values, 1, 50), 1);
}

static void too_few(void **state)
{
	uint64_t values[100] = {0};
	assert_int_equal(percentile_needs(50), 1);
	assert_int_equal(percentile_needs(95), 20);
	assert_int_equal(percentile_needs(99), 100);
	assert_true(percentile_sorted(values, 0, 50) == ANALYSIS_UNKNOWN);
	assert_true(percentile_sorted(values, 19, 95) == ANALYSIS_UNKNOWN);
	assert_true(percentile_sorted(values, 20, 95) != ANALYSIS_UNKNOWN);
	assert_true(percentile_sorted(values, 99, 99) == ANALYSIS_UNKNOWN);
	assert_true(percentile_sorted(values, 100, 99) != ANALYSIS_UNKNOWN);
}

/* A histogram says what the values it was made from say, within the width of a bucket. */
static void histogram_agrees(void **state)
{
	enum { N = 5000 };
	static const unsigned percents[] = {50, 95, 99};
	uint64_t *buckets = calloc(BRICK_HISTOGRAM_BUCKETS, sizeof(*buckets));
	uint64_t *values = calloc(N, sizeof(*values));
	uint64_t x = 12345;
	for (int round = 0; round < 4; round++) {
		memset(buckets, 0, BRICK_HISTOGRAM_BUCKETS * sizeof(*buckets));
		for (int i = 0; i < N; i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			values[i] = (x >> 33) % 1000 << (round * 8) | (x >> 20) % (1u << round * 8);
			buckets[brick_histogram_index(values[i])]++;
		}
		percentile_sort(values, N);
		for (int k = 0; k < 3; k++) {
			double exact = (double)percentile_sorted(values, N, percents[k]);
			double rough = (double)percentile_histogram(buckets, percents[k]);
			assert_true(rough >= exact * 0.992 - 1 && rough <= exact * 1.008 + 1);
		}
	}
	memset(buckets, 0, BRICK_HISTOGRAM_BUCKETS * sizeof(*buckets));
	buckets[17] = 19;
	assert_int_equal(percentile_histogram(buckets, 50), 17);
	assert_true(percentile_histogram(buckets, 95) == ANALYSIS_UNKNOWN);
	free(values);
	free(buckets);
}

/*
 * Weeks to relapse under 6-mercaptopurine (Freireich and others, 1963; in every textbook), some
 * patients not watched to theirs. Their share without one after 6 weeks is 0.857, then 0.807 at 7,
 * 0.753 at 10, 0.690 at 13, 0.627 at 16, 0.538 at 22 and 0.448 at 23.
 */
static void textbook(void **state)
{
	struct percentile_time t[] = {{35, 1}, {34, 1}, {32, 1}, {32, 1}, {25, 1}, {23, 0}, {22, 0},
		{20, 1}, {19, 1}, {17, 1}, {16, 0}, {13, 0}, {11, 1}, {10, 1}, {10, 0}, {9, 1},
		{7, 0}, {6, 1}, {6, 0}, {6, 0}, {6, 0}};
	static const uint64_t expected[][2] = {{14, 6}, {15, 7}, {19, 7}, {20, 10}, {24, 10},
		{25, 13}, {30, 13}, {32, 16}, {37, 16}, {38, 22}, {46, 22}, {47, 23}, {50, 23},
		{55, 23}, {56, ANALYSIS_UNKNOWN}};
	enum { N = sizeof(t) / sizeof(t[0]) };
	percentile_sort_times(t, N);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(
			percentile_censored(t, N, (unsigned)expected[i][0]), expected[i][1]);
}

/* Who ends at 5 ends beside all four: 3/4 are left, not 2/3. */
static void ends_come_before_what_is_censored_then(void **state)
{
	struct percentile_time t[] = {{9, 0}, {5, 1}, {7, 0}, {5, 0}};
	percentile_sort_times(t, 4);
	assert_int_equal(percentile_censored(t, 4, 25), 5);
	assert_int_equal(percentile_censored(t, 4, 30), 7);
	assert_int_equal(percentile_censored(t, 4, 62), 7);
}

static void all_or_none_are_censored(void **state)
{
	struct percentile_time t[1000];
	uint64_t values[1000];
	for (unsigned n = 1; n <= 1000; n++) {
		for (unsigned i = 0; i < n; i++) {
			values[i] = (i * 377 + 5) % 611;
			t[i] = (struct percentile_time){values[i], 0};
		}
		percentile_sort(values, n);
		percentile_sort_times(t, n);
		for (unsigned percent = 1; percent < 100; percent++)
			assert_int_equal(percentile_censored(t, n, percent),
				percentile_sorted(values, n, percent));
	}
	for (unsigned i = 0; i < 1000; i++)
		t[i].censored = 1;
	assert_true(percentile_censored(t, 1000, 1) == ANALYSIS_UNKNOWN);
	assert_true(percentile_censored(t, 0, 50) == ANALYSIS_UNKNOWN);
}

/* Of 200 the last 20 were censored but for one, which so carries a tenth: too much for a p95. */
static void one_carries_too_much(void **state)
{
	struct percentile_time t[200];
	for (unsigned i = 0; i < 200; i++)
		t[i] = (struct percentile_time){i + 1, i >= 180 && i != 199};
	assert_int_equal(percentile_censored(t, 200, 50), 100);
	assert_int_equal(percentile_censored(t, 200, 90), 180);
	assert_true(percentile_censored(t, 200, 95) == ANALYSIS_UNKNOWN);
	assert_true(percentile_censored(t, 200, 99) == ANALYSIS_UNKNOWN);
}

static double exponential(uint64_t *seed, double mean)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return -mean * log(((double)(*seed >> 33) + 1) / 2147483649.0);
}

/*
 * Steps of 1 ms and an exponential tail of 1 ms, interrupted after 4 ms in the mean: without any
 * interruption the p99 is that of all of them. Those that came through are the shorter ones.
 */
static void long_tail_interrupted(void **state)
{
	enum { N = 100000 };
	struct percentile_time *seen = calloc(N, sizeof(*seen));
	uint64_t *all = calloc(N, sizeof(*all)), *through = calloc(N, sizeof(*through)), seed = 7;
	size_t n = 0;
	for (size_t i = 0; i < N; i++) {
		uint64_t until = (uint64_t)exponential(&seed, 4e6);
		all[i] = 1000000 + (uint64_t)exponential(&seed, 1e6);
		seen[i].censored = until < all[i];
		seen[i].ns = seen[i].censored ? until : all[i];
		if (!seen[i].censored)
			through[n++] = all[i];
	}
	percentile_sort(all, N);
	percentile_sort(through, n);
	percentile_sort_times(seen, N);
	for (unsigned percent = 50; percent <= 99; percent += 49) {
		double truth = (double)percentile_sorted(all, N, percent);
		double found = (double)percentile_censored(seen, N, percent);
		assert_true(fabs(found / truth - 1) < 0.025);
	}
	assert_true((double)percentile_sorted(through, n, 99) <
		    0.87 * (double)percentile_sorted(all, N, 99));
	free(all);
	free(through);
	free(seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest_rank),
		cmocka_unit_test(too_few),
		cmocka_unit_test(histogram_agrees),
		cmocka_unit_test(textbook),
		cmocka_unit_test(ends_come_before_what_is_censored_then),
		cmocka_unit_test(all_or_none_are_censored),
		cmocka_unit_test(one_carries_too_much),
		cmocka_unit_test(long_tail_interrupted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
