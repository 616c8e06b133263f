/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparisons whose truth is known: identical sides with noise as machines have it (slow drift,
 * processes that are all a little different, heavy tails) must not be called different; planted
 * slowdowns must be found in the right brick, within the interval. Seeds are fixed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/compare/compare.h"
#include "analysis/statistics/unknown.h"
#include "base/array.h"

enum { BRICKS = 20, STEPS = 120, SIDE = 10 };

static uint64_t random_state;
static const struct compare_rule rule = {.threshold = -1};

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

static void make_names(struct compare_names *names)
{
	memset(names, 0, sizeof(*names));
	names->list = calloc(BRICKS + 1, sizeof(*names->list));
	for (int k = 0; k <= BRICKS; k++) {
		names->list[k].name = malloc(24);
		snprintf(names->list[k].name, 24, k == BRICKS ? "unattributed" : "Brick%d", k);
		names->list[k].kind = k == BRICKS ? COMPARE_UNATTRIBUTED : COMPARE_PART;
	}
	names->count = BRICKS + 1;
}

static void free_names(struct compare_names *names)
{
	for (int k = 0; k <= BRICKS; k++) {
		free(names->list[k].name);
		free(names->list[k].category);
	}
	free(names->list);
}

struct machine {
	double process, step, tail; /* noise: of a process, of a step, how often 3 times as long */
	double memory;		    /* of the step before */
};

/* What a step took of a brick, whose processes and steps are noisy. */
static void run_once(struct compare_series *s, const struct machine *machine, int slow, double by)
{
	struct compare_cells *cells = &s->phases[STEP_DECODE];
	double process[BRICKS + 1], drift = 0, whole = machine->process * normal();

	memset(s, 0, sizeof(*s));
	s->columns = BRICKS + 1;
	s->ttft_ns = (uint64_t)(2e6 * exp(whole));
	cells->steps = cells->count = STEPS;
	cells->united = 1;
	cells->total_ns = calloc(STEPS, sizeof(uint64_t));
	cells->tokens = calloc(STEPS, sizeof(uint64_t));
	cells->column_ns = calloc(STEPS * s->columns, sizeof(uint64_t));
	for (int k = 0; k <= BRICKS; k++)
		process[k] = whole + machine->process * normal() / 2;
	for (int i = 0; i < STEPS; i++) {
		drift = machine->memory * drift + machine->step * normal();
		double jump = uniform() < machine->tail ? 3 : 1;
		cells->tokens[i] = 1;
		for (int k = 0; k <= BRICKS; k++) {
			double ns = 1e6 / (k + 1) * exp(process[k] + drift) * jump;
			ns *= exp(machine->step * normal()) * (k == slow ? by : 1);
			cells->column_ns[(size_t)i * s->columns + (size_t)k] = (uint64_t)ns;
			cells->total_ns[i] += (uint64_t)ns;
		}
	}
}

static struct compare *trial(const struct machine *machine, size_t side, int slow, double by)
{
	struct compare_series series[2 * SIDE];
	struct compare_names names;
	struct compare *c;

	make_names(&names);
	for (size_t i = 0; i < 2 * side; i++)
		run_once(&series[i], machine, i >= side ? slow : -1, by);
	assert_int_equal(compare_create(&c, series, side, side, &names, &rule), 0);
	for (size_t i = 0; i < c->row_count; i++)
		c->rows[i].name = NULL; /* they go with the names */
	for (size_t i = 0; i < 2 * side; i++)
		compare_series_fini(&series[i]);
	free_names(&names);
	return c;
}

/* A clock that stands still gives steps no length, and no rate. */
static void steps_of_no_length(void **state)
{
	const struct machine still = {0, 0, 0, 0};
	struct compare_series series[2];
	struct compare_names names;
	struct compare *c;

	(void)state;
	make_names(&names);
	for (size_t i = 0; i < 2; i++)
		run_once(&series[i], &still, -1, 1);
	struct compare_cells *cells = &series[1].phases[STEP_DECODE];
	memset(cells->total_ns, 0, STEPS * sizeof(*cells->total_ns));
	memset(cells->column_ns, 0, STEPS * series[1].columns * sizeof(*cells->column_ns));
	assert_int_equal(compare_create(&c, series, 1, 1, &names, &rule), 0);
	for (size_t i = 0; i < c->row_count; i++) {
		assert_true(isfinite(c->rows[i].difference.a));
		assert_true(isfinite(c->rows[i].difference.b));
		c->rows[i].name = NULL;
	}
	compare_destroy(c);
	for (size_t i = 0; i < 2; i++)
		compare_series_fini(&series[i]);
	free_names(&names);
}

static const struct compare_row *row_of(const struct compare *c, double a_ns)
{
	for (size_t i = 0; i < c->row_count; i++)
		if (c->rows[i].measure == COMPARE_COLUMN &&
			fabs(log(c->rows[i].difference.a / a_ns)) < 0.2)
			return &c->rows[i];
	return NULL;
}

static bool is_alarm(const struct compare *c)
{
	for (size_t i = 0; i < c->row_count; i++)
		if (c->rows[i].difference.verdict > COMPARE_SAME)
			return true;
	return false;
}

static const struct machine quiet = {0.003, 0.01, 0, 0}, noisy = {0.03, 0.05, 0.1, 0.8};

static int alarms(const struct machine *machine, size_t side, int trials)
{
	int count = 0;

	for (int i = 0; i < trials; i++) {
		random_state = (uint64_t)i * 1000003 + side;
		struct compare *c = trial(machine, side, -1, 1);
		count += is_alarm(c);
		compare_destroy(c);
	}
	return count;
}

static void false_alarms(void **state)
{
	(void)state;
	assert_in_range(alarms(&noisy, SIDE, 200), 0, 10);
	for (size_t side = 1; side <= 5; side++) {
		assert_in_range(alarms(&quiet, side, 200), 0, 10);
		assert_in_range(alarms(&noisy, side, 200), 0, 10);
	}
}

static void found_within_interval(void **state)
{
	static const double planted[] = {1.02, 1.05, 1.10};
	int covered = 0;
	(void)state;

	for (size_t k = 0; k < 3; k++) {
		int found = 0, others = 0;
		for (int i = 0; i < 100; i++) {
			random_state = (uint64_t)i * 7919 + k;
			struct compare *c = trial(&quiet, SIDE, 2, planted[k]);
			const struct compare_row *row = row_of(c, 1e6 / 3);
			const struct difference *d = &row->difference;
			found += d->verdict == COMPARE_SLOWER;
			covered += 1 + d->low <= planted[k] && planted[k] <= 1 + d->high;
			for (size_t r = 0; r < c->row_count; r++)
				others += c->rows[r].measure == COMPARE_COLUMN &&
					  &c->rows[r] != row &&
					  c->rows[r].difference.verdict > COMPARE_SAME;
			compare_destroy(c);
		}
		assert_in_range(found, 95, 100);
		assert_in_range(others, 0, 5);
	}
	assert_in_range(covered, 285, 300); /* 95 of 100 */
}

/* Coverage where noise has memory, tails and processes, of all parts. */
static void intervals_cover(void **state)
{
	int covered = 0, all = 0;
	(void)state;

	for (int i = 0; i < 50; i++) {
		random_state = (uint64_t)i * 104729 + 17;
		struct compare *c = trial(&noisy, SIDE, -1, 1);
		for (size_t r = 0; r < c->row_count; r++, all++)
			covered +=
				c->rows[r].difference.low <= 0 && 0 <= c->rows[r].difference.high;
		compare_destroy(c);
	}
	assert_true(covered >= all * 94 / 100); /* rows of one trial go together */
}

static void parts_add_up(void **state)
{
	(void)state;
	random_state = 5;
	for (size_t side = 1; side <= SIDE; side += 3) {
		struct compare *c = trial(&quiet, side, 0, 1.1);
		double sum = c->phases[STEP_DECODE].residual;
		for (size_t i = 0; i < c->row_count; i++)
			sum += isnan(c->rows[i].points) ? 0 : c->rows[i].points;
		assert_true(
			fabs(sum - compare_find(c, STEP_DECODE, COMPARE_TIME)->difference.effect) <
			1e-12);
		assert_true(fabs(c->phases[STEP_DECODE].residual) < 0.002);
		assert_true(row_of(c, 1e6)->points > 0.02); /* of 3.6 that all take, 0.1 */
		compare_destroy(c);
	}
}

/* One run a side, of which one in ten is odd when `odd`. */
static double run_of(bool odd)
{
	return exp(0.01 * normal() + (odd && uniform() < 0.1 ? 0.15 : 0));
}

/* Who says that an effect is found in 4 of 5 trials finds it so often: in the same runs, slower by
 * what they say of themselves. */
static double found_as_stated(bool odd)
{
	enum { TRIALS = 200 };
	double a[SIDE], b[SIDE];
	int found = 0;

	for (int i = 0; i < TRIALS; i++) {
		const struct difference_rule rule = {.threshold = 0.01, .alpha = 0.02};
		struct difference d;
		for (int k = 0; k < SIDE; k++) {
			a[k] = run_of(odd);
			b[k] = run_of(odd);
		}
		assert_int_equal(difference_of(&d, DIFFERENCE_TIME, a, SIDE, b, SIDE, &rule), 0);
		for (int k = 0; k < SIDE; k++)
			b[k] *= 1 + d.detectable;
		assert_int_equal(difference_of(&d, DIFFERENCE_TIME, a, SIDE, b, SIDE, &rule), 0);
		found += d.verdict == COMPARE_SLOWER;
	}
	return (double)found / TRIALS;
}

static void power_is_what_is_stated(void **state)
{
	(void)state;
	random_state = 80;
	double plain = found_as_stated(false), odd = found_as_stated(true);
	print_message("found in %.2f and %.2f of the trials\n", plain, odd);
	assert_true(plain > 0.72 && plain < 0.98);
	assert_true(odd > 0.6 && odd < 0.98); /* as far as ten runs know how often one is odd */
}

/* What is the same is said to be; what cannot be known is not. */
static void verdicts(void **state)
{
	(void)state;
	random_state = 1;
	struct compare *c = trial(&quiet, SIDE, -1, 1);
	assert_false(c->assumes);
	assert_int_equal(c->verdict, COMPARE_SAME);
	compare_destroy(c);
	c = trial(&noisy, 4, -1, 1);
	assert_int_equal(c->verdict, COMPARE_UNSURE);
	const struct difference *time = &compare_find(c, STEP_DECODE, COMPARE_TIME)->difference;
	assert_true(isfinite(time->detectable) && time->detectable > 0.03);
	compare_destroy(c);
}

/* One brick 220 times as slow is seen by any number of recordings, however noisy; 2 % is not by
 * one. */
static void what_few_show(void **state)
{
	(void)state;
	for (size_t side = 1; side <= 5; side++) {
		random_state = side;
		struct compare *c = trial(&noisy, side, 0, 220);
		const struct compare_row *time = compare_find(c, STEP_DECODE, COMPARE_TIME);
		assert_int_equal(c->assumes, side < 4);
		assert_int_equal(c->verdict, COMPARE_SLOWER);
		assert_int_equal(time->difference.verdict, COMPARE_SLOWER);
		assert_int_equal(row_of(c, 1e6)->difference.verdict, COMPARE_SLOWER);
		compare_destroy(c);
		c = trial(&quiet, side, 0, 1 / 220.0);
		assert_int_equal(row_of(c, 1e6)->difference.verdict, COMPARE_FASTER);
		compare_destroy(c);
	}
	random_state = 9;
	struct compare *c = trial(&quiet, 1, 0, 1.02);
	assert_int_equal(c->verdict, COMPARE_UNSURE);
	compare_destroy(c);
}

/* Four a side, and a noisy row that happens to separate other sides as well: it hides nothing. */
static void a_noisy_row_hides_nothing(void **state)
{
	struct compare_series series[8];
	struct compare_names names;
	struct compare *c;
	(void)state;

	make_names(&names);
	random_state = 3;
	for (size_t i = 0; i < 8; i++) {
		run_once(&series[i], &quiet, i >= 4 ? 0 : -1, 220);
		struct compare_cells *cells = &series[i].phases[STEP_DECODE];
		for (size_t k = 0; k < STEPS; k++) /* two levels, by turns */
			cells->column_ns[k * (BRICKS + 1) + BRICKS] = i % 2 ? 10 : 1000;
	}
	assert_int_equal(compare_create(&c, series, 4, 4, &names, &rule), 0);
	assert_int_equal(c->verdict, COMPARE_SLOWER);
	compare_destroy(c);
	for (size_t i = 0; i < 8; i++)
		compare_series_fini(&series[i]);
	free_names(&names);
}

/* What one side calls GateUp the other calls Gate and Up. */
static void renamed_and_fused(void **state)
{
	struct compare_series series[2 * SIDE];
	struct compare_names names;
	struct compare *c;
	int pairs = 0;
	(void)state;

	make_names(&names);
	random_state = 4;
	for (int k = 0; k < 4; k++)
		names.list[k].category = strdup(k < 3 ? "FFN" : "Norm");
	for (size_t i = 0; i < 2 * SIDE; i++) {
		run_once(&series[i], &quiet, -1, 1);
		uint64_t *ns = series[i].phases[STEP_DECODE].column_ns;
		for (size_t k = 0; k < STEPS; k++, ns += BRICKS + 1)
			if (i < SIDE) { /* bricks 0 and 1 of A are brick 2 of B */
				ns[2] = 0;
			} else {
				ns[2] = ns[0] + ns[1];
				ns[0] = ns[1] = 0;
			}
	}
	assert_int_equal(compare_create(&c, series, SIDE, SIDE, &names, &rule), 0);
	for (size_t i = 0; i < c->row_count; i++) {
		const struct compare_row *row = &c->rows[i];
		assert_true(row->difference.verdict < COMPARE_ONLY_A);
		if (row->name && !strcmp(row->name, "Brick0 + Brick1 -> Brick2")) {
			assert_int_equal(row->difference.verdict, COMPARE_SAME);
			pairs++;
		}
	}
	assert_int_equal(pairs, 1);
	compare_destroy(c);
	for (size_t i = 0; i < 2 * SIDE; i++)
		compare_series_fini(&series[i]);
	free_names(&names);
}

/* A program that does something between steps is slower for who waits, and its steps are not. */
static void time_between_steps(void **state)
{
	enum { EACH = 4, FORGOTTEN = 2 };

	(void)state;
	for (int unknown = 0; unknown <= 1; unknown++) {
		struct compare_series series[2 * EACH];
		struct compare_names names;
		struct compare *c;

		make_names(&names);
		for (size_t i = 0; i < 2 * EACH; i++) {
			run_once(&series[i], &quiet, -1, 1);
			struct compare_cells *cells = &series[i].phases[STEP_DECODE];
			if (unknown && i == FORGOTTEN)
				continue; /* as the history does */
			cells->between_ns = calloc(STEPS, sizeof(uint64_t));
			for (size_t k = 0; k < STEPS && i >= EACH; k++)
				cells->between_ns[k] = cells->total_ns[k] / 2;
		}
		assert_int_equal(compare_create(&c, series, EACH, EACH, &names, &rule), 0);
		const struct compare_row *elapsed = compare_find(c, STEP_DECODE, COMPARE_ELAPSED);
		assert_int_equal(elapsed != NULL, !unknown);
		assert_int_equal(c->verdict == COMPARE_SLOWER, !unknown);
		assert_int_not_equal(compare_find(c, STEP_DECODE, COMPARE_TIME)->difference.verdict,
			COMPARE_SLOWER);
		if (elapsed)
			assert_true(fabs(elapsed->difference.effect - 0.5) < 0.05);
		compare_destroy(c);
		for (size_t i = 0; i < 2 * EACH; i++)
			compare_series_fini(&series[i]);
		free_names(&names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_of_no_length),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(what_few_show),
		cmocka_unit_test(time_between_steps),
		cmocka_unit_test(a_noisy_row_hides_nothing),
		cmocka_unit_test(renamed_and_fused),
		cmocka_unit_test(parts_add_up),
		cmocka_unit_test(found_within_interval),
		cmocka_unit_test(power_is_what_is_stated),
		cmocka_unit_test(intervals_cover),
		cmocka_unit_test(false_alarms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
