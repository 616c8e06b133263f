/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases: steps that take prompts in and make tokens at once, warm-ups, which are in no rate, rates
 * of steps that run at the same time or with gaps between them, and first tokens that devices make
 * after the evaluation has returned.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "analysis/path/path.h"
#include "analysis/steps/step_times.h"
#include "analysis/accounts/summary.h"
#include "analysis/statistics/unknown.h"
#include "tests/unit/run_builder.h"

struct fixture {
	struct run run;
	struct step_index index;
	struct step_times times;
	uint32_t sites[BRICK_FIRST_DYNAMIC]; /* of steps and sampling, by brick */
	uint32_t process, lane;
};

static void open_fixture(struct fixture *f)
{
	static const int known[] = {BRICK_PREFILL, BRICK_DECODE, BRICK_MIXED, BRICK_WARM_UP,
		BRICK_OTHER_STEP, BRICK_SAMPLING, BRICK_SYNCHRONIZE};

	memset(f, 0, sizeof(*f));
	f->run.complete = 1;
	f->run.clock = *brick_clock_get();
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		f->sites[known[i]] =
			builder_site(&f->run, builder_known(&f->run, known[i]), -1, NULL, NULL);
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

static void sample(struct fixture *f, int brick, uint64_t begin, uint64_t end)
{
	builder_sample(&f->run, f->lane, f->sites[brick], begin, end, 0);
}

static uint32_t step(struct fixture *f, int brick, uint64_t begin, uint64_t end, uint64_t tokens)
{
	sample(f, brick, begin, end);
	return builder_step(&f->run, f->lane, tokens);
}

static void mixed_steps_are_a_phase(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	step(&f, BRICK_DECODE, 0, 100, 3);
	uint32_t mixed = step(&f, BRICK_MIXED, 100, 1400, 23);
	f.run.steps[mixed].output_tokens = 3;
	step(&f, BRICK_DECODE, 1400, 1500, 4);
	measure(&f);
	const struct step_phase_times *phases = f.times.phases;
	assert_int_equal(phases[STEP_PREFILL].count, 0);
	assert_int_equal(phases[STEP_DECODE].max_ns, 100);
	assert_int_equal(phases[STEP_DECODE].output_tokens, 7);
	assert_int_equal(phases[STEP_MIXED].count, 1);
	assert_int_equal(phases[STEP_MIXED].tokens, 23);
	assert_int_equal(phases[STEP_MIXED].output_tokens, 3);
	assert_int_equal(phases[STEP_MIXED].max_ns, 1300);
	close_fixture(&f);
}

static void mixed_steps_have_rows(void **state)
{
	struct summary *s;
	struct path *path;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	step(&f, BRICK_MIXED, 100, 1400, 23);
	step(&f, BRICK_WARM_UP, 1400, 1500, 2);
	measure(&f);
	assert_int_equal(summary_create(&s, &f.run, SUMMARY_BY_BRICK, STEP_MIXED), 0);
	assert_int_equal(s->wall_ns, 1300);
	summary_destroy(s);
	assert_int_equal(path_create(&path, &f.run, &f.index, RUN_NONE), 0);
	assert_int_equal(path->section_count, 2);
	assert_int_equal(path->sections[0].phase, STEP_MIXED);
	assert_true(path_tokens_per_s(&path->sections[1], 1) < 0);
	path_destroy(path);
	close_fixture(&f);
}

/* It came before the prompt, and time went by after it. */
static void warm_up_is_in_no_rate(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	step(&f, BRICK_WARM_UP, 100, 500, 2);
	sample(&f, BRICK_SAMPLING, 510, 520);
	step(&f, BRICK_PREFILL, 10000, 10450, 64);
	sample(&f, BRICK_SAMPLING, 10460, 10470);
	step(&f, BRICK_DECODE, 10500, 10600, 1);
	measure(&f);
	assert_int_equal(f.times.ttft_ns, 470);
	assert_int_equal(f.times.phases[STEP_PREFILL].tokens, 64);
	assert_int_equal(f.times.phases[STEP_PREFILL].union_ns, 460);
	assert_int_equal(f.times.phases[STEP_WARM_UP].count, 1);
	close_fixture(&f);
}

/* A step of training takes no prompt in, nor does it make tokens; its own are counted apart. */
static void steps_of_no_known_phase_are_apart(void **state)
{
	struct summary *s;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	step(&f, BRICK_OTHER_STEP, 100, 500, 64);
	step(&f, BRICK_OTHER_STEP, 600, 800, 0);
	step(&f, BRICK_PREFILL, 1000, 1100, 8);
	sample(&f, BRICK_SAMPLING, 1110, 1120);
	measure(&f);
	assert_int_equal(f.times.phases[STEP_OTHER].count, 2);
	assert_int_equal(f.times.phases[STEP_OTHER].tokens, 64);
	assert_int_equal(f.times.phases[STEP_OTHER].output_tokens, 0);
	assert_int_equal(f.times.phases[STEP_PREFILL].count, 1);
	assert_int_equal(f.times.ttft_ns, 120);
	assert_int_equal(step_phase_by_name("other"), STEP_OTHER);
	assert_int_equal(step_phase_by_name("prefil"), -1);
	assert_int_equal(summary_create(&s, &f.run, SUMMARY_BY_BRICK, STEP_OTHER), 0);
	assert_int_equal(s->wall_ns, 600);
	summary_destroy(s);
	close_fixture(&f);
}

static void steps_at_once_count_once(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	uint32_t other = builder_lane(&f.run, f.process, 2);
	step(&f, BRICK_DECODE, 0, 100, 1);
	builder_sample(&f.run, other, f.sites[BRICK_DECODE], 10, 90, 0);
	builder_step(&f.run, other, 1);
	builder_sample(&f.run, other, f.sites[BRICK_DECODE], 95, 150, 0);
	builder_step(&f.run, other, 1);
	step(&f, BRICK_DECODE, 1000, 1050, 1); /* after a gap */
	measure(&f);
	const struct step_phase_times *decode = &f.times.phases[STEP_DECODE];
	assert_int_equal(decode->total_ns, 100 + 80 + 55 + 50);
	assert_int_equal(decode->union_ns, 150 + 50);
	assert_int_equal(decode->wall_ns, 1050);
	close_fixture(&f);
}

/* What other steps take is not between steps, and before a prompt somebody may think. */
static void time_between_is_the_programs(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	step(&f, BRICK_PREFILL, 0, 50, 8);
	step(&f, BRICK_DECODE, 60, 100, 1);
	step(&f, BRICK_PREFILL, 500, 600, 8); /* the next conversation */
	step(&f, BRICK_DECODE, 630, 700, 1);
	step(&f, BRICK_DECODE, 740, 800, 1);
	measure(&f);
	assert_int_equal(f.times.phases[STEP_PREFILL].wall_ns, 50 + 100);
	assert_int_equal(f.times.phases[STEP_DECODE].wall_ns, 10 + 40 + 30 + 70 + 40 + 60);
	close_fixture(&f);
}

/* The engine's call returns at once; what it asked for is there when the wait after it ends. */
static void first_token_waits_for_devices(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	step(&f, BRICK_PREFILL, 100, 200, 64);
	sample(&f, BRICK_SYNCHRONIZE, 250, 900);
	step(&f, BRICK_DECODE, 1000, 1100, 1);
	measure(&f);
	assert_int_equal(f.times.steps[0].done_ns, 900);
	assert_int_equal(f.times.ttft_ns, 800);
	close_fixture(&f);
}

static uint64_t first_token_of(uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t tokens[] = {a, b, c};
	struct fixture f;

	open_fixture(&f);
	for (unsigned i = 0; i < 3; i++)
		step(&f, BRICK_PREFILL, 100 + 200 * i, 200 + 200 * i, tokens[i]);
	step(&f, BRICK_DECODE, 1000, 1100, 1);
	measure(&f);
	uint64_t ns = f.times.ttft_ns;
	close_fixture(&f);
	return ns;
}

/* Where no sampling was recorded: a prompt in batches, or a benchmark that repeats prompts. */
static void batches_or_prompts(void **state)
{
	(void)state;
	assert_int_equal(first_token_of(64, 64, 10), 500);
	assert_true(first_token_of(64, 64, 64) == ANALYSIS_UNKNOWN);
	assert_int_equal(first_token_of(64, 64, 128), 100);
	assert_int_equal(first_token_of(64, 10, 10), 100);
	assert_true(first_token_of(64, 128, 128) == ANALYSIS_UNKNOWN);
}

static void commands_are_a_part_of_the_first_token(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	uint32_t kernel = builder_kernel(&f.run, "gemv", BRICK_KERNEL_COMPUTE, 4);
	uint32_t queue = builder_queue(&f.run, f.process, 1);
	step(&f, BRICK_PREFILL, 100, 200, 64);
	builder_sample(&f.run, queue, f.sites[BRICK_SAMPLING], 300, 700, 0);
	builder_command(&f.run, queue, kernel, f.lane, 0, RUN_NONE);
	step(&f, BRICK_DECODE, 1000, 1100, 1);
	measure(&f);
	assert_int_equal(f.times.steps[0].done_ns, 700);
	assert_int_equal(f.times.ttft_ns, 600);
	close_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mixed_steps_are_a_phase),
		cmocka_unit_test(mixed_steps_have_rows),
		cmocka_unit_test(warm_up_is_in_no_rate),
		cmocka_unit_test(steps_of_no_known_phase_are_apart),
		cmocka_unit_test(steps_at_once_count_once),
		cmocka_unit_test(time_between_is_the_programs),
		cmocka_unit_test(first_token_waits_for_devices),
		cmocka_unit_test(batches_or_prompts),
		cmocka_unit_test(commands_are_a_part_of_the_first_token),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
