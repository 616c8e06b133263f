/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percentiles: nearest rank, of values and of histograms, and unknown when there are too few.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/statistics/percentile.h"
#include "analysis/statistics/unknown.h"
#include "brick/recorded.h"

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
	struct ns_lengths *histogram = NULL;
	struct ticks_lengths *ticks = NULL;
	uint64_t *values = calloc(N, sizeof(*values));
	uint64_t x = 12345;
	for (int round = 0; round < 4; round++) {
		free(histogram);
		histogram = NULL;
		for (int i = 0; i < N; i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			values[i] = (x >> 33) % 1000 << (round * 8) | (x >> 20) % (1u << round * 8);
			assert_true(
				ns_lengths_add(&histogram, brick_histogram_index(values[i]), 1));
		}
		percentile_sort(values, N);
		for (int k = 0; k < 3; k++) {
			double exact = (double)percentile_sorted(values, N, percents[k]);
			double rough = (double)percentile_of_ns(histogram, percents[k]);
			assert_true(rough >= exact * 0.992 - 1 && rough <= exact * 1.008 + 1);
		}
	}
	free(histogram);
	histogram = NULL;
	assert_true(ns_lengths_add(&histogram, 17, 19));
	assert_int_equal(percentile_of_ns(histogram, 50), 17);
	assert_true(percentile_of_ns(histogram, 95) == ANALYSIS_UNKNOWN);
	/* ticks of 2 ns */
	assert_true(ticks_lengths_add(&ticks, 17, 19));
	const struct brick_clock clock = {.mult = 2};
	assert_int_equal(percentile_of_ticks(ticks, &clock, 50), 34);
	assert_true(percentile_of_ticks(ticks, &clock, 95) == ANALYSIS_UNKNOWN);
	free(values);
	free(histogram);
	free(ticks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest_rank),
		cmocka_unit_test(too_few),
		cmocka_unit_test(histogram_agrees),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
