/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison's bricks are on the CPU, waits are whole, and what threads of steps were off it are
 * rows of their own; all of them are the step's time, also by way of a history. Where that is known
 * of some of the recordings only, no brick is called slower.
 */
#include <math.h>
#include "analysis/compare/compare.h"
#include "analysis/compare/history_parts.h"
#include "tests/unit/summary_kit.h"

enum { STEPS = 4, SIDE = 6, PITCH = 10000, LENGTH = 5000 };

struct recording {
	struct run run;
	struct run_off_cpu off[2 * STEPS];
};

/*
 * Steps of 5000 ns and what they are preempted for: 2000 of Work and that, 1000 of a wait, of which
 * 600 blocked, the rest of neither. Processes differ by some ns in Work.
 */
static void record(struct recording *r, uint64_t preempted_ns, uint64_t jitter_ns, bool known)
{
	struct run *run = &r->run;
	uint32_t lane = start(run);
	uint32_t work = builder_site(run, builder_brick(run, "Work", "Other"), -1, NULL, NULL);
	uint32_t step = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t wait = builder_site(run, builder_known(run, BRICK_BARRIER_WAIT), -1, NULL, NULL);
	struct run_off_times before = {0};
	size_t n = 0;

	for (int i = 0; i < STEPS; i++) {
		uint64_t ns = 1000 + (uint64_t)i * PITCH,
			 worked = ns + 100 + 2000 + jitter_ns + preempted_ns;
		builder_sample(run, lane, step, ns, ns + LENGTH + jitter_ns + preempted_ns, 0);
		builder_step(run, lane, 1);
		builder_sample(run, lane, work, ns + 100, worked, 1);
		builder_sample(run, lane, wait, worked + 100, worked + 1100, 1);
		if (preempted_ns)
			r->off[n++] = (struct run_off_cpu){.begin_ns = ns + 500,
				.end_ns = ns + 500 + preempted_ns,
				.preempted = 1,
				.before = before};
		before.preempted_ns += preempted_ns;
		r->off[n++] = (struct run_off_cpu){
			.begin_ns = worked + 200, .end_ns = worked + 800, .before = before};
		before.blocked_ns += 600;
	}
	run->lanes[lane].end_ns = run->end_ns = 1000 + STEPS * PITCH;
	if (!known)
		return;
	run->off_cpu.source = OFF_CPU_SWITCHES;
	run->lanes[lane].off_cpu = r->off;
	run->lanes[lane].off_cpu_count = n;
}

static void drop(struct recording *r)
{
	r->run.lanes[0].off_cpu = NULL;
	r->run.lanes[0].off_cpu_count = 0;
	run_fini(&r->run);
}

static void read_recording(struct compare_series *series, struct compare_names *names,
	uint64_t preempted_ns, uint64_t jitter_ns, bool known, bool by_history)
{
	struct recording r = {0};
	struct history_run history;

	record(&r, preempted_ns, jitter_ns, known);
	if (!by_history) {
		assert_int_equal(compare_series_init(series, names, &r.run, SUMMARY_BY_BRICK), 0);
		assert_int_equal(compare_series_reduce(series), 0);
	} else {
		assert_int_equal(history_run_init(&history), 0);
		assert_int_equal(history_parts_of_run(&history, &r.run), 0);
		assert_int_equal(
			history_parts_series(series, names, &history, SUMMARY_BY_BRICK), 0);
		history_run_fini(&history);
	}
	drop(&r);
}

static const struct compare_row *row(const struct compare *c, const char *name)
{
	for (size_t i = 0; i < c->row_count; i++)
		if (c->rows[i].name && !strcmp(c->rows[i].name, name))
			return &c->rows[i];
	return NULL;
}

struct fixture {
	struct compare_names names;
	struct compare_series series[2 * SIDE];
	struct compare *compare;
};

/* A: as it is; B: each step preempted for 3000 ns, of which nothing or all is known. */
static void compare(struct fixture *f, bool known_in_b, bool by_history)
{
	memset(f, 0, sizeof(*f));
	for (size_t i = 0; i < 2 * SIDE; i++)
		read_recording(&f->series[i], &f->names, i < SIDE ? 0 : 3000, i % SIDE,
			i < SIDE || known_in_b, by_history);
	const struct compare_rule rule = {.threshold = 0.01};

	assert_int_equal(compare_create(&f->compare, f->series, SIDE, SIDE, &f->names, &rule), 0);
}

static void end(struct fixture *f)
{
	compare_destroy(f->compare);
	for (size_t i = 0; i < 2 * SIDE; i++)
		compare_series_fini(&f->series[i]);
	compare_names_fini(&f->names);
}

static void assert_times(const struct compare_row *of, double a, double b)
{
	assert_non_null(of);
	assert_true(fabs(of->difference.a - a) <= SIDE && fabs(of->difference.b - b) <= SIDE);
}

static void check_on_cpu(bool by_history)
{
	struct fixture f;
	double points = 0;

	compare(&f, true, by_history);
	const struct compare *c = f.compare;
	assert_int_equal(c->basis, BASIS_CPU);
	assert_times(row(c, "Work"), 2000, 2000);
	assert_int_equal(row(c, "Work")->difference.verdict, COMPARE_SAME);
	assert_times(row(c, "BarrierWait"), 1000, 1000);
	assert_times(row(c, "unattributed"), 2000, 2000);
	assert_times(row(c, "preempted"), 0, 3000);
	assert_null(row(c, "blocked"));
	assert_int_equal(row(c, "preempted")->kind, COMPARE_OFF_CPU);
	for (size_t i = 0; i < c->row_count; i++)
		points += isnan(c->rows[i].points) ? 0 : c->rows[i].points;
	assert_true(fabs(points - 0.6) < 0.002);
	end(&f);
}

static void bricks_are_on_the_cpu(void **state)
{
	(void)state;
	check_on_cpu(false);
}

static void runs_of_a_history_are_alike(void **state)
{
	(void)state;
	check_on_cpu(true);
}

static void where_some_know_no_brick_is_slower(void **state)
{
	struct fixture f;

	(void)state;
	compare(&f, false, false);
	assert_int_equal(f.compare->basis, BASIS_MIXED);
	assert_times(row(f.compare, "Work"), 2000, 5000);
	assert_int_equal(row(f.compare, "Work")->difference.verdict, COMPARE_UNSURE);
	/* nor is it said of one that it is the same */
	assert_int_equal(row(f.compare, "unattributed")->difference.verdict, COMPARE_UNSURE);
	assert_null(row(f.compare, "preempted"));
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bricks_are_on_the_cpu),
		cmocka_unit_test(runs_of_a_history_are_alike),
		cmocka_unit_test(where_some_know_no_brick_is_slower),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
