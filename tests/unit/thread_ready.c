/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making a thread ready to record takes milliseconds, while others may wait for it: that is in the
 * recording, and in what recording cost.
 */
#include "brick/attach.h"
#include "tests/unit/distortion_kit.h"
#include "tests/unit/summary_kit.h"
#include "tests/unit/peek.h"

static void its_lane_begins_with_what_that_took(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	assert_int_equal(brick_thread_ready(), 0);
	assert_int_equal(brick_thread_ready(), 0);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	uint32_t own = (uint32_t)brick_register(BRICK_READY_NAME, BRICK_CATEGORY_ENGINE);
	assert_int_equal(lane->stats[own].count, 1);
	assert_true(lane->stats[own].total > 0);
	assert_int_equal(peek_record(lane, 0)->begin, lane->start_ticks);
	assert_int_equal(peek_record(lane, 1)->brick, own);
	assert_int_equal(peek_record(lane, 1)->begin, lane->start_ticks);
	peek_stop(&p);
}

/* A thread of the team gets its lane in a step: the others wait for it. */
static void distortion_of_getting_ready(void **state)
{
	struct run run;
	struct summary *s;
	struct distortion d;
	uint32_t lane = start(&run), worker = builder_lane(&run, 0, 2);
	uint32_t step = builder_site(&run, builder_known(&run, BRICK_PREFILL), -1, NULL, NULL);
	uint32_t node = builder_site(&run, builder_brick(&run, "Work", "Other"), 0, "ADD", "x");
	uint32_t own = builder_brick(&run, BRICK_READY_NAME, "Engine");
	builder_sample(&run, lane, step, 0, 10000, 0);
	builder_step(&run, lane, 1);
	builder_sample(&run, lane, node, 2000, 3000, 1);
	builder_sample(&run, worker, builder_site(&run, own, -1, NULL, NULL), 100, 1100, 0);
	run.processes[0].pair_cost_ns = 20;
	for (uint32_t i = 0; i < 2; i++) {
		give_stats(&run, i);
		run.lanes[i].hook_calls = run.lanes[i].hook_timed = 1;
		run.lanes[i].hook_ns = 20;
	}
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.share > 0.10199 && d.share < 0.10201); /* 1000 + 20 of 10000 */
	assert_true(d.low < 0.00201 && d.high > 0.10199);
	assert_true(says(&d, "0.001 ms getting other threads ready"));
	summary_destroy(s);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_lane_begins_with_what_that_took),
		cmocka_unit_test(distortion_of_getting_ready),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
