/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings that were not run are predicted from those that were: exactly where settings act on each
 * brick by a factor, or along 1/x; not at all beyond what was measured; and with intervals that
 * hold the truth as often as they say. The engine is a formula.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <cmocka.h>
#include "analysis/advise/advise.h"
#include "base/hash.h"

static const double threads[] = {1, 2, 4}, ubatch[] = {32, 64, 128, 256, 512};
static const struct advise_axis axes[] = {
	{"threads", 3, threads}, {"ubatch", 5, ubatch}, {"cache", 2, NULL}};

enum { AXES = 3, BRICKS = 4 };

static uint64_t random_state = 1;

static double noise(double spread)
{
	double sum = 0;

	for (int i = 0; i < 12; i++) {
		random_state = hash_add(random_state, (uint64_t)i);
		sum += (double)(random_state >> 11) / 9007199254740992.0;
	}
	return exp(spread * (sum - 6));
}

/* ns of a prompt's token in each brick: products, attention, what each evaluation costs, waiting.
 */
static void truth(const size_t *at, double ns[BRICKS])
{
	double n = threads[at[0]], u = ubatch[at[1]], cache = at[2] ? 1.7 : 1;

	ns[0] = (900000 + 20000000 / u) / n + 10000;
	ns[1] = 400000 * cache / n;
	ns[2] = 3000000 / u;
	ns[3] = n > 1 ? 20000 : 0;
}

static void add(struct advise *advise, const size_t *at, double spread)
{
	static const char *const names[BRICKS] = {"Products", "Attention", "Build", "Wait"};
	struct history_run run;
	double ns[BRICKS], all = 0, factor = noise(spread);

	truth(at, ns);
	assert_int_equal(history_run_init(&run), 0);
	for (int i = 0; i < BRICKS; i++) {
		struct history_part *part = history_run_part(&run, "prefill", "brick", names[i]);
		part->typical_tokens = part->tokens = 100;
		part->typical_ns = (uint64_t)(100 * ns[i] * factor);
		all += ns[i] * factor;
	}
	struct history_part *step = history_run_part(&run, "prefill", "step", "");
	step->typical_tokens = step->tokens = 100;
	step->typical_ns = (uint64_t)(100 * all);
	assert_int_equal(advise_add(advise, at, &run), 0);
	history_run_fini(&run);
}

static double whole(const size_t *at)
{
	double ns[BRICKS], all = 0;

	truth(at, ns);
	for (int i = 0; i < BRICKS; i++)
		all += ns[i];
	return all;
}

static double error_of(const struct advise *advise, const size_t *at, struct advise_answer *answer)
{
	assert_int_equal(advise_ask(advise, at, answer), 0);
	return answer->times[ADVISE_PREFILL].ns / whole(at) - 1;
}

/* The base and each axis alone, as planned. */
static void add_star(struct advise *advise, const size_t *base, unsigned runs, double spread)
{
	bool is_measured[5];

	for (unsigned run = 0; run < runs; run++) {
		add(advise, base, spread);
		for (size_t axis = 0; axis < AXES; axis++) {
			advise_plan(&axes[axis], base[axis], is_measured);
			for (size_t value = 0; value < axes[axis].count; value++) {
				size_t at[AXES] = {base[0], base[1], base[2]};
				at[axis] = value;
				if (value != base[axis] && is_measured[value])
					add(advise, at, spread);
			}
		}
	}
}

static void products_of_factors(void **state)
{
	const size_t base[AXES] = {1, 1, 0};
	struct advise_answer answer;
	struct advise *advise;
	(void)state;

	assert_int_equal(advise_create(&advise, axes, AXES, base), 0);
	add_star(advise, base, 1, 0);
	for (size_t i = 0; i < 30; i++) {
		const size_t at[AXES] = {i / 10, i / 2 % 5, i % 2};
		double error = error_of(advise, at, &answer);
		/* products / threads + 10 us is no product of factors: an error of a hundredth */
		assert_true(fabs(error) < 0.02);
		assert_true(answer.times[ADVISE_PREFILL].low < answer.times[ADVISE_PREFILL].ns);
		assert_true(isnan(answer.times[ADVISE_DECODE].ns));
		assert_true(fabs(answer.times[ADVISE_ALL].ns / answer.times[ADVISE_PREFILL].ns -
				    100) < 1e-9);
	}
	const size_t same[AXES] = {1, 1, 1}, between[AXES] = {1, 2, 0};
	assert_true(fabs(error_of(advise, same, &answer)) < 1e-6 && answer.runs == 1);
	assert_true(fabs(error_of(advise, between, &answer)) < 1e-6 && answer.runs == 0);
	advise_destroy(advise);
}

static void nothing_beyond(void **state)
{
	const size_t base[AXES] = {1, 1, 0}, more[AXES] = {1, 3, 0};
	const size_t known[AXES] = {0, 1, 0}, beyond[AXES] = {2, 1, 0}, word[AXES] = {1, 1, 1};
	struct advise_answer answer;
	struct advise *advise;
	(void)state;

	assert_int_equal(advise_create(&advise, axes, AXES, base), 0);
	assert_true(isnan(error_of(advise, base, &answer)));
	add(advise, base, 0);
	add(advise, more, 0);
	add(advise, known, 0);
	assert_true(isnan(error_of(advise, beyond, &answer)));
	assert_true(isnan(error_of(advise, word, &answer)));
	const size_t both[AXES] = {0, 2, 0};
	assert_true(fabs(error_of(advise, both, &answer)) < 0.02);
	advise_destroy(advise);
}

static void plans(void **state)
{
	bool is_measured[5];
	(void)state;

	advise_plan(&axes[1], 4, is_measured);
	const bool want[5] = {true, true, false, false, true};
	assert_memory_equal(is_measured, want, sizeof(want));
	advise_plan(&axes[2], 0, is_measured);
	assert_true(is_measured[0] && is_measured[1]);
}

/* Runs differ by 3 %: 95 of 100 intervals hold the truth, with three runs a setting. */
static void intervals_hold(void **state)
{
	const size_t base[AXES] = {1, 1, 0}, at[AXES] = {0, 4, 1};
	unsigned held = 0, trials = 1000;
	double width = 0;
	(void)state;

	for (unsigned i = 0; i < trials; i++) {
		struct advise_answer answer;
		struct advise *advise;
		assert_int_equal(advise_create(&advise, axes, AXES, base), 0);
		add_star(advise, base, 3, 0.03);
		assert_int_equal(advise_ask(advise, at, &answer), 0);
		const struct advise_time *time = &answer.times[ADVISE_PREFILL];
		held += time->low <= whole(at) && time->high >= whole(at);
		width += log(time->high / time->low) / trials;
		advise_destroy(advise);
	}
	assert_true(held > 930 * trials / 1000);
	assert_true(width < 0.35);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_of_factors),
		cmocka_unit_test(nothing_beyond),
		cmocka_unit_test(plans),
		cmocka_unit_test(intervals_hold),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
