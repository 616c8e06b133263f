/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of a run by hand: what points at samples points at the same ones afterwards, what is cut is
 * no execution, wall time stays whole, and what there is none of is said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/accounts/selection.h"
#include "analysis/accounts/summary.h"
#include "analysis/statistics/unknown.h"
#include "brick/error.h"
#include "tests/unit/run_builder.h"

enum { STEPS = 3 };

/*
 * Three decode steps [1000 i, 1000 i + 600] in a brick that holds all of them, each with Work
 * [+100, +300], which launches a command [+200, +250] that had to wait for the one before, and Wait
 * [+300, +400] for it. Before all of them Work [100, 900].
 */
static void build(struct run *run)
{
	memset(run, 0, sizeof(*run));
	run->complete = 1;
	run->clock = (struct brick_clock){.mult = 1};
	uint32_t lane = builder_lane(run, builder_process(run, 1), 7);
	uint32_t queue = builder_queue(run, 0, 9);
	uint32_t kernel = builder_kernel(run, "k", 0, 1);
	uint32_t holder = builder_site(run, builder_brick(run, "Main", "Other"), -1, NULL, NULL);
	uint32_t work = builder_site(run, builder_brick(run, "Work", "Other"), 2, NULL, NULL);
	uint32_t wait = builder_site(run, builder_known(run, BRICK_SYNCHRONIZE), -1, NULL, NULL);
	uint32_t step = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t before = RUN_NONE;
	builder_sample(run, lane, work, 100, 900, 0);
	builder_sample(run, lane, holder, 950, 5000, 0);
	for (uint64_t i = 1; i <= STEPS; i++) {
		uint64_t ns = 1000 * i;
		builder_sample(run, lane, step, ns, ns + 600, 1);
		builder_step(run, lane, 1);
		builder_sample(run, lane, work, ns + 100, ns + 300, 2);
		uint32_t call = (uint32_t)run->lanes[lane].sample_count - 1;
		builder_sample(run, queue, work, ns + 200, ns + 250, 0);
		before = builder_command(run, queue, kernel, lane, call, before);
		builder_sample(run, lane, wait, ns + 300, ns + 400, 2);
		builder_waits(run, lane, call + 1, before);
	}
	run->lanes[lane].hook_calls = 100;
	run->lanes[lane].end_ns = run->end_ns = 5000;
}

static void narrow(struct run *run, struct selection selection)
{
	char *missing;
	assert_int_equal(selection_apply(&selection, run, &missing), 0);
	assert_null(missing);
}

static void what_points_at_samples(void **state)
{
	struct selection last = SELECTION_INIT;
	struct run run;
	(void)state;
	build(&run);
	last.steps[0] = (struct selection_range){2, 3};
	last.step_ranges = 1;
	narrow(&run, last);
	assert_string_equal(run.selected, "steps 2-3");
	assert_int_equal(run.lanes[0].sample_count, 6);
	assert_int_equal(run.lanes[0].hook_calls, 55); /* 6 of 11 */
	assert_int_equal(run.step_count, 2);
	assert_int_equal(run.all_steps, 3);
	for (uint32_t i = 0; i < 2; i++) {
		const struct run_sample *samples = run.lanes[0].samples;
		const struct run_command *c = &run.commands[i];
		uint64_t ns = 1000 * (i + 2);
		assert_int_equal(run.steps[i].number, i + 2);
		assert_int_equal(samples[run.steps[i].sample].begin_ns, ns);
		assert_int_equal(samples[run.steps[i].sample].depth, 0); /* no holder any more */
		assert_int_equal(run.lanes[1].samples[c->sample].begin_ns, ns + 200);
		assert_int_equal(samples[c->launch_sample].begin_ns, ns + 100);
		assert_int_equal(samples[run.waits[i].sample].begin_ns, ns + 300);
		assert_int_equal(run.waits[i].command, i);
		assert_int_equal(c->dependency_count, i); /* that of step 2 is left out */
	}
	assert_int_equal(run.dependencies[run.commands[1].dependency_first], 0);
	run_fini(&run);
}

static void wall_time_stays_whole(void **state)
{
	struct selection work = SELECTION_INIT;
	struct summary *s;
	struct run run;
	(void)state;
	build(&run);
	work.brick = "Work";
	narrow(&run, work);
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->wall_ns, STEPS * 600);
	assert_int_equal(s->row_count, 1);
	assert_int_equal(s->rows[0].count, STEPS + 1);
	assert_int_equal(s->rows[0].wall_ns, STEPS * 200);
	assert_int_equal(s->rests.left_out_ns, STEPS * 100); /* Synchronize */
	assert_int_equal(s->rests.unattributed_ns, STEPS * 300);
	summary_destroy(s);
	run_fini(&run);
}

/* What is not known of steps that were left out is no fault of the others. */
static void gaps_of_what_is_left_out(void **state)
{
	static const struct {
		struct off_cpu_gap gap;
		int kept;
	} cases[] = {{{.begin_ns = 3100, .end_ns = 3200}, 1},
		{{.begin_ns = 100, .end_ns = 2000}, 0},
		{{.begin_ns = 3600, .end_ns = UINT64_MAX}, 0},
		{{.begin_ns = 0, .end_ns = 2001}, 1}};
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct selection last = SELECTION_INIT;
		struct run run;
		build(&run);
		run.off_cpu.source = OFF_CPU_SWITCHES;
		run.off_cpu.gap_count = 1;
		run.off_cpu.gaps[0] = cases[i].gap;
		last.steps[0] = (struct selection_range){2, 3};
		last.step_ranges = 1;
		narrow(&run, last);
		assert_int_equal(run.off_cpu.gap_count, cases[i].kept);
		run_fini(&run);
	}
}

/* Time between steps that were left out is no gap: there is no rate by the wall clock then. */
static void steps_that_are_left_out_are_no_gap(void **state)
{
	static const struct selection_range in_a_row[] = {{1, 3}}, apart[] = {{1, 1}, {3, 3}};
	(void)state;
	for (unsigned ranges = 1; ranges <= 2; ranges++) {
		struct selection some = SELECTION_INIT;
		struct summary *s;
		struct run run;
		build(&run);
		memcpy(some.steps, ranges == 1 ? in_a_row : apart, ranges * sizeof(*apart));
		some.step_ranges = ranges;
		narrow(&run, some);
		assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
		const struct step_phase_times *decode = &s->steps.phases[STEP_DECODE];
		assert_int_equal(decode->wall_ns, ranges == 1 ? 2600 : ANALYSIS_UNKNOWN);
		assert_int_equal(decode->union_ns, ranges == 1 ? 1800 : 1200);
		summary_destroy(s);
		run_fini(&run);
	}
}

/* A prompt that is not of the phase that was asked for is not time between its steps. */
static void steps_of_other_phases_are_no_gap(void **state)
{
	struct selection decode = SELECTION_INIT;
	struct summary *s;
	struct run run;

	(void)state;
	build(&run);
	run.steps[1].phase = BRICK_PHASE_PREFILL;
	decode.phase = STEP_DECODE;
	narrow(&run, decode);
	assert_int_equal(run.step_count, STEPS - 1);
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->steps.phases[STEP_DECODE].union_ns, 600 * (STEPS - 1));
	assert_int_equal(s->steps.phases[STEP_DECODE].wall_ns, 600 * (STEPS - 1));
	summary_destroy(s);
	run_fini(&run);
}

static void what_is_cut_is_no_execution(void **state)
{
	struct selection early = SELECTION_INIT;
	struct summary *s;
	struct run run;
	(void)state;
	build(&run);
	early.since_ns = 300;
	early.until_ns = 1500; /* Work [100, 900] is cut, step 1 is there, as a whole */
	narrow(&run, early);
	assert_int_equal(run.lanes[0].samples[0].begin_ns, 300);
	assert_int_equal(run.lanes[0].samples[0].flags & RUN_SAMPLE_OPEN, RUN_SAMPLE_OPEN);
	assert_int_equal(run.step_count, 1);
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->wall_ns, 600);
	for (size_t i = 0; i < s->row_count; i++)
		if (!strcmp(s->rows[i].name, "Work")) {
			assert_int_equal(s->rows[i].count, 1);
			assert_int_equal(s->rows[i].self_ns, 600 + 200);
		}
	summary_destroy(s);
	run_fini(&run);
}

static void a_thread_and_what_it_launched(void **state)
{
	struct selection thread = SELECTION_INIT, queue = SELECTION_INIT;
	struct run run;
	(void)state;
	build(&run);
	thread.thread = "7";
	narrow(&run, thread);
	for (size_t lane = 0; lane < 2; lane++)
		for (size_t i = 0; i < run.lanes[lane].sample_count; i++)
			assert_int_equal(run.sites[run.lanes[lane].samples[i].site].left_out, 0);
	run_fini(&run);
	build(&run);
	queue.thread = "9";
	narrow(&run, queue);
	assert_int_equal(run.sites[run.lanes[0].samples[0].site].left_out, RUN_LEFT_OUT_ALL);
	assert_int_equal(run.sites[run.lanes[1].samples[0].site].left_out, 0);
	assert_int_equal(selection_drop(&run), 0);
	assert_int_equal(run.lanes[0].sample_count, STEPS); /* of the thread only its steps */
	assert_int_equal(run.command_count, STEPS);
	assert_int_equal(run.commands[0].launch_lane, RUN_NONE);
	run_fini(&run);
}

static void what_there_is_none_of(void **state)
{
	struct selection step = SELECTION_INIT, layer = SELECTION_INIT;
	char *missing;
	struct run run;
	(void)state;
	build(&run);
	step.steps[0] = (struct selection_range){4, 9};
	step.step_ranges = 1;
	assert_int_equal(selection_apply(&step, &run, &missing), BRICK_ENOTRECORDED);
	assert_string_equal(missing, "no such step; it has 3 that ended");
	free(missing);
	run_fini(&run);
	build(&run);
	layer.layer = 5;
	assert_int_equal(selection_apply(&layer, &run, &missing), BRICK_ENOTRECORDED);
	assert_string_equal(missing, "no layer 5");
	free(missing);
	run_fini(&run);
}

static void remember(struct run *run, uint32_t kind, uint32_t step, uint64_t bytes)
{
	BUILDER_GROW(run->memories, run->memory_count);
	run->memories[run->memory_count++] = (struct run_memory){.ns = 1000 * (step + 1) + 500,
		.step = step,
		.kind = kind,
		.site = RUN_NONE,
		.live_bytes = bytes,
		.peak_bytes = 2 * bytes};
}

/* What is alive in a step was told in a step that is left out. */
static void memory_of_earlier_steps(void **state)
{
	struct selection second = SELECTION_INIT;
	struct run run;
	(void)state;
	build(&run);
	remember(&run, BRICK_MEMORY_WEIGHTS, 0, 4096);
	remember(&run, BRICK_MEMORY_ALL, 0, 5000);
	remember(&run, BRICK_MEMORY_ALL, 1, 6000);
	remember(&run, BRICK_MEMORY_WEIGHTS, 2, 9000);
	second.steps[0] = (struct selection_range){2, 2};
	second.step_ranges = 1;
	narrow(&run, second);
	const struct run_memory *m = run.memories;
	assert_int_equal(run.memory_count, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(m[i].step, 0);
	assert_true(m[0].kind == BRICK_MEMORY_WEIGHTS && m[0].live_bytes == 4096);
	assert_true(m[0].ns == 2000 && m[0].peak_bytes == 4096); /* not the earlier step's peak */
	assert_true(m[1].kind == BRICK_MEMORY_ALL && m[1].live_bytes == 5000);
	assert_true(m[2].live_bytes == 6000 && m[2].peak_bytes == 12000);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_points_at_samples),
		cmocka_unit_test(memory_of_earlier_steps),
		cmocka_unit_test(wall_time_stays_whole),
		cmocka_unit_test(gaps_of_what_is_left_out),
		cmocka_unit_test(steps_that_are_left_out_are_no_gap),
		cmocka_unit_test(steps_of_other_phases_are_no_gap),
		cmocka_unit_test(what_is_cut_is_no_execution),
		cmocka_unit_test(a_thread_and_what_it_launched),
		cmocka_unit_test(what_there_is_none_of),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
