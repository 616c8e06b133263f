/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By how much step times vary by themselves (src/analysis/cost/distortion.h): planted moves
 * of stretches are found, and lie within what is said of nine runs of ten; sizes in turns, a
 * context that grows and what differs from step to step are none; few steps say nothing. And what
 * is stated where threads take turns on fewer CPUs.
 */
#include <math.h>
#include "analysis/cost/distortion.h"
#include "tests/unit/distortion_kit.h"
#include "tests/unit/summary_kit.h"

enum { STEPS = 320, STRETCH = STEPS / 8, RUNS = 400 };

static struct run_step steps[STEPS];
static const struct run own = {.steps = steps, .step_count = STEPS};

/* Evenly from -1 to 1. */
static double drawn(void)
{
	static uint32_t seed = 1;
	seed = seed * 1664525u + 1013904223u;
	return (double)(seed >> 8) / (1 << 23) - 1;
}

/* Those of every `sizes`th size are so many times as long as the first. */
static void build(double moves, double differs, double grows, uint64_t sizes)
{
	uint64_t at = 1000;
	double moved = 0;

	for (size_t i = 0; i < STEPS; i++) {
		uint64_t size = 1 + i % sizes;
		if (i % STRETCH == 0)
			moved = moves * drawn();
		double ns = 1e6 * (double)size * (1 + moved + differs * drawn()) *
			    (1 + grows * (double)i / STEPS);
		steps[i] = (struct run_step){.begin_ns = at,
			.end_ns = at + (uint64_t)ns,
			.phase = STEP_DECODE,
			.tokens = size};
		at = steps[i].end_ns;
	}
}

static void what_moves(void **state)
{
	(void)state;
	int held = 0;
	double sum = 0;

	for (int i = 0; i < RUNS; i++) {
		build(0.05, 0, 0, 1 + (uint64_t)i % 4);
		double noise = step_noise(&own, STEP_DECODE);
		sum += noise;
		held += fabs(0.05 * drawn()) <= noise; /* one more stretch */
	}
	/* 0.05 / sqrt(3) is the deviation of what is drawn evenly. */
	assert_float_equal(sum / RUNS, 2.57 * 0.05 / sqrt(3), 0.005);
	assert_in_range(held, RUNS * 9 / 10, RUNS);
}

static void what_does_not(void **state)
{
	(void)state;
	build(0, 0, 0, 4);
	assert_float_equal(step_noise(&own, STEP_DECODE), 0, 1e-4);
	build(0, 0, 0.5, 1); /* half as long again in the end: an eighth of that in a stretch */
	assert_true(step_noise(&own, STEP_DECODE) < 2.57 * 0.5 / 8 / sqrt(2) + 1e-6);
	build(0, 0.2, 0, 1); /* in the mean of 40 steps */
	assert_true(step_noise(&own, STEP_DECODE) < 2.57 * 0.2 / sqrt(3) / sqrt(40) * 2);
}

static void of_phases(void **state)
{
	(void)state;
	build(0.05, 0, 0, 1);
	double decode = step_noise(&own, STEP_DECODE);
	assert_true(step_noise(&own, STEP_PREFILL) == decode); /* there are none of its own */
	assert_true(step_noise(&own, SUMMARY_ALL_PHASES) == decode);
	for (size_t i = 0; i < STEPS; i += 10) {
		steps[i].phase = STEP_PREFILL;
		steps[i].end_ns = steps[i].begin_ns + 1000000;
	}
	assert_float_equal(step_noise(&own, STEP_PREFILL), 0, 1e-9);
	assert_true(step_noise(&own, STEP_DECODE) > 0);
	for (size_t i = 0; i < 10; i++) /* what was refused, and of no size that is there again */
		steps[i].outcome = 1;
	for (size_t i = 40; i < STEPS; i++)
		steps[i].tokens = i;
	assert_true(step_noise(&own, SUMMARY_ALL_PHASES) < 0);
}

enum { COUNT = 80 };

/*
 * Steps that a pool of threads runs one after the other, as of an addon of Node.js: no two of the
 * threads want the CPU at a time, until one step begins before another's end.
 */
static void steps_on_a_pool(void **state)
{
	struct run run;
	struct summary *s;
	struct distortion d;
	(void)state;
	uint32_t lane = start(&run), second = builder_lane(&run, 0, 2);
	uint32_t step = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t node = builder_site(&run, builder_brick(&run, "Work", "Other"), 0, "ADD", "x");
	for (uint64_t i = 0, at = 0; i < COUNT; i++) {
		uint32_t on = i & 1 ? second : lane;
		uint64_t ns = 1000000 + i / 10 % 2 * 100000;
		builder_sample(&run, on, step, at, at + ns, 0);
		builder_step(&run, on, 1);
		builder_sample(&run, on, node, at + 2000, at + 3000, 1);
		at += ns;
	}
	give_stats(&run, lane);
	run.processes[0].pair_cost_ns = 20;
	for (uint32_t i = lane; i <= second; i++) {
		run.lanes[i].hook_calls = run.lanes[i].hook_timed = COUNT / 2;
		run.lanes[i].hook_ns = 20 * COUNT / 2;
	}
	run.cpus = 1;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_int_equal(d.turns, 0);
	assert_true(d.low >= 0 && d.high < 0.01);
	run.steps[8].end_ns = run.steps[9].end_ns;
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_int_equal(d.turns, 2);
	assert_true(distortion_is_hidden(&d));
	summary_destroy(s);
	run_fini(&run);
}

/* Two threads on one CPU: as much as step times vary may be either way. */
static void distortion_of_turns(void **state)
{
	struct run run;
	struct summary *s;
	struct distortion alone, d;
	uint32_t lane = start(&run), worker = builder_lane(&run, 0, 2);
	uint32_t step = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t node = builder_site(&run, builder_brick(&run, "Work", "Other"), 0, "ADD", "x");
	uint64_t at = 0;
	(void)state;
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t ns = 1000000 + i / 10 % 2 * 100000; /* each stretch by a tenth */
		builder_sample(&run, lane, step, at, at + ns, 0);
		builder_step(&run, lane, 1);
		builder_sample(&run, lane, node, at + 2000, at + 3000, 1);
		builder_sample(&run, worker, node, at + 2000, at + 3000, 0);
		at += ns;
	}
	give_stats(&run, lane);
	run.processes[0].pair_cost_ns = 20;
	for (uint32_t i = lane; i <= worker; i++) {
		run.lanes[i].hook_calls = run.lanes[i].hook_timed = COUNT;
		run.lanes[i].hook_ns = 20 * COUNT;
	}
	run.cpus = 2;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&alone, s, SUMMARY_ALL_PHASES);
	assert_false(says(&alone, "took turns"));
	run.cpus = 1;
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	double noise = step_noise(&run, STEP_DECODE);
	assert_in_range((int)(1000 * noise), 150, 200); /* 2.57 * 10 % of 1.05 / sqrt(2) */
	assert_float_equal(d.share, alone.share, 1e-12);
	assert_float_equal(d.low, alone.low - noise, 1e-12);
	assert_float_equal(d.high, alone.high + noise, 1e-12);
	assert_true(says(&d, "2 threads took turns on fewer CPUs; step times vary by 17.3%"));
	run.step_count = 31;
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.share < 0 && isnan(d.low) && isnan(d.high));
	assert_true(says(&d, "on fewer CPUs; too few steps to see"));
	run.step_count = COUNT;
	summary_destroy(s);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_moves),
		cmocka_unit_test(what_does_not),
		cmocka_unit_test(of_phases),
		cmocka_unit_test(steps_on_a_pool),
		cmocka_unit_test(distortion_of_turns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
