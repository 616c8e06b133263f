/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One language for differences: for random pairs of sides the sign of the text, the medians, the
 * interval and the exit code agree; identical sides are called different in at most 5 of 100
 * families; single runs show what is far beyond what runs vary by, and only that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/compare/difference.h"
#include "ui/text/difference_text.h"

enum { SIDE = 12, ROWS = 30 };

static uint64_t random_state;

static double uniform(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return ((double)((z ^ z >> 31) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static size_t below(size_t n)
{
	return (size_t)(uniform() * (double)n);
}

/* Which way a text points: 1 more, -1 less, 0 none. */
static int sign_of(const char *text)
{
	double factor;
	char unit;

	if (*text == '+' || *text == '-')
		return *text == '+' ? 1 : -1;
	return sscanf(text, "%lf%c", &factor, &unit) == 2 && unit == 'x' ? factor > 1 ? 1 : -1 : 0;
}

static int sign(double value)
{
	return (value > 0) - (value < 0);
}

/* All that is said of one difference agrees. */
static void assert_agrees(const struct difference *d)
{
	SCOPED char *text = difference_text(d);
	bool told = d->verdict == COMPARE_SLOWER || d->verdict == COMPARE_FASTER;
	int more = d->kind == DIFFERENCE_TIME ? 1 : -1; /* the sign of slower */

	assert_true(d->low <= d->effect && d->effect <= d->high);
	assert_int_equal(d->low <= 0 && 0 <= d->high && d->verdict != COMPARE_SAME,
		d->verdict == COMPARE_UNSURE);
	assert_true(d->verdict == COMPARE_UNSURE ||
		    !strstr(compare_verdict_name(d->verdict), "enough data"));
	assert_int_equal(difference_fails(d->verdict, false), d->verdict == COMPARE_SLOWER);
	if (!told) {
		assert_int_equal(sign_of(text), 0);
		assert_int_equal(difference_fails(d->verdict, true), d->verdict != COMPARE_SAME);
		return;
	}
	int said = d->verdict == COMPARE_SLOWER ? more : -more;
	assert_int_equal(sign_of(text), said);
	assert_int_equal(sign(d->b - d->a), said);
	assert_int_equal(sign(d->effect), said);
	assert_int_equal(sign(d->low), said);
	assert_int_equal(sign(d->high), said);
	assert_true(d->p < 0.05);
}

/* The same values the other way around say the opposite; as rates, too. */
static void assert_mirrors(const struct difference *d, const double *a, size_t in_a,
	const double *b, size_t in_b, const struct difference_rule *rule)
{
	static const enum compare_verdict opposite[] = {[COMPARE_UNSURE] = COMPARE_UNSURE,
		[COMPARE_BEYOND] = COMPARE_BEYOND,
		[COMPARE_SAME] = COMPARE_SAME,
		[COMPARE_SLOWER] = COMPARE_FASTER,
		[COMPARE_FASTER] = COMPARE_SLOWER};
	struct difference other;

	assert_int_equal(difference_of(&other, d->kind, b, in_b, a, in_a, rule), 0);
	assert_int_equal(other.verdict, opposite[d->verdict]);
	assert_true(fabs((1 + other.effect) * (1 + d->effect) - 1) < 1e-9);
	assert_int_equal(difference_of(&other,
				 d->kind == DIFFERENCE_TIME ? DIFFERENCE_RATE : DIFFERENCE_TIME, a,
				 in_a, b, in_b, rule),
		0);
	assert_int_equal(other.verdict, opposite[d->verdict]);
	assert_agrees(&other);
}

static void random_pairs(void **state)
{
	static const double effects[] = {0, 0.005, 0.02, 0.3, 1, 5, 2000};
	int told = 0;
	(void)state;

	for (int trial = 0; trial < 20000; trial++) {
		random_state = (uint64_t)trial * 7919;
		size_t in_a = 1 + below(SIDE), in_b = 1 + below(SIDE);
		double a[SIDE], b[SIDE], noise = exp(-8 * uniform());
		double effect = 1 + effects[below(7)], scale = exp(30 * uniform() - 10);
		const struct difference_rule rule = {
			below(2) ? 0.01 : 0.1, 0.03, 1 + below(40), noise};
		struct difference d;

		if (below(2))
			effect = 1 / effect;
		for (size_t i = 0; i < SIDE; i++) {
			a[i] = scale * exp(noise * normal()) * (uniform() < 0.1 ? 3 : 1);
			b[i] = scale * effect * exp(noise * normal()) * (uniform() < 0.1 ? 3 : 1);
		}
		assert_int_equal(difference_of(&d, below(2) ? DIFFERENCE_RATE : DIFFERENCE_TIME, a,
					 in_a, b, in_b, &rule),
			0);
		assert_agrees(&d);
		assert_mirrors(&d, a, in_a, b, in_b, &rule);
		told += d.verdict == COMPARE_SLOWER || d.verdict == COMPARE_FASTER;
	}
	assert_true(told > 3000);
}

/*
 * Families of rows, whose runs have something in common; `odd` of them are half again as slow: how
 * many of 400 raise an alarm.
 */
static int alarms(size_t side, double process, double odd)
{
	const struct difference_rule rule = {0.01, 0.05, ROWS, process};
	int count = 0;

	for (int trial = 0; trial < 400; trial++) {
		double common[2 * SIDE];
		bool alarm = false;
		random_state = (uint64_t)trial * 104729 + side;
		for (size_t i = 0; i < 2 * side; i++)
			common[i] = process * normal() + (uniform() < odd ? log(1.5) : 0);
		for (int row = 0; row < ROWS; row++) {
			double values[2 * SIDE];
			struct difference d;
			for (size_t i = 0; i < 2 * side; i++)
				values[i] = exp(common[i] + process * normal());
			assert_int_equal(difference_of(&d, DIFFERENCE_TIME, values, side,
						 values + side, side, &rule),
				0);
			alarm |= d.verdict > COMPARE_SAME;
		}
		count += alarm;
	}
	return count;
}

static void identical_sides(void **state)
{
	static const size_t sides[] = {1, 2, 3, 4, 5, 10, 12};
	(void)state;

	for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++)
		for (int odd = 0; odd < 2; odd++) {
			int count = alarms(sides[i], 0.03, 0.1 * odd);
			print_message("%zu a side, %s: %d of 400 families\n", sides[i],
				odd ? "odd ones" : "none odd", count);
			assert_in_range(count, 0, 20);
		}
}

/* 2000 times between single runs is no question of noise; 20 % is. */
static void single_runs(void **state)
{
	const struct difference_rule steady = {0.01, 0.03, 20, 0.02}, wild = {0.01, 0.03, 20, 0.3};
	const double one = 1e6, twenty = 1.2e6, thousands = 2e9;
	struct difference d;
	(void)state;

	assert_int_equal(difference_of(&d, DIFFERENCE_TIME, &one, 1, &thousands, 1, &steady), 0);
	assert_int_equal(d.verdict, COMPARE_SLOWER);
	assert_int_equal(difference_of(&d, DIFFERENCE_TIME, &one, 1, &thousands, 1, &wild), 0);
	assert_int_equal(d.verdict, COMPARE_SLOWER);
	assert_int_equal(difference_of(&d, DIFFERENCE_TIME, &one, 1, &twenty, 1, &steady), 0);
	assert_int_equal(d.verdict, COMPARE_UNSURE);
	assert_true(difference_fails(d.verdict, true));
	assert_true(d.detectable > 0.2);
}

static void values_without_effect(void **state)
{
	const struct difference_rule rule = {0.01, 0.03, 1, 0};
	const double none[2] = {0, 1}, some[2] = {1, 1};
	struct difference d;
	(void)state;

	assert_int_equal(difference_of(&d, DIFFERENCE_TIME, none, 2, some, 2, &rule), 0);
	assert_true(isnan(d.effect) && d.verdict == COMPARE_UNSURE);
	SCOPED char *text = difference_text(&d);
	assert_string_equal(text, "~");
	assert_int_equal(difference_of(&d, DIFFERENCE_TIME, some, 2, some, 2, &rule), 0);
	assert_int_equal(d.verdict, COMPARE_UNSURE); /* two runs, alike by chance */
}

static void assert_text(enum difference_kind kind, enum compare_verdict verdict, double effect,
	double low, double high, const char *wanted)
{
	const struct difference d = {.kind = kind,
		.effect = effect,
		.low = low,
		.high = high,
		.threshold = 0.01,
		.verdict = verdict};
	SCOPED char *text = difference_text(&d);

	assert_string_equal(text, wanted);
}

static void words(void **state)
{
	(void)state;
	assert_text(DIFFERENCE_TIME, COMPARE_FASTER, -0.37, -0.412, -0.335, "-37 % (-41 to -34 %)");
	assert_text(DIFFERENCE_TIME, COMPARE_SLOWER, 0.032, 0.024, 0.12, "+3.2 % (+2.4 to +12 %)");
	assert_text(DIFFERENCE_RATE, COMPARE_FASTER, 0.58, 0.49, 0.92, "1.58x (1.49 to 1.92)");
	assert_text(DIFFERENCE_TIME, COMPARE_SLOWER, 219, 189, 259, "220x (190 to 260)");
	assert_text(DIFFERENCE_TIME, COMPARE_FASTER, -0.9955, -0.996, -0.995,
		"0.0045x (0.004 to 0.005)");
	assert_text(DIFFERENCE_TIME, COMPARE_SAME, 0.002, -0.003, 0.007,
		"same within 1 % (-0.3 to +0.7 %)");
	assert_text(DIFFERENCE_TIME, COMPARE_BEYOND, 0.012, 0.003, 0.021,
		"~ +1.2 % (+0.3 to +2.1 %), beyond zero, perhaps below the 1 % that matter");
	assert_text(DIFFERENCE_TIME, COMPARE_UNSURE, 0.2, -0.03, 0.5, "~ +20 % (-3.0 to +50 %)");
	assert_text(DIFFERENCE_TIME, COMPARE_UNSURE, 0.2, -0.9, 20, "~ 1.2x");
	assert_text(DIFFERENCE_TIME, COMPARE_SLOWER, 20, 0.1, 220, "21x (1.1 to 221)");
	assert_text(DIFFERENCE_TIME, COMPARE_ONLY_B, NAN, NAN, NAN, "only in B");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(random_pairs),
		cmocka_unit_test(identical_sides),
		cmocka_unit_test(single_runs),
		cmocka_unit_test(values_without_effect),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
