/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: steps by category, layers by brick and lengths add up to the rows of the summary, by
 * hand and for whatever a random program might have recorded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include "tests/unit/breakdown_kit.h"
#include "analysis/accounts/summary.h"
#include "tests/unit/run_builder.h"

enum { BRICKS = 5, LAYERS = 3 };

static uint64_t random_state = 88172645463325252ull;

static uint64_t dice(uint64_t sides)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % sides;
}

static uint64_t sum_of_brick(const struct breakdown *b, uint32_t brick, unsigned phase)
{
	uint64_t sum = 0;
	for (uint32_t row = 0; row < b->layer_count; row++)
		sum += b->layers[breakdown_cell(b, phase, row, brick)];
	return sum;
}

static uint64_t sum_of_category(const struct breakdown *b, uint32_t category)
{
	uint64_t sum = 0;
	for (uint32_t step = 0; step < b->run->step_count; step++)
		sum += breakdown_step(b, step)[category];
	return sum;
}

static void check_bricks(const struct breakdown *b, const struct summary *summary, int phase)
{
	uint64_t rows_ns = 0, cells_ns = 0;
	for (size_t i = 0; i < summary->row_count; i++) {
		uint64_t sum = 0;
		for (unsigned p = 0; p < BREAKDOWN_PHASES; p++)
			if (phase == SUMMARY_ALL_PHASES || p == (unsigned)phase)
				sum += sum_of_brick(b, summary->rows[i].id, p);
		assert_int_equal(sum, summary->rows[i].wall_ns);
		rows_ns += sum;
	}
	for (uint32_t brick = 0; brick < b->brick_count; brick++)
		for (unsigned p = 0; p < BREAKDOWN_PHASES; p++)
			if (phase == SUMMARY_ALL_PHASES || p == (unsigned)phase)
				cells_ns += sum_of_brick(b, brick, p);
	assert_int_equal(rows_ns, cells_ns);
}

static void check(const struct run *run)
{
	struct step_index index;
	struct breakdown *b;
	struct summary *summary;
	uint64_t categories_ns = 0;
	assert_int_equal(step_index_init(&index, run), 0);
	assert_int_equal(breakdown_create(&b, run, &index), 0);
	for (int phase = SUMMARY_ALL_PHASES; phase < STEP_PHASES; phase++) {
		assert_int_equal(summary_create(&summary, run, SUMMARY_BY_BRICK, phase), 0);
		check_bricks(b, summary, phase);
		summary_destroy(summary);
	}
	assert_int_equal(summary_create(&summary, run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	for (uint32_t c = 0; c < b->category_count; c++)
		categories_ns += sum_of_category(b, c);
	assert_int_equal(categories_ns + summary->rests.unattributed_ns, summary->wall_ns);
	for (uint32_t step = 0; step < run->step_count; step++) {
		const struct step_time *time = &summary->steps.steps[step];
		uint64_t sum = time->unattributed_ns;
		for (uint32_t c = 0; c < b->category_count; c++)
			sum += breakdown_step(b, step)[c];
		if (index.finished[step])
			assert_int_equal(sum, step_time_total_ns(time));
	}
	summary_destroy(summary);
	breakdown_destroy(b);
	step_index_fini(&index);
}

struct scene {
	struct run run;
	uint32_t lane, worker, decode, prefill, sampling, sites[BRICKS][LAYERS + 1];
};

static void scene_init(struct scene *s)
{
	static const int known[BRICKS] = {BRICK_RMS_NORM, BRICK_QKV_PROJECTION,
		BRICK_GATE_PROJECTION, BRICK_GRAPH_COMPUTE, BRICK_BARRIER_WAIT};
	*s = (struct scene){.run = {.complete = 1}};
	s->decode = builder_site(&s->run, builder_known(&s->run, BRICK_DECODE), -1, NULL, NULL);
	s->prefill = builder_site(&s->run, builder_known(&s->run, BRICK_PREFILL), -1, NULL, NULL);
	s->sampling = builder_site(&s->run, builder_known(&s->run, BRICK_SAMPLING), -1, NULL, NULL);
	for (int b = 0; b < BRICKS; b++)
		for (int layer = -1; layer < LAYERS; layer++)
			s->sites[b][layer + 1] = builder_site(
				&s->run, builder_known(&s->run, known[b]), layer, NULL, NULL);
	uint32_t process = builder_process(&s->run, 1);
	s->lane = builder_lane(&s->run, process, 1);
	s->worker = builder_lane(&s->run, process, 2);
}

/* A brick with others in it, now and then. Returns its end. */
static uint64_t grow(struct scene *s, uint32_t lane, uint64_t begin_ns, unsigned depth)
{
	uint64_t end_ns = begin_ns + 1 + dice(200);
	uint32_t site = s->sites[dice(BRICKS)][dice(LAYERS + 1)];
	builder_sample(&s->run, lane, site, begin_ns, end_ns, (uint8_t)depth);
	struct run_lane *l = &s->run.lanes[lane];
	size_t number = l->sample_count - 1;
	if (dice(3) == 0)
		l->samples[number].wait_ns = (uint32_t)dice(40);
	for (uint64_t at = begin_ns + dice(20); depth < 4 && dice(2) && at < end_ns;)
		at = grow(s, lane, at, depth + 1) + dice(30);
	return s->run.lanes[lane].samples[number].end_ns;
}

static void whatever_was_recorded(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		struct scene s;
		scene_init(&s);
		uint64_t at = 100, worker_at = 100;
		for (int step = 0; step < 5; step++) {
			bool decode = dice(3) != 0;
			uint64_t end = at + 200 + dice(800);
			builder_sample(&s.run, s.lane, decode ? s.decode : s.prefill, at, end, 0);
			builder_step(&s.run, s.lane, 1);
			for (uint64_t t = at + dice(50); t < end; t += dice(60))
				t = grow(&s, s.lane, t, 1);
			at = end + dice(50);
			builder_sample(&s.run, s.lane, s.sampling, at, at + 30, 0);
			at += 30 + dice(40);
			while (worker_at < at)
				worker_at = grow(&s, s.worker, worker_at, 0) + 60;
		}
		check(&s.run);
		run_fini(&s.run);
	}
}

static void without_steps(void **state)
{
	struct scene s;
	struct step_index index;
	struct breakdown *b;
	struct summary *summary;
	(void)state;
	scene_init(&s);
	for (uint64_t at = 10; at < 5000; at += 100)
		builder_sample(&s.run, s.worker, s.sites[1][1], at, at + 50, 0);
	assert_int_equal(step_index_init(&index, &s.run), 0);
	assert_int_equal(breakdown_create(&b, &s.run, &index), 0);
	assert_int_equal(summary_create(&summary, &s.run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	check_bricks(b, summary, SUMMARY_ALL_PHASES);
	assert_int_equal(sum_of_brick(b, s.run.sites[s.sites[1][1]].brick, STEP_PHASES), 50 * 50);
	summary_destroy(summary);
	breakdown_destroy(b);
	step_index_fini(&index);
	run_fini(&s.run);
}

static void buckets(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < BREAKDOWN_BUCKETS - 1; i++) {
		uint64_t low = breakdown_edge_ns(i), high = breakdown_edge_ns(i + 1);
		assert_true(low < high);
		assert_int_equal(breakdown_bucket(low), i);
		assert_int_equal(breakdown_bucket(high - 1), i);
	}
	for (int power = 10; power < 40; power++)
		assert_int_equal(breakdown_edge_ns(breakdown_bucket(1ull << power)), 1ull << power);
}

static void check_last_layer(int layer, bool is_rest)
{
	struct scene s;
	struct step_index index;
	struct breakdown *b;
	scene_init(&s);
	uint32_t brick = builder_known(&s.run, BRICK_RMS_NORM);
	uint32_t far = builder_site(&s.run, brick, (int16_t)layer, NULL, NULL);
	builder_sample(&s.run, s.lane, s.decode, 100, 200, 0);
	builder_step(&s.run, s.lane, 1);
	builder_sample(&s.run, s.lane, far, 110, 150, 1);
	assert_int_equal(step_index_init(&index, &s.run), 0);
	assert_int_equal(breakdown_create(&b, &s.run, &index), 0);
	assert_int_equal(b->layer_count, BREAKDOWN_LAYERS + 1);
	assert_int_equal(b->last_is_rest, is_rest);
	assert_int_equal(b->layers[breakdown_cell(b, STEP_DECODE, BREAKDOWN_LAYERS, brick)], 40);
	breakdown_destroy(b);
	step_index_fini(&index);
	run_fini(&s.run);
}

static void deep_layers_share_a_row(void **state)
{
	(void)state;
	check_last_layer(BREAKDOWN_LAYERS - 1, false);
	check_last_layer(BREAKDOWN_LAYERS, true);
	check_last_layer(30000, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_was_recorded),
		cmocka_unit_test(without_steps),
		cmocka_unit_test(buckets),
		cmocka_unit_test(deep_layers_share_a_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
