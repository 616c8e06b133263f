/* SPDX-License-Identifier: Apache-2.0 */
/* Wherever the first bad build is, it is found by halving, also around skipped ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "analysis/compare/bisection.h"

enum { BUILDS_MAX = 70 };

/* How many builds had to be judged. */
static unsigned search(struct bisection *b, size_t first_bad)
{
	unsigned steps = 0;

	for (long at; (at = bisection_next(b)) != BISECTION_END; steps++) {
		assert_true(at > (long)b->good && at < (long)b->bad && !b->is_skipped[at]);
		bisection_note(b, (size_t)at, (size_t)at >= first_bad);
	}
	return steps;
}

/* The most builds that halving has to judge between a good and a bad one. */
static unsigned halvings(size_t between)
{
	unsigned steps = 0;

	for (; between; between /= 2)
		steps++;
	return steps;
}

static void finds_the_first(void **state)
{
	static const bool none[BUILDS_MAX];
	(void)state;

	for (size_t builds = 2; builds <= BUILDS_MAX; builds++)
		for (size_t first_bad = 1; first_bad < builds; first_bad++) {
			struct bisection b = {0, builds - 1, none};
			unsigned most = halvings(builds - 2);
			assert_true(search(&b, first_bad) <= most);
			assert_int_equal(b.bad, first_bad);
			assert_int_equal(b.good, first_bad - 1);
			assert_true(builds != 32 || most == 5);
		}
}

static void passes_over_what_is_skipped(void **state)
{
	(void)state;
	for (size_t skipped = 1; skipped < 31; skipped++)
		for (size_t first_bad = 1; first_bad < 32; first_bad++) {
			bool is_skipped[32] = {false};
			struct bisection b = {0, 31, is_skipped};
			is_skipped[skipped] = true;
			assert_true(search(&b, first_bad) <= 6);
			assert_true(b.good < first_bad && b.bad >= first_bad);
			assert_true(b.bad - b.good == 1 ||
				    (b.bad - b.good == 2 && b.good + 1 == skipped));
		}
}

/* A build of which only zero is excluded may be bad: its interval reaches beyond the threshold. */
static void doubts_what_reaches_across(void **state)
{
	static const struct {
		double low, high;
		bool is_doubtful;
	} cases[] = {{0.5, 1.5, false}, {0.41, 0.6, false}, {-0.1, 0.4, false}, {-0.9, 0, false},
		{-0.9, 0.1, false}, {0.1, 0.9, true}, {-0.1, 0.9, true}, {NAN, NAN, true}};
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct difference d = {
			.low = cases[i].low, .high = cases[i].high, .threshold = 0.4};
		assert_int_equal(bisection_is_doubtful(&d), cases[i].is_doubtful);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_first),
		cmocka_unit_test(passes_over_what_is_skipped),
		cmocka_unit_test(doubts_what_reaches_across),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
