/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When `brick bench` stops, and in which order it runs: stopping by the width of intervals leaves
 * them right, and sides alike. Seeds are fixed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>
#include "analysis/compare/difference.h"
#include "analysis/statistics/statistics.h"
#include "base/hash.h"
#include "record/runner/turns.h"

static uint64_t random_state;

static double uniform(void)
{
	random_state = hash_add(random_state, 1);
	return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}

static double noise(double spread)
{
	double normal = sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());

	return exp(spread * normal) * (uniform() < 0.1 ? 1 + spread * 5 * uniform() : 1);
}

struct trial {
	double a[STOP_RUNS_MAX], b[STOP_RUNS_MAX];
	struct difference row;
	enum stop_reason reason;
	size_t runs;
};

/* A bench of two programs, the second of which takes `ratio` times as long. */
static void bench(struct trial *t, double ratio, double spread, double precision)
{
	const struct stop_rule rule = {.precision = precision};
	double log_a[STOP_RUNS_MAX], log_b[STOP_RUNS_MAX];
	struct statistics_shift shift = {0, -INFINITY, INFINITY};

	t->reason = STOP_GO_ON;
	for (t->runs = 0; t->reason == STOP_GO_ON;) {
		for (int i = 0; i < 2; i++, t->runs++) {
			t->a[t->runs] = noise(spread);
			t->b[t->runs] = ratio * noise(spread);
			log_a[t->runs] = log(t->a[t->runs]);
			log_b[t->runs] = log(t->b[t->runs]);
		}
		statistics_shift(&shift, log_a, t->runs, log_b, t->runs, 0.05);
		double half = (shift.high - shift.low) / 2;
		t->reason = stop_look(&rule, t->runs, 0, isfinite(half) ? half : -1);
	}
	const struct difference_rule test = {.threshold = 0.01, .alpha = 0.02};
	difference_of(&t->row, DIFFERENCE_TIME, t->a, t->runs, t->b, t->runs, &test);
}

static void intervals_stay_right(void **state)
{
	enum { TRIALS = 150 };
	struct trial t;
	unsigned covered = 0, alarms = 0, precise = 0;

	(void)state;
	random_state = 1;
	for (unsigned i = 0; i < TRIALS; i++) {
		bench(&t, 1, 0.02, 0.015);
		covered += t.row.low <= 0 && t.row.high >= 0;
		alarms += t.row.verdict == COMPARE_SLOWER || t.row.verdict == COMPARE_FASTER;
		precise += t.reason == STOP_PRECISE;
	}
	assert_true(precise > TRIALS / 2); /* else it was not the rule that stopped */
	assert_true(covered >= TRIALS * 93 / 100);
	assert_true(alarms <= TRIALS * 3 / 100);
}

static void what_is_slower_is_found(void **state)
{
	struct trial t;
	unsigned found = 0;

	(void)state;
	random_state = 2;
	for (unsigned i = 0; i < 60; i++) {
		bench(&t, 1.05, 0.02, 0.015);
		found += t.row.verdict == COMPARE_SLOWER;
	}
	assert_true(found >= 57);
}

static void it_says_that_it_is_hopeless(void **state)
{
	const struct stop_rule rule = {.precision = 0.01};
	struct trial t;

	(void)state;
	random_state = 3;
	bench(&t, 1, 0.5, 0.01);
	assert_int_equal(t.reason, STOP_HOPELESS);
	assert_int_equal(t.runs, STOP_HOPELESS_FROM);
	assert_int_equal(stop_forecast(&rule, 20, 10 * log1p(0.01)), 2000);
	assert_int_equal(stop_look(&rule, STOP_RUNS_MAX, 0, 0.02), STOP_RUNS);
	assert_int_equal(stop_look(&rule, STOP_RUNS_MIN - 1, 0, 0.0001), STOP_GO_ON);
}

static void runs_and_time_are_kept_to(void **state)
{
	const struct stop_rule runs = {.runs = 5}, time = {.time_ns = 100};

	(void)state;
	assert_int_equal(stop_look(&runs, 4, 0, 0), STOP_GO_ON);
	assert_int_equal(stop_look(&runs, 5, 0, -1), STOP_RUNS);
	assert_int_equal(stop_look(&time, 5000, 99, 0.5), STOP_GO_ON);
	assert_int_equal(stop_look(&time, 1, 100, 0.5), STOP_TIME);
}

static void all_are_run_alike(void **state)
{
	enum { KINDS = 4, BLOCKS = 200 };
	unsigned first[KINDS] = {0};
	double place[KINDS] = {0};
	struct plan plan, again;

	(void)state;
	plan_init(&plan, KINDS, 5);
	plan_init(&again, KINDS, 5);
	for (unsigned i = 0; i < KINDS * BLOCKS; i++) {
		size_t kind = plan_next(&plan);
		assert_int_equal(plan_next(&again), kind);
		first[kind] += i % KINDS == 0;
		place[kind] += i;
		if ((i + 1) % (2 * KINDS))
			assert_false(plan_is_even(&plan));
		else
			assert_true(plan_is_even(&plan));
	}
	for (unsigned k = 0; k < KINDS; k++) {
		/* mirror images: no kind is later than another, in the mean */
		assert_true(place[k] == place[0]);
		assert_true(first[k] > BLOCKS / KINDS / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_stay_right),
		cmocka_unit_test(what_is_slower_is_found),
		cmocka_unit_test(it_says_that_it_is_hopeless),
		cmocka_unit_test(runs_and_time_are_kept_to),
		cmocka_unit_test(all_are_run_alike),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
