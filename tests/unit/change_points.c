/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a level changes: found where it does, at most so often where it does not as is promised.
 * Seeds are fixed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <cmocka.h>
#include "analysis/compare/change_points.h"
#include "base/hash.h"

static uint64_t random_state;

static double uniform(void)
{
	random_state = hash_add(random_state, 1);
	return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}

/* Runs of a program: some of them much slower. */
static double noise(void)
{
	double normal = sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());

	return 100 * exp(0.02 * normal) + (uniform() < 0.05 ? 50 * uniform() : 0);
}

static long find(const double *values, size_t n, struct change_point *first)
{
	struct change_point *points;
	long count = change_points_find(&points, values, n);

	assert_true(count >= 0);
	if (count)
		*first = points[0];
	free(points);
	return count;
}

static unsigned false_alarms(size_t n, unsigned trials)
{
	double *values = calloc(n, sizeof(*values));
	struct change_point first;
	unsigned alarms = 0;

	random_state = n;
	for (unsigned t = 0; t < trials; t++) {
		for (size_t i = 0; i < n; i++)
			values[i] = noise();
		alarms += find(values, n, &first) > 0;
	}
	free(values);
	return alarms;
}

static void nothing_changes(void **state)
{
	(void)state;
	/* 1 % is promised: of 500, more than 12 would be seen once in 1000 such tests */
	assert_true(false_alarms(12, 500) <= 12);
	assert_true(false_alarms(50, 500) <= 12);
	assert_true(false_alarms(400, 500) <= 12);
}

static void a_change_is_found(void **state)
{
	enum { N = 60, AT = 40, TRIALS = 100 };
	double values[N];
	struct change_point first;
	unsigned found = 0;

	(void)state;
	random_state = 7;
	for (unsigned t = 0; t < TRIALS; t++) {
		for (size_t i = 0; i < N; i++)
			values[i] = noise() * (i >= AT ? 1.05 : 1);
		if (find(values, N, &first) == 1 && labs((long)first.at - AT) <= 4 &&
			fabs(first.after / first.before - 1.05) < 0.02)
			found++;
	}
	assert_true(found >= 85);
}

static void two_changes(void **state)
{
	enum { N = 90 };
	double values[N];
	struct change_point *points;

	(void)state;
	random_state = 9;
	for (size_t i = 0; i < N; i++)
		values[i] = noise() * (i >= 30 && i < 60 ? 1.2 : 1);
	assert_int_equal(change_points_find(&points, values, N), 2);
	assert_int_equal(points[0].at, 30);
	assert_int_equal(points[1].at, 60);
	assert_true(points[0].after > 1.15 * points[1].after);
	free(points);
}

static void few_and_equal_values(void **state)
{
	double values[20];
	struct change_point first;

	(void)state;
	for (size_t i = 0; i < 20; i++)
		values[i] = i < 4 ? 1 : 2;
	assert_int_equal(find(values, 0, &first), 0);
	assert_int_equal(find(values, 7, &first), 0);
	assert_int_equal(find(values + 4, 16, &first), 0);
	assert_int_equal(find(values, 20, &first), 1);
	assert_int_equal(first.at, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_changes),
		cmocka_unit_test(a_change_is_found),
		cmocka_unit_test(two_changes),
		cmocka_unit_test(few_and_equal_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
