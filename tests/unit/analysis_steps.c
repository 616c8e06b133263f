/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps: their times with the sampling after them, order statistics, the time to the first token,
 * steps that never ended, and sampling on threads that run no steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "tests/unit/breakdown_kit.h"
#include "analysis/accounts/call_tree.h"
#include "analysis/path/path.h"
#include "analysis/steps/step_times.h"
#include "analysis/accounts/summary.h"
#include "analysis/statistics/unknown.h"
#include "tests/unit/run_builder.h"

struct fixture {
	struct run run;
	struct step_index index;
	struct step_times times;
	uint32_t prefill, decode, sampling, work; /* sites */
	uint32_t process, lane;
};

static void open_fixture(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->run.complete = 1;
	f->run.clock = *brick_clock_get();
	f->prefill = builder_site(&f->run, builder_known(&f->run, BRICK_PREFILL), -1, NULL, NULL);
	f->decode = builder_site(&f->run, builder_known(&f->run, BRICK_DECODE), -1, NULL, NULL);
	f->sampling = builder_site(&f->run, builder_known(&f->run, BRICK_SAMPLING), -1, NULL, NULL);
	f->work = builder_site(&f->run, builder_brick(&f->run, "Work", "Other"), 0, NULL, NULL);
	f->process = builder_process(&f->run, 1);
	f->lane = builder_lane(&f->run, f->process, 1);
}

static void measure(struct fixture *f)
{
	assert_int_equal(step_index_init(&f->index, &f->run), 0);
	assert_int_equal(step_times_measure(&f->times, &f->run, &f->index), 0);
}

static void close_fixture(struct fixture *f)
{
	step_times_fini(&f->times);
	step_index_fini(&f->index);
	run_fini(&f->run);
}

static uint32_t step(
	struct fixture *f, uint32_t site, uint64_t begin, uint64_t end, uint64_t tokens)
{
	builder_sample(&f->run, f->lane, site, begin, end, 0);
	return builder_step(&f->run, f->lane, tokens);
}

static void sampling_counts_to_the_step_before(void **state)
{
	struct fixture f;
	open_fixture(&f);
	builder_sample(&f.run, f.lane, f.sampling, 10, 40, 0); /* before any step */
	step(&f, f.prefill, 100, 1100, 256);
	builder_sample(&f.run, f.lane, f.sampling, 1150, 1200, 0);
	step(&f, f.decode, 1300, 1400, 1);
	builder_sample(&f.run, f.lane, f.work, 1310, 1390, 1);
	builder_sample(&f.run, f.lane, f.sampling, 1410, 1420, 0);
	builder_sample(&f.run, f.lane, f.sampling, 1430, 1435, 0);
	measure(&f);
	assert_int_equal(f.times.steps[0].after_ns, 50);
	assert_int_equal(f.times.steps[1].after_ns, 15);
	assert_int_equal(f.times.steps[1].unattributed_ns, 20);
	assert_int_equal(f.times.wall_ns, 1000 + 50 + 100 + 15);
	const struct step_phase_times *prefill = &f.times.phases[STEP_PREFILL];
	const struct step_phase_times *decode = &f.times.phases[STEP_DECODE];
	assert_int_equal(prefill->count, 1);
	assert_int_equal(prefill->tokens, 256);
	assert_int_equal(prefill->total_ns, 1050);
	assert_int_equal(prefill->p50_ns, 1050);
	assert_true(prefill->p95_ns == ANALYSIS_UNKNOWN);
	assert_int_equal(decode->total_ns, 115);
	assert_int_equal(f.times.ttft_ns, 1200 - 100);
	close_fixture(&f);
}

static void first_token_without_sampling(void **state)
{
	struct fixture f;
	open_fixture(&f);
	step(&f, f.prefill, 100, 200, 128);
	step(&f, f.prefill, 250, 400, 100);
	step(&f, f.decode, 500, 600, 1);
	step(&f, f.prefill, 700, 900, 5);
	measure(&f);
	assert_int_equal(f.times.ttft_ns, 300);
	close_fixture(&f);

	open_fixture(&f); /* nothing says that there ever was a token */
	step(&f, f.prefill, 100, 200, 128);
	measure(&f);
	assert_true(f.times.ttft_ns == ANALYSIS_UNKNOWN);
	close_fixture(&f);

	open_fixture(&f); /* joined in the middle: decode first */
	step(&f, f.decode, 10, 20, 1);
	step(&f, f.prefill, 100, 200, 128);
	builder_sample(&f.run, f.lane, f.sampling, 210, 230, 0);
	measure(&f);
	assert_int_equal(f.times.ttft_ns, 130);
	close_fixture(&f);

	open_fixture(&f); /* what is sampled behind a batch that was refused is no token */
	step(&f, f.prefill, 10, 20, 128);
	builder_sample(&f.run, f.lane, f.sampling, 21, 23, 0);
	f.run.steps[0].outcome = RUN_REFUSED;
	step(&f, f.prefill, 100, 200, 128);
	builder_sample(&f.run, f.lane, f.sampling, 210, 230, 0);
	measure(&f);
	assert_int_equal(f.times.ttft_ns, 130);
	close_fixture(&f);
}

/* Times of different processes are not subtracted. */
static void first_token_per_process(void **state)
{
	struct fixture f;
	open_fixture(&f);
	uint32_t other = builder_lane(&f.run, builder_process(&f.run, 2), 2);
	step(&f, f.prefill, 100, 200, 8);
	step(&f, f.decode, 300, 400, 1); /* whose sampling was not recorded */
	builder_sample(&f.run, other, f.prefill, 5000, 5100, 0);
	builder_step(&f.run, other, 8);
	builder_sample(&f.run, other, f.sampling, 5110, 5120, 0);
	measure(&f);
	assert_int_equal(f.times.ttft_ns, 100);
	close_fixture(&f);

	open_fixture(&f);
	other = builder_lane(&f.run, builder_process(&f.run, 2), 2);
	step(&f, f.decode, 300, 400, 1); /* the first process says nothing */
	builder_sample(&f.run, other, f.prefill, 5000, 5100, 0);
	builder_step(&f.run, other, 8);
	builder_sample(&f.run, other, f.sampling, 5110, 5120, 0);
	measure(&f);
	assert_int_equal(f.times.ttft_ns, 120);
	close_fixture(&f);
}

static void percentiles_and_median(void **state)
{
	struct fixture f;
	uint64_t at = 0;
	open_fixture(&f);
	for (uint64_t i = 0; i < 100; i++) {
		uint64_t length = (i * 37) % 100 + 1;
		step(&f, f.decode, at, at + length, 1);
		at += length + 1000;
	}
	measure(&f);
	const struct step_phase_times *decode = &f.times.phases[STEP_DECODE];
	assert_int_equal(decode->min_ns, 1);
	assert_int_equal(decode->p50_ns, 50);
	assert_int_equal(decode->p95_ns, 95);
	assert_int_equal(decode->p99_ns, 99);
	assert_int_equal(decode->max_ns, 100);
	uint32_t median = step_times_median(&f.times, &f.run, &f.index, STEP_DECODE);
	assert_int_equal(step_time_total_ns(&f.times.steps[median]), 50);
	assert_true(step_times_median(&f.times, &f.run, &f.index, STEP_PREFILL) == RUN_NONE);
	close_fixture(&f);
}

/* What a step that never ended took is not known: neither it nor what is inside counts. */
static void unfinished_step(void **state)
{
	struct fixture f;
	struct summary *s;
	open_fixture(&f);
	step(&f, f.decode, 100, 200, 1);
	builder_sample(&f.run, f.lane, f.work, 110, 190, 1);
	step(&f, f.decode, 300, 5000, 1);
	f.run.lanes[f.lane].samples[2].flags = f.run.steps[1].open = RUN_SAMPLE_OPEN;
	builder_sample(&f.run, f.lane, f.work, 310, 390, 1);
	measure(&f);
	assert_int_equal(f.index.count, 1);
	assert_int_equal(f.times.wall_ns, 100);
	assert_int_equal(f.times.phases[STEP_DECODE].count, 1);
	assert_int_equal(summary_create(&s, &f.run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->row_count, 1);
	assert_int_equal(s->rows[0].count, 2);
	assert_int_equal(s->rows[0].self_ns, 160);
	assert_int_equal(s->rows[0].wall_ns, 80);
	assert_int_equal(s->rests.unattributed_ns, 20);
	summary_destroy(s);
	close_fixture(&f);
}

/* Engines may evaluate on one thread and sample on another; other threads' work is alongside. */
static void other_threads(void **state)
{
	struct fixture f;
	struct summary *s;
	open_fixture(&f);
	uint32_t sampler = builder_lane(&f.run, f.process, 2),
		 worker = builder_lane(&f.run, f.process, 3);
	step(&f, f.prefill, 100, 200, 8);
	builder_sample(&f.run, f.lane, f.work, 100, 200, 1);
	builder_sample(&f.run, worker, f.work, 110, 150, 0);
	builder_sample(&f.run, sampler, f.sampling, 210, 240, 0);
	builder_sample(&f.run, worker, f.work, 210, 290, 0);
	step(&f, f.decode, 300, 400, 1);
	builder_sample(&f.run, worker, f.work, 310, 360, 0);
	measure(&f);
	assert_int_equal(f.times.steps[0].after_ns, 30);
	assert_int_equal(f.times.wall_ns, 230);
	assert_int_equal(f.times.ttft_ns, 140);
	assert_int_equal(summary_create(&s, &f.run, SUMMARY_BY_PHASE, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->row_count, 3);
	assert_string_equal(s->rows[0].name, "prefill");
	assert_int_equal(s->rows[0].self_ns, 100 + 40 + 30);
	assert_int_equal(s->rows[0].wall_ns, 130);
	assert_int_equal(s->rows[0].total_ns, 100 + 40 + 30);
	assert_string_equal(s->rows[1].name, "decode");
	assert_int_equal(s->rows[1].self_ns, 50);
	assert_int_equal(s->rows[1].wall_ns, 100); /* whole steps */
	assert_int_equal(s->rows[1].total_ns, 150);
	assert_string_equal(s->rows[2].name, "outside of steps");
	assert_int_equal(s->rows[2].self_ns, 80);
	assert_true(summary_phase_coverage(s, STEP_PREFILL) == 1);
	assert_true(summary_phase_coverage(s, STEP_DECODE) == 0);
	summary_destroy(s);

	/* One phase only: what lies in its steps, on all threads. */
	assert_int_equal(summary_create(&s, &f.run, SUMMARY_BY_BRICK, STEP_PREFILL), 0);
	assert_int_equal(s->wall_ns, 130);
	assert_int_equal(s->rests.unattributed_ns, 0);
	assert_int_equal(s->row_count, 2);
	assert_string_equal(s->rows[0].name, "Work");
	assert_int_equal(s->rows[0].count, 2);
	assert_int_equal(s->rows[0].self_ns, 140);
	assert_int_equal(s->rows[0].wall_ns, 100);
	assert_int_equal(s->rows[1].wall_ns, 30);
	summary_destroy(s);
	assert_int_equal(summary_create(&s, &f.run, SUMMARY_BY_BRICK, STEP_DECODE), 0);
	assert_int_equal(s->wall_ns, 100);
	assert_int_equal(s->rests.unattributed_ns, 100);
	assert_int_equal(s->row_count, 1);
	assert_int_equal(s->rows[0].self_ns, 50);
	assert_int_equal(s->rows[0].wall_ns, 0);
	assert_int_equal(s->samples, 6 + 1);
	summary_destroy(s);
	close_fixture(&f);
}

/* Rows of one kind, and what they leave over, add up to the wall time. */
static void check_sums(const struct run *run, uint64_t wall_ns)
{
	for (int by = 0; by <= SUMMARY_BY_THREAD; by++) {
		struct summary *s;
		uint64_t sum_ns = 0;
		assert_int_equal(summary_create(&s, run, by, SUMMARY_ALL_PHASES), 0);
		for (size_t i = 0; i < s->row_count; i++)
			sum_ns += s->rows[i].wall_ns;
		assert_int_equal(s->wall_ns, wall_ns);
		assert_int_equal(sum_ns + s->row_rests.unattributed_ns, wall_ns);
		summary_destroy(s);
	}
}

/* A thread that samples while the next step runs takes no time; what lies between steps does. */
static void sampling_beside_the_next_step(void **state)
{
	struct fixture f;
	struct call_tree *tree;
	struct path *path;
	open_fixture(&f);
	uint32_t sampler = builder_lane(&f.run, f.process, 2);
	step(&f, f.prefill, 100, 200, 8);
	step(&f, f.decode, 200, 300, 1);
	step(&f, f.decode, 320, 420, 1);
	builder_sample(&f.run, sampler, f.sampling, 210, 290, 0);
	builder_sample(&f.run, sampler, f.sampling, 305, 350, 0)->inner_ns = 9; /* 15 before 320 */
	builder_sample(&f.run, sampler, f.sampling, 410, 450, 0)->wait_ns = 5;	/* 30 after 420 */
	builder_sample(&f.run, sampler, f.work, 415, 440, 1);
	measure(&f);
	assert_int_equal(f.times.steps[0].after_ns, 0);
	assert_int_equal(f.times.steps[1].after_ns, 15);
	assert_int_equal(f.times.steps[2].after_ns, 35);
	assert_int_equal(f.times.wall_ns, 350);
	assert_int_equal(f.times.ttft_ns, 350 - 100); /* the last that began in the second step */
	check_sums(&f.run, 350);

	struct breakdown *breakdown;
	assert_int_equal(breakdown_create(&breakdown, &f.run, &f.index), 0);
	uint64_t sum_ns = 0;
	for (uint32_t c = 0; c < breakdown->category_count; c++)
		sum_ns += breakdown_step(breakdown, 2)[c];
	assert_int_equal(sum_ns, 35); /* the step's own time is in no brick */
	breakdown_destroy(breakdown);

	assert_int_equal(call_tree_of_step(&tree, &f.run, &f.index, 2), 0);
	assert_int_equal(tree->nodes[0].time_ns, 135);
	call_tree_destroy(tree);

	assert_int_equal(path_create(&path, &f.run, &f.index, RUN_NONE), 0);
	const struct path_section *decode = &path->sections[path->sections[0].phase != STEP_DECODE];
	assert_int_equal(decode->phase, STEP_DECODE);
	assert_int_equal(decode->measured_ns, 250);
	assert_int_equal(decode->length_ns, 250);
	for (size_t i = 0; i < decode->row_count; i++)
		if (!strcmp(decode->rows[i].name, "Sampling"))
			assert_int_equal(decode->rows[i].count, 3);
	path_destroy(path);
	close_fixture(&f);
}

/* One thread decodes from 0 to 900; meanwhile another one prefills. */
static void steps_that_overlap(void **state)
{
	struct fixture f;
	open_fixture(&f);
	uint32_t other = builder_lane(&f.run, f.process, 2), helper = builder_lane(&f.run, 0, 3);
	step(&f, f.decode, 0, 900, 1);
	builder_sample(&f.run, other, f.prefill, 100, 200, 0);
	builder_step(&f.run, other, 8);
	builder_sample(&f.run, other, f.prefill, 400, 500, 0);
	builder_step(&f.run, other, 8);
	builder_sample(&f.run, f.lane, f.sampling, 910, 920, 0);
	builder_sample(&f.run, other, f.sampling, 510, 530, 0);
	builder_sample(&f.run, helper, f.work, 300, 350, 0);
	measure(&f);
	assert_int_equal(step_index_at(&f.index, &f.run, helper, 50), 0);
	assert_int_equal(step_index_at(&f.index, &f.run, helper, 150), 1);
	assert_int_equal(step_index_at(&f.index, &f.run, helper, 300), 0);
	assert_int_equal(step_index_at(&f.index, &f.run, f.lane, 150), 0);
	assert_int_equal(step_index_at(&f.index, &f.run, other, 300), 0);
	assert_true(step_index_at(&f.index, &f.run, f.lane, 900) == RUN_NONE);
	assert_int_equal(step_index_overlap(&f.index, &f.run, 0, 450, 950), 450);
	assert_int_equal(step_index_overlap(&f.index, &f.run, 0, 900, 950), 0);
	/* sampling counts to its own thread's step */
	assert_int_equal(f.times.steps[0].after_ns, 10);
	assert_int_equal(f.times.steps[1].after_ns, 0);
	assert_int_equal(f.times.steps[2].after_ns, 20);
	check_sums(&f.run, 900 + 100 + 100 + 30);
	struct summary *s;
	assert_int_equal(summary_create(&s, &f.run, SUMMARY_BY_PHASE, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->row_count, 2);
	assert_int_equal(s->rows[STEP_DECODE].self_ns, 50 + 10);
	summary_destroy(s);
	close_fixture(&f);
}

/* Where records were dropped, a later token is not taken for the first, and steps are missed. */
static void dropped_steps_are_missed(void **state)
{
	struct fixture f;
	open_fixture(&f);
	step(&f, f.prefill, 100, 1100, 256);
	step(&f, f.decode, 1300, 1400, 1);
	step(&f, f.decode, 1500, 1600, 1);
	builder_sample(&f.run, f.lane, f.sampling, 1610, 1620, 0);
	measure(&f);
	assert_int_equal(f.times.ttft_ns, 1520); /* the prompt's last part had one token */
	assert_int_equal(f.times.phases[STEP_DECODE].dropped, 0);
	step_times_fini(&f.times);
	step_index_fini(&f.index);
	struct run_lane *lane = &f.run.lanes[f.lane];
	lane->stats = calloc(f.run.brick_count, sizeof(*lane->stats));
	lane->stats[f.run.sites[f.prefill].brick].count = 1;
	lane->stats[f.run.sites[f.decode].brick].count = 39;
	lane->ledger.dropped = 300;
	measure(&f);
	assert_true(f.times.ttft_ns == ANALYSIS_UNKNOWN);
	assert_int_equal(f.times.phases[STEP_PREFILL].dropped, 0);
	assert_int_equal(f.times.phases[STEP_DECODE].count, 2);
	assert_int_equal(f.times.phases[STEP_DECODE].dropped, 37);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sampling_counts_to_the_step_before),
		cmocka_unit_test(dropped_steps_are_missed),
		cmocka_unit_test(first_token_without_sampling),
		cmocka_unit_test(first_token_per_process),
		cmocka_unit_test(percentiles_and_median),
		cmocka_unit_test(unfinished_step),
		cmocka_unit_test(other_threads),
		cmocka_unit_test(sampling_beside_the_next_step),
		cmocka_unit_test(steps_that_overlap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
