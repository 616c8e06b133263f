/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summaries that count for each other in one walk say what each says alone, whatever the run.
 */
#include "tests/unit/accounting_kit.h"

#include "tests/unit/summary_kit.h"

static void add_samples(struct run *run, uint32_t lane)
{
	int begin = 0;
	run->lanes[lane].end_ns = LENGTH;
	for (int i = 0; i < 150; i++) {
		begin += pick(25);
		int brick = pick(BRICKS);
		struct run_sample *sample = builder_sample(run, lane, (uint32_t)brick,
			(uint64_t)begin, (uint64_t)(begin + pick(400)), (unsigned)pick(6));
		sample->wait_ns = pick(4) ? 0 : (uint32_t)pick(100);
		sample->inner_ns = pick(4) ? 0 : (uint32_t)pick(1000);
		sample->flags |= pick(20) ? 0 : RUN_SAMPLE_OPEN;
		if (is_step(brick) && !(sample->flags & RUN_SAMPLE_OPEN))
			builder_step(run, lane, 1);
	}
}

static void build(struct run *run)
{
	*run = (struct run){.complete = 1, .clock = {.mult = 1}};
	add_bricks(run);
	uint32_t process = builder_process(run, 1);
	for (uint64_t tid = 1; tid <= 2; tid++) {
		uint32_t lane = builder_lane(run, process, (int)tid);
		add_samples(run, lane);
		run->lanes[lane].hook_calls = (uint64_t)pick(2);
	}
	if (pick(2)) {
		give_stats(run, 0);
		for (size_t b = 0; b < run->brick_count; b++)
			run->lanes[0].stats[b].count = (uint64_t)pick(100);
	}
	run->sites[WORK_A].left_out = pick(3) ? 0 : 1;
	run->end_ns = LENGTH;
}

static void same_rows(const struct summary_row *a, const struct summary_row *b, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct summary_row x = a[i], y = b[i];
		assert_string_equal(x.name, y.name);
		x.name = y.name = NULL;
		assert_memory_equal(&x, &y, sizeof(x));
	}
}

static void same(const struct summary *s, const struct run *run)
{
	struct summary *alone;
	assert_int_equal(summary_create(&alone, run, s->by, s->only), 0);
	assert_int_equal(s->row_count, alone->row_count);
	same_rows(s->rows, alone->rows, s->row_count);
	assert_int_equal(s->category_count, alone->category_count);
	same_rows(s->categories, alone->categories, s->category_count);
	assert_int_equal(s->wall_ns, alone->wall_ns);
	assert_int_equal(s->rests.unattributed_ns, alone->rests.unattributed_ns);
	assert_int_equal(s->rests.left_out_ns, alone->rests.left_out_ns);
	assert_int_equal(s->samples, alone->samples);
	assert_int_equal(s->executions, alone->executions);
	assert_int_equal(s->mismatched, alone->mismatched);
	assert_int_equal(s->unknown_operations, alone->unknown_operations);
	assert_memory_equal(s->pairs, alone->pairs, run->process_count * sizeof(*s->pairs));
	assert_memory_equal(s->hooked, alone->hooked, run->lane_count * sizeof(*s->hooked));
	summary_destroy(alone);
}

static void together_is_as_alone(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 200; round++) {
		struct summary *all, *phases[STEP_PHASES] = {NULL}, *threads, *beside = NULL;
		struct step_index index;
		struct walk walk;
		struct run run;
		seed = 11 + round * 15485863u;
		build(&run);
		assert_int_equal(step_index_init(&index, &run), 0);
		walk_init(&walk, &run, &index);
		enum summary_by by = round % 2 ? SUMMARY_BY_BRICK : SUMMARY_BY_LAYER;
		assert_int_equal(summary_create_in(&all, &walk, by, SUMMARY_ALL_PHASES), 0);
		for (int p = 0; p < STEP_PHASES; p++) {
			if (!pick(4))
				continue;
			assert_int_equal(summary_create_in(&phases[p], &walk, by, p), 0);
			summary_take(all, phases[p]);
		}
		assert_int_equal(
			summary_create_in(&threads, &walk, SUMMARY_BY_THREAD, SUMMARY_ALL_PHASES),
			0);
		summary_take(threads, all);
		if (phases[STEP_DECODE]) {
			assert_int_equal(
				summary_create_in(&beside, &walk, SUMMARY_BY_THREAD, STEP_DECODE),
				0);
			summary_take(beside, phases[STEP_DECODE]);
		}
		assert_int_equal(walk_run(&walk), 0);
		same(all, &run);
		same(threads, &run);
		if (beside)
			same(beside, &run);
		summary_destroy(beside);
		for (int p = 0; p < STEP_PHASES; p++) {
			if (phases[p])
				same(phases[p], &run);
			summary_destroy(phases[p]);
		}
		summary_destroy(threads);
		summary_destroy(all);
		step_index_fini(&index);
		run_fini(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(together_is_as_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
