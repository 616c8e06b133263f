/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of recordings: the schedule of what was measured must take exactly as long as
 * it took; what it says of other lengths must be what an engine with these lengths does.
 */
#include "tests/unit/path_kit.h"

static struct engine engine_of(uint64_t seed)
{
	struct engine e = {.seed = seed,
		.threads = 1 + (unsigned)(seed % ENGINE_THREADS),
		.steps = 1 + (unsigned)(seed / 3 % 3),
		.phases = 1 + (unsigned)(seed / 7 % 6),
		.background = seed % 5 == 0 && seed % ENGINE_THREADS};
	for (int i = 0; i < ENGINE_OWNERS; i++)
		e.tenths[i] = 10;
	return e;
}

/* Every owner of the engine made a tenth shorter, and nothing, for real and by what-if. */
static void what_if_is_what_happens(void **state)
{
	unsigned gains = 0;

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct engine e = engine_of(seed);
		engine_run(&e);
		struct path *path = path_of(&e.run, RUN_NONE);
		assert_int_equal(path->section_count, 1);
		const struct path_section *section = &path->sections[0];
		assert_int_equal(section->phase, STEP_DECODE);
		assert_int_equal(section->steps, e.steps);
		assert_int_equal(section->measured_ns, e.total_ns);
		assert_int_equal(section->counts.contradictions, 0);
		check_sums(section);
		for (int owner = 0; owner < ENGINE_OWNERS; owner++) {
			const struct path_row *row =
				row_of(section, e.run.sites[e.sites[owner]].brick);
			for (unsigned tenths = 0; tenths <= 9; tenths += 9) {
				struct engine other = engine_of(seed);
				other.tenths[owner] = tenths;
				engine_run(&other);
				uint64_t promised = !row     ? section->length_ns
						    : tenths ? row->less_ns
							     : row->nothing_ns;
				if (promised != other.total_ns)
					fail_msg("seed %lu, owner %d, %u tenths: %lu promised, %lu "
						 "came out of %lu",
						(unsigned long)seed, owner, tenths,
						(unsigned long)promised,
						(unsigned long)other.total_ns,
						(unsigned long)e.total_ns);
				gains += promised < section->length_ns;
				run_fini(&other.run);
			}
		}
		path_destroy(path);
		run_fini(&e.run);
	}
	assert_true(gains > 1000);
}

/* An execution can take its slack longer and change nothing; one nanosecond more shows. */
static void slack_is_what_it_says(void **state)
{
	unsigned beside = 0;

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct engine e = engine_of(seed);
		struct step_index index;
		struct schedule_source source;
		struct schedule s;
		e.steps = 1;
		engine_run(&e);
		assert_int_equal(step_index_init(&index, &e.run), 0);
		assert_int_equal(schedule_source_find(&source, &e.run, &index), 0);
		assert_int_equal(schedule_of_step(&s, &e.run, &index, &source, 0), 0);
		uint64_t *duration = calloc(s.activities.count, sizeof(*duration));
		uint64_t *finish = calloc(s.activities.count, sizeof(*finish));
		uint64_t *latest = calloc(s.activities.count, sizeof(*latest));
		for (size_t i = 0; i < s.activities.count; i++)
			duration[i] = s.activities.items[i].duration_ns;
		brick__dag_forward(&s.dag, duration, finish);
		brick__dag_backward(&s.dag, duration, finish[s.end], s.end, latest);
		assert_int_equal(finish[s.end], e.total_ns);
		for (size_t i = 0; i < s.activities.count; i++) {
			const struct schedule_activity *a = &s.activities.items[i];
			/* what was measured is what is scheduled, at any point */
			if (a->lane != RUN_NONE && a->lane < e.threads &&
				a->begin_ns < e.run.steps[0].end_ns)
				assert_int_equal(finish[i], a->end_ns - s.begin_ns);
			uint32_t brick = a->owner;
			if (a->kind != SCHEDULE_WORK || !a->is_last || a->lane >= e.threads ||
				brick >= ENGINE_BRICKS || latest[i] == UINT64_MAX)
				continue;
			for (uint64_t more = 0; more <= 1; more++) {
				struct engine other = engine_of(seed);
				other.steps = 1;
				other.longer_lane = a->lane;
				other.longer_sample = a->sample;
				other.longer_ns = latest[i] - finish[i] + more;
				engine_run(&other);
				assert_int_equal(other.total_ns, e.total_ns + more);
				run_fini(&other.run);
			}
			beside += latest[i] > finish[i];
		}
		free(duration);
		free(finish);
		free(latest);
		schedule_fini(&s);
		schedule_source_fini(&source);
		step_index_fini(&index);
		run_fini(&e.run);
	}
	assert_true(beside > 100);
}

/* One step by itself is what it is among all; its hops tell the path in the order of time. */
static void one_step(void **state)
{
	struct engine e = engine_of(11);
	uint64_t sum = 0;

	e.steps = 3;
	engine_run(&e);
	for (uint32_t step = 0; step < 3; step++) {
		struct path *path = path_of(&e.run, step);
		const struct path_section *section = &path->sections[0];
		assert_int_equal(path->section_count, 1);
		assert_int_equal(section->step, step);
		check_sums(section);
		for (size_t i = 1; i < section->hop_count; i++)
			assert_int_equal(section->hops[i].begin_ns,
				section->hops[i - 1].begin_ns + section->hops[i - 1].time_ns);
		sum += section->measured_ns;
		path_destroy(path);
	}
	assert_int_equal(sum, e.total_ns);
	run_fini(&e.run);
}

static void runs_without_steps(void **state)
{
	struct hand h;
	struct step_index index;
	struct path *path;

	hand_init(&h, 2);
	assert_int_equal(step_index_init(&index, &h.run), 0);
	assert_int_equal(path_create(&path, &h.run, &index, RUN_NONE), BRICK_ENOTRECORDED);
	step_index_fini(&index);
	builder_sample(&h.run, 0, h.a, 1000, 1500, 0);
	builder_sample(&h.run, 0, h.b, 1100, 1400, 1);
	builder_sample(&h.run, 1, h.b, 1200, 1250, 0);
	path = path_of(&h.run, RUN_NONE);
	assert_int_equal(path->section_count, 1);
	const struct path_section *section = &path->sections[0];
	check_sums(section);
	assert_int_equal(section->phase, STEP_PHASES);
	assert_int_equal(section->measured_ns, 500);
	assert_int_equal(row_of(section, h.run.sites[h.a].brick)->on_path_ns, 200);
	assert_int_equal(row_of(section, h.run.sites[h.b].brick)->on_path_ns, 300);
	assert_true(path_tokens_per_s(section, section->length_ns) < 0);
	path_destroy(path);
	run_fini(&h.run);
}

/* Whatever a file says, sums hold. */
static void nonsense(void **state)
{
	uint64_t seed = 99;

	for (uint32_t round = 0; round < 3000; round++) {
		struct run run;
		struct step_index index;
		struct path *path = NULL;
		nonsense_run(&run, &seed, 1 + round % 6);
		assert_int_equal(step_index_init(&index, &run), 0);
		int rc = path_create(&path, &run, &index, RUN_NONE);
		assert_true(rc == 0 || rc == BRICK_ENOTRECORDED);
		for (size_t i = 0; rc == 0 && i < path->section_count; i++) {
			const struct path_section *section = &path->sections[i];
			uint64_t sum = 0;
			for (size_t k = 0; k < section->row_count; k++)
				sum += section->rows[k].on_path_ns;
			assert_int_equal(sum, section->length_ns);
		}
		path_destroy(path);
		step_index_fini(&index);
		run_fini(&run);
	}
}

/* Two threads with a step each at the same time: tokens come at twice the rate of one. */
static void rates_by_the_union_of_steps(void **state)
{
	struct run run = {.complete = 1, .clock = {.mult = 1}};

	builder_process(&run, 1);
	uint32_t decode = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	for (uint32_t lane = 0; lane < 2; lane++) {
		builder_lane(&run, 0, lane);
		builder_sample(&run, lane, decode, 1000 + 100 * lane, 1500 + 100 * lane, 0);
		builder_step(&run, lane, 3);
	}
	struct path *path = path_of(&run, RUN_NONE);
	const struct path_section *section = &path->sections[0];
	assert_int_equal(section->measured_ns, 1000);
	assert_int_equal(section->union_ns, 600);
	assert_true(path_tokens_per_s(section, 1000) == 6e9 / 600);
	assert_true(path_tokens_per_s(section, 500) == 6e9 / 300);
	path_destroy(path);
	run_fini(&run);
}

/* A thread that was preempted in a step and in the sampling behind it: no brick buys that. */
static void what_was_preempted_is_in_no_brick(void **state)
{
	struct run run = {0};
	struct run_off_cpu off[] = {
		{.begin_ns = 1100, .end_ns = 1150, .preempted = 1},
		{.begin_ns = 1510, .end_ns = 1590, .preempted = 1, .before = {.preempted_ns = 50}},
	};

	builder_process(&run, 1);
	builder_lane(&run, 0, 0);
	uint32_t decode = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t sampling = builder_known(&run, BRICK_SAMPLING);
	uint32_t a = builder_brick(&run, "a", "Other");
	uint32_t site = builder_site(&run, a, -1, NULL, NULL);
	builder_sample(&run, 0, decode, 1000, 1500, 0);
	builder_step(&run, 0, 1);
	builder_sample(&run, 0, site, 1000, 1500, 1);
	builder_sample(&run, 0, builder_site(&run, sampling, -1, NULL, NULL), 1500, 1600, 0);
	run.off_cpu.source = OFF_CPU_SWITCHES;
	run.lanes[0].off_cpu = off;
	run.lanes[0].off_cpu_count = 2;
	struct path *path = path_of(&run, RUN_NONE);
	const struct path_section *section = &path->sections[0];
	assert_int_equal(section->length_ns, 600);
	assert_int_equal(row_of(section, a)->on_path_ns, 450);
	assert_int_equal(row_of(section, sampling)->on_path_ns, 20);
	uint32_t owner = (uint32_t)run.brick_count + SCHEDULE_OWNER_PREEMPTED;
	assert_int_equal(row_of(section, owner)->on_path_ns, 130);
	path_destroy(path);
	run.lanes[0].off_cpu = NULL;
	run_fini(&run);
}

/* Waits in a step, in the sampling behind it, and after that: their bricks buy no lack of a CPU, as
 * in the report. */
static void waits_without_a_cpu_are_no_waits(void **state)
{
	struct run run = {0};
	struct run_off_cpu off[] = {
		{.begin_ns = 1110, .end_ns = 1140},
		{.begin_ns = 1150, .end_ns = 1190, .before = {30, 0}, .preempted = 1},
		{.begin_ns = 1520, .end_ns = 1525, .before = {30, 40}, .preempted = 1},
		{.begin_ns = 1595, .end_ns = 1610, .before = {30, 45}, .preempted = 1},
	};

	builder_process(&run, 1);
	builder_lane(&run, 0, 0);
	uint32_t decode = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t wait = builder_brick(&run, "w", "Wait");
	uint32_t site = builder_site(&run, wait, -1, NULL, NULL);
	builder_sample(&run, 0, decode, 1000, 1500, 0);
	builder_step(&run, 0, 1);
	builder_sample(&run, 0, site, 1100, 1200, 1);
	builder_sample(&run, 0,
		builder_site(&run, builder_known(&run, BRICK_SAMPLING), -1, NULL, NULL), 1500, 1580,
		0)
		->wait_ns = 40;
	builder_sample(&run, 0, site, 1510, 1530, 1);
	run.off_cpu.source = OFF_CPU_SWITCHES;
	run.lanes[0].off_cpu = off;
	run.lanes[0].off_cpu_count = sizeof(off) / sizeof(*off);
	struct path *path = path_of(&run, RUN_NONE);
	const struct path_section *section = &path->sections[0];
	uint32_t owner = (uint32_t)run.brick_count + SCHEDULE_OWNER_PREEMPTED;
	assert_int_equal(section->length_ns, 620);
	assert_int_equal(row_of(section, wait)->on_path_ns, 60 + 15);
	assert_int_equal(row_of(section, owner)->on_path_ns, 40 + 5 + 15);
	assert_int_equal(section->counts.unknown_waits, 1);
	assert_int_equal(section->counts.unknown_wait_ns, 60);
	path_destroy(path);
	run.lanes[0].off_cpu = NULL;
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_if_is_what_happens),
		cmocka_unit_test(slack_is_what_it_says),
		cmocka_unit_test(one_step),
		cmocka_unit_test(runs_without_steps),
		cmocka_unit_test(rates_by_the_union_of_steps),
		cmocka_unit_test(what_was_preempted_is_in_no_brick),
		cmocka_unit_test(waits_without_a_cpu_are_no_waits),
		cmocka_unit_test(nonsense),
	};
	return cmocka_run_group_tests_name("path_run", tests, NULL, NULL);
}
