/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The accounting rule where threads work beside steps, and where there are no steps.
 */
#include "tests/unit/accounting_kit.h"

static int by_begin(const void *a, const void *b)
{
	const struct run_step *x = a, *y = b;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Samples one after the other, with one inside of each; on a driver, every other one is a step. */
static void add_lane(struct run *run, uint32_t lane, bool drives)
{
	for (int at = pick(50), i = 0; i < 40; i++) {
		int length = pick(90), end = at + length, wait = pick(3) ? 0 : pick(20);
		int brick = drives && i % 2 ? (pick(2) ? DECODE : PREFILL)
			    : pick(3)	    ? SAMPLING
					    : WORK_A;
		struct run_sample *sample =
			builder_sample(run, lane, (uint32_t)brick, (uint64_t)at, (uint64_t)end, 0);
		sample->wait_ns = (uint32_t)wait;
		sample->inner_ns = (uint32_t)pick(30);
		if (is_step(brick))
			builder_step(run, lane, 1);
		if (length > 4 && pick(2))
			builder_sample(run, lane, (uint32_t)(pick(2) ? WORK_B : WAIT),
				(uint64_t)(at + 1 + pick(length / 2)), (uint64_t)(end - 1), 1)
				->wait_ns = (uint32_t)pick(4);
		at = end + wait + (pick(2) ? pick(60) : 0);
	}
}

/* No thread that runs no steps has more of the wall time than there was time without any. */
static void check_helpers(const struct summary *s, uint32_t last_driver)
{
	static bool runs[2 * LENGTH];
	const struct run *run = s->run;
	memset(runs, 0, sizeof(runs));
	for (size_t i = 0; i < run->step_count; i++)
		for (uint64_t t = run->steps[i].begin_ns; t < run->steps[i].end_ns; t++)
			runs[t] = true;
	for (size_t i = 0; i < s->row_count; i++) {
		const struct run_lane *lane = &run->lanes[s->rows[i].id];
		uint64_t end_ns = 0, without_ns = 0;
		for (size_t k = 0; k < lane->sample_count; k++)
			if (lane->samples[k].end_ns + lane->samples[k].wait_ns > end_ns)
				end_ns = lane->samples[k].end_ns + lane->samples[k].wait_ns;
		for (uint64_t t = run->steps[0].begin_ns; t < end_ns; t++)
			without_ns += !runs[t];
		if (s->rows[i].id > last_driver)
			assert_in_range(s->rows[i].wall_ns, 0, without_ns);
	}
}

/* One or two threads run steps, which may overlap; the others sample beside and between them. */
static void threads_beside_steps(void **state)
{
	for (uint32_t round = 0; round < 300; round++) {
		struct run run = {.complete = 1, .clock = *brick_clock_get()};
		struct summary *s;
		seed = 11 + round * 32452843u;
		add_bricks(&run);
		builder_process(&run, 1);
		for (uint32_t l = 0; l < 4; l++)
			add_lane(&run, builder_lane(&run, 0, l), l < 1 + round % 2);
		qsort(run.steps, run.step_count, sizeof(*run.steps), by_begin);
		for (int by = 0; by <= SUMMARY_BY_THREAD; by++) {
			uint64_t sum = 0, steps = 0;
			assert_int_equal(summary_create(&s, &run, by, SUMMARY_ALL_PHASES), 0);
			for (size_t i = 0; i < s->row_count; i++)
				sum += s->rows[i].wall_ns;
			for (size_t i = 0; i < run.step_count; i++)
				steps += step_time_total_ns(&s->steps.steps[i]);
			assert_int_equal(sum + s->row_rests.unattributed_ns, s->wall_ns);
			assert_int_equal(steps, s->wall_ns);
			if (by == SUMMARY_BY_THREAD)
				check_helpers(s, round % 2);
			summary_destroy(s);
		}
		struct step_index index;
		struct path *path;
		uint64_t measured_ns = 0;
		assert_int_equal(step_index_init(&index, &run), 0);
		assert_int_equal(path_create(&path, &run, &index, RUN_NONE), 0);
		for (size_t i = 0; i < path->section_count; i++)
			measured_ns += path->sections[i].measured_ns;
		assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
		assert_int_equal(measured_ns, s->wall_ns);
		summary_destroy(s);
		path_destroy(path);
		step_index_fini(&index);
		run_fini(&run);
	}
}

/* Without steps the lifetimes of the threads are the wall time. */
static void no_steps(void **state)
{
	struct run run = {.complete = 1, .clock = *brick_clock_get()};
	struct summary *s;
	add_bricks(&run);
	uint32_t process = builder_process(&run, 1);
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t lane = builder_lane(&run, process, i);
		run.lanes[lane].start_ns = 1000;
		run.lanes[lane].end_ns = 3000;
		builder_sample(&run, lane, WORK_A, 1500, 2000, 0);
		builder_sample(&run, lane, WORK_B, 1600, 1700, 1)->wait_ns = 50;
	}
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->wall_ns, 4000);
	assert_int_equal(s->rests.unattributed_ns, 3000);
	assert_int_equal(row_of(s, WORK_A)->wall_ns, 700);
	assert_int_equal(row_of(s, WORK_B)->wall_ns, 200);
	assert_int_equal(row_of(s, WAIT)->wall_ns, 100);
	assert_int_equal(row_of(s, WAIT)->count, 2);
	summary_destroy(s);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_beside_steps),
		cmocka_unit_test(no_steps),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
