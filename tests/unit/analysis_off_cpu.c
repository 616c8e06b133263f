/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose time off a CPU is: the brick's as far as it worked for long enough, else of the waits in it
 * and behind it, which are rows with times of their own on and off the CPU.
 */
#include "tests/unit/summary_kit.h"

static const struct summary_row *row(const struct summary *s, const char *name)
{
	for (size_t i = 0; i < s->row_count; i++)
		if (!strcmp(s->rows[i].name, name))
			return &s->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

/*
 * Work [100, 1100], 600 of it waiting, and 200 behind it; then Work [2000, 2400]. Off its CPU the
 * thread is 500 within the first one, longer than that worked; 100 behind it; 150 of the second.
 */
static void waits_have_time_off_the_cpu(void **state)
{
	struct run_off_cpu off[] = {{.begin_ns = 300, .end_ns = 800, .preempted = 1},
		{.begin_ns = 1150, .end_ns = 1250, .before = {.preempted_ns = 500}},
		{.begin_ns = 2100, .end_ns = 2250, .preempted = 1, .before = {100, 500}}};
	struct summary *s;
	struct run run;

	(void)state;
	uint32_t lane = start(&run);
	uint32_t work = builder_site(&run, builder_brick(&run, "Work", "Other"), -1, NULL, NULL);
	uint32_t step = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	builder_known(&run, BRICK_BARRIER_WAIT);
	builder_sample(&run, lane, step, 0, 3000, 0);
	builder_step(&run, lane, 1);
	struct run_sample *first = builder_sample(&run, lane, work, 100, 1100, 1);
	first->inner_ns = 600;
	first->wait_ns = 200;
	builder_sample(&run, lane, work, 2000, 2400, 1);
	run.off_cpu.source = OFF_CPU_SWITCHES;
	run.lanes[lane].off_cpu = off;
	run.lanes[lane].off_cpu_count = 3;
	run.lanes[lane].end_ns = run.end_ns = 3000;

	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	const struct summary_row *worked = row(s, "Work"), *waited = row(s, "BarrierWait");
	assert_int_equal(worked->self_ns, 800);
	assert_int_equal(worked->preempted_ns, 150);
	assert_int_equal(worked->blocked_ns, 0);
	assert_int_equal(worked->cpu_ns, 650);
	/* the same of the wall time: what all rows ran, and what they were off, is all of it */
	assert_int_equal(worked->wall_off.preempted_ns, 150);
	assert_int_equal(worked->wall_ns, 650);
	assert_int_equal(waited->wall_off.preempted_ns, 500);
	assert_int_equal(waited->wall_off.blocked_ns, 0);
	assert_int_equal(waited->wall_ns, 300); /* blocked is what waits are */
	assert_int_equal(s->rests.preempted_ns, 650);
	assert_int_equal(s->rests.blocked_ns, 0);
	assert_int_equal(
		worked->wall_ns + waited->wall_ns + 650 + s->rests.unattributed_ns, s->wall_ns);
	/* one basis for all that is said of single executions: 500 and 250 on the CPU */
	assert_int_equal(worked->basis, BASIS_CPU);
	assert_int_equal(worked->min_ns, 250);
	assert_int_equal(worked->avg_ns, 375);
	assert_int_equal(worked->max_ns, 500);
	assert_true(worked->p50_ns >= 250 && worked->p50_ns <= 253);
	assert_int_equal(worked->length_min_ns, 400);
	assert_int_equal(worked->length_avg_ns, 700);
	assert_int_equal(worked->length_max_ns, 1000);
	assert_int_equal(waited->self_ns, 800);
	assert_int_equal(waited->preempted_ns, 500);
	assert_int_equal(waited->blocked_ns, 100);
	assert_int_equal(waited->cpu_ns, 200);
	/* how long they wait, whoever had the CPU meanwhile */
	assert_true(waited->p50_ns >= 198 && waited->p50_ns <= 202);
	assert_int_equal(waited->basis, BASIS_WALL);
	assert_int_equal(waited->min_ns, 200);
	assert_int_equal(waited->max_ns, 600);
	summary_destroy(s);
	run.lanes[lane].off_cpu = NULL;
	run.lanes[lane].off_cpu_count = 0;
	run_fini(&run);
}

/*
 * A step of 100 that is off its CPU for 60 of it, again and again; of the third it was not
 * recorded. Then none of it is told of any of them.
 */
static void build_steps(struct run *run, uint32_t lane, uint32_t step, uint32_t work)
{
	struct run_off_cpu *off = calloc(4, sizeof(*off));

	for (uint64_t i = 0; i < 4; i++) {
		uint64_t at = 1000 * i;
		builder_sample(run, lane, step, at, at + 100, 0);
		builder_step(run, lane, 1);
		builder_sample(run, lane, work, at, at + 100, 1);
		off[i] = (struct run_off_cpu){
			.begin_ns = at + 20, .end_ns = at + 80, .before = {.blocked_ns = 60 * i}};
	}
	run->lanes[lane].off_cpu = off;
	run->lanes[lane].off_cpu_count = 4;
	run->lanes[lane].end_ns = run->end_ns = 4000;
	run->off_cpu.source = OFF_CPU_SWITCHES;
	run->off_cpu.gap_count = 1;
	run->off_cpu.gaps[0] = (struct off_cpu_gap){2050, 2900, 20000, 1700};
}

static void assert_rows(const struct run *run, int phase, bool known)
{
	struct summary *s;

	assert_int_equal(summary_create(&s, run, SUMMARY_BY_BRICK, phase), 0);
	const struct summary_row *worked = row(s, "Work");
	assert_int_equal(worked->cpu_ns, known ? 160 : ANALYSIS_UNKNOWN);
	assert_int_equal(worked->off_ns, known ? 240 : ANALYSIS_UNKNOWN);
	assert_int_equal(worked->blocked_ns, known ? 240 : ANALYSIS_UNKNOWN);
	assert_int_equal(worked->basis, known ? BASIS_CPU : BASIS_WALL);
	assert_int_equal(worked->avg_ns, known ? 40 : 100);
	/* by the time on the CPU, or by that on the wall; to within a histogram's width */
	if (phase != SUMMARY_ALL_PHASES)
		assert_in_range(worked->p50_ns, known ? 39 : 98, known ? 41 : 102);
	summary_destroy(s);
}

static void what_was_not_recorded_is_not_known(void **state)
{
	struct summary *s;
	struct run run;

	(void)state;
	uint32_t lane = start(&run);
	uint32_t work = builder_site(&run, builder_brick(&run, "Work", "Other"), -1, NULL, NULL);
	uint32_t step = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	build_steps(&run, lane, step, work);
	assert_rows(&run, SUMMARY_ALL_PHASES, false);
	assert_rows(&run, STEP_DECODE, false);

	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_STEP, SUMMARY_ALL_PHASES), 0);
	for (size_t i = 0; i < s->row_count; i++)
		assert_int_equal(s->rows[i].off_ns, ANALYSIS_UNKNOWN);
	summary_destroy(s);

	run.off_cpu.gaps[0] = (struct off_cpu_gap){2100, 2900, 20000, 1700}; /* between steps */
	assert_rows(&run, SUMMARY_ALL_PHASES, false);
	assert_rows(&run, STEP_DECODE, true);
	run.off_cpu.gap_count = 0;
	assert_rows(&run, SUMMARY_ALL_PHASES, true);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_have_time_off_the_cpu),
		cmocka_unit_test(what_was_not_recorded_is_not_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
