/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The critical path of recordings: the schedule of what was measured must take exactly as long as
 * it took; what it says of other lengths must be what an engine with these lengths does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include "analysis/path.h"
#include "analysis/unknown.h"
#include "brick/error.h"
#include "tests/unit/path_engine.h"
#include "tests/unit/path_nonsense.h"

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

static struct path *path_of(const struct run *run, uint32_t step)
{
	struct step_index index;
	struct path *path;

	assert_int_equal(step_index_init(&index, run), 0);
	assert_int_equal(path_create(&path, run, &index, step), 0);
	step_index_fini(&index);
	return path;
}

static const struct path_row *row_of(const struct path_section *section, uint32_t owner)
{
	for (size_t i = 0; i < section->row_count; i++)
		if (section->rows[i].owner == owner)
			return &section->rows[i];
	return NULL;
}

static void check_sums(const struct path_section *section)
{
	uint64_t rows = 0, lanes = 0, hops = 0;

	assert_int_equal(section->length_ns, section->measured_ns);
	for (size_t i = 0; i < section->row_count; i++) {
		const struct path_row *row = &section->rows[i];
		rows += row->on_path_ns;
		assert_true(row->nothing_ns <= row->less_ns);
		assert_true(row->less_ns <= section->length_ns);
		assert_true(row->on_path_ns <= row->own_ns);
		assert_true(section->length_ns - row->nothing_ns <= row->on_path_ns);
		if (i)
			assert_true(row[-1].less_ns <= row->less_ns);
	}
	for (size_t i = 0; i < section->lane_count; i++)
		lanes += section->lanes[i].on_path_ns;
	for (size_t i = 0; i < section->hop_count; i++)
		hops += section->hops[i].time_ns;
	assert_int_equal(rows, section->length_ns);
	assert_int_equal(lanes, section->length_ns);
	if (section->hops)
		assert_int_equal(hops, section->length_ns);
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
		uint64_t *duration = calloc(s.count, sizeof(*duration));
		uint64_t *finish = calloc(s.count, sizeof(*finish));
		uint64_t *latest = calloc(s.count, sizeof(*latest));
		for (size_t i = 0; i < s.count; i++)
			duration[i] = s.activities[i].duration_ns;
		brick__dag_forward(&s.dag, duration, finish);
		brick__dag_backward(&s.dag, duration, finish[s.end], s.end, latest);
		assert_int_equal(finish[s.end], e.total_ns);
		for (size_t i = 0; i < s.count; i++) {
			const struct schedule_activity *a = &s.activities[i];
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

struct hand {
	struct run run;
	uint32_t a, b, wait, sync;
};

static void hand_init(struct hand *h, unsigned lanes)
{
	memset(h, 0, sizeof(*h));
	builder_process(&h->run, 1);
	for (unsigned i = 0; i < lanes; i++)
		builder_lane(&h->run, 0, i);
	h->a = builder_site(&h->run, builder_brick(&h->run, "a", "Other"), -1, NULL, NULL);
	h->b = builder_site(&h->run, builder_brick(&h->run, "b", "Other"), -1, NULL, NULL);
	h->wait = builder_site(&h->run, builder_known(&h->run, BRICK_BARRIER_WAIT), -1, NULL, NULL);
	h->sync = builder_site(&h->run, builder_known(&h->run, BRICK_SYNCHRONIZE), -1, NULL, NULL);
}

static void hand_step(struct hand *h, uint64_t begin, uint64_t end)
{
	uint32_t decode = builder_known(&h->run, BRICK_DECODE);
	builder_sample(&h->run, 0, builder_site(&h->run, decode, -1, NULL, NULL), begin, end, 0);
	builder_step(&h->run, 0, 1);
}

/* A thread waits 30 for another, which takes 80; 20 less there are 20 less for all. */
static void a_barrier_by_hand(void **state)
{
	struct hand h;

	hand_init(&h, 2);
	hand_step(&h, 1000, 1110);
	builder_sample(&h.run, 0, h.a, 1000, 1050, 1)->wait_ns = 32;
	builder_sample(&h.run, 0, h.a, 1082, 1110, 1);
	builder_sample(&h.run, 1, h.b, 1000, 1080, 0)->wait_ns = 5;
	struct path *path = path_of(&h.run, 0);
	const struct path_section *section = &path->sections[0];
	check_sums(section);
	assert_int_equal(section->measured_ns, 110);
	assert_int_equal(section->counts.barriers, 1);
	assert_int_equal(section->counts.unknown_waits, 0);
	const struct path_row *b = row_of(section, h.run.sites[h.b].brick);
	assert_int_equal(b->on_path_ns, 80);
	assert_int_equal(b->slack_max_ns, 0);
	assert_int_equal(b->less_ns, 102);
	assert_int_equal(b->nothing_ns, 80); /* then thread 0's 50 decide */
	const struct path_row *a = row_of(section, h.run.sites[h.a].brick);
	assert_int_equal(a->on_path_ns, 28);
	assert_int_equal(a->less_ns, 107); /* 2.8 less is 3 less */
	assert_int_equal(a->slack_max_ns, 30);
	/* leaving took 2 and 5 after all had come */
	assert_int_equal(row_of(section, h.run.sites[h.wait].brick)->own_ns, 7);
	assert_int_equal(a->on_path_count, 1);
	assert_int_equal(a->count, 2);
	assert_int_equal(section->hop_count, 3);
	assert_int_equal(section->switches, 1);
	assert_int_equal(section->lanes[0].waited_ns, 30);
	path_destroy(path);
	run_fini(&h.run);
}

/* Time of the step in no brick is nobody's; work that goes on after the step is not waited for. */
static void what_is_no_part_of_it(void **state)
{
	struct hand h;

	hand_init(&h, 3);
	hand_step(&h, 1000, 1100);
	builder_sample(&h.run, 0, h.a, 1010, 1090, 1);
	builder_sample(&h.run, 1, h.b, 1005, 1095, 0); /* ends before the step does */
	builder_sample(&h.run, 2, h.b, 1005, 1099, 0);
	builder_sample(&h.run, 2, h.b, 1099, 1300, 0); /* does not */
	struct path *path = path_of(&h.run, 0);
	const struct path_section *section = &path->sections[0];
	check_sums(section);
	assert_null(row_of(section, builder_known(&h.run, BRICK_DECODE)));
	const struct path_row *rest =
		row_of(section, (uint32_t)h.run.brick_count + SCHEDULE_OWNER_REST);
	assert_string_equal(rest->name, "unattributed");
	assert_int_equal(rest->on_path_ns, 20);
	assert_int_equal(rest->nothing_ns, 95); /* thread 1's work is still there */
	assert_int_equal(row_of(section, h.run.sites[h.a].brick)->nothing_ns, 95);
	path_destroy(path);
	run_fini(&h.run);
}

/* Two pairs of threads with a barrier each: a long wait of one is not for the others' barrier. */
static void two_teams(void **state)
{
	struct hand h;
	struct step_index index;
	struct schedule_source source;
	struct schedule s;

	hand_init(&h, 4);
	for (uint64_t i = 0; i < 4; i++) { /* a quick pair */
		builder_sample(&h.run, 0, h.a, 1000 + 100 * i, 1060 + 100 * i, 0)->wait_ns = 40;
		builder_sample(&h.run, 1, h.a, 1000 + 100 * i, 1090 + 100 * i, 0)->wait_ns = 10;
	}
	builder_sample(&h.run, 2, h.b, 1000, 1010, 0)->wait_ns = 140; /* a slow one */
	builder_sample(&h.run, 3, h.b, 1000, 1145, 0)->wait_ns = 5;
	builder_sample(&h.run, 2, h.b, 1150, 1155, 0)->wait_ns = 220;
	builder_sample(&h.run, 3, h.b, 1150, 1370, 0)->wait_ns = 5;
	assert_int_equal(step_index_init(&index, &h.run), 0);
	assert_int_equal(schedule_source_find(&source, &h.run, &index), 0);
	assert_int_equal(schedule_of_process(&s, &h.run, &index, &source, 0), 0);
	assert_int_equal(s.counts.barriers, 6);
	assert_int_equal(s.counts.unknown_waits, 0);
	schedule_fini(&s);
	schedule_source_fini(&source);
	step_index_fini(&index);
	run_fini(&h.run);
}

struct teams {
	struct run run;
	uint64_t seed;
	uint32_t site;
	unsigned late; /* one in so many leaves late; 0: none */
	uint32_t team_of[16], size[4];
	long barriers;
};

static uint32_t team_random(struct teams *t, uint32_t n)
{
	t->seed = t->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((t->seed >> 33) % n);
}

/* A team of two to four threads, with a barrier after every piece of work. */
static void team_run(struct teams *t, uint32_t team)
{
	uint32_t first = (uint32_t)t->run.lane_count, work = 20 + team_random(t, 2000);
	uint64_t now[4], begin = 1000 + team_random(t, 3000);

	t->size[team] = 2 + team_random(t, 3);
	for (uint32_t i = 0; i < t->size[team]; i++) {
		t->team_of[first + i] = team;
		builder_lane(&t->run, 0, first + i);
		now[i] = begin + team_random(t, 20);
	}
	for (uint32_t b = 0; b < 100 && b < 60000 / work; b++) {
		struct run_sample *last[4];
		uint64_t all = 0;
		for (uint32_t i = 0; i < t->size[team]; i++) {
			uint64_t arrive = now[i] + work / 2 + team_random(t, work);
			last[i] = builder_sample(&t->run, first + i, t->site, now[i], arrive, 0);
			all = arrive > all ? arrive : all;
		}
		for (uint32_t i = 0; i < t->size[team]; i++) {
			now[i] = all + 1 + team_random(t, 10);
			if (t->late && !team_random(t, t->late))
				now[i] += team_random(t, 3 * work);
			last[i]->wait_ns = (uint32_t)(now[i] - last[i]->end_ns);
			now[i] += team_random(t, 3);
		}
		t->barriers++;
	}
}

/* Barriers at which one whole team, and nobody else, came together. */
static long count_right(const struct teams *t, const struct schedule *s)
{
	uint32_t *members = calloc(s->count, sizeof(*members));
	uint32_t *team = calloc(s->count, sizeof(*team));
	long right = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct schedule_activity *a = &s->activities[i];
		if (a->kind != SCHEDULE_WAIT || a->cause == RUN_NONE)
			continue;
		if (members[a->cause] && team[a->cause] != t->team_of[a->lane])
			members[a->cause] = 1000;
		team[a->cause] = t->team_of[a->lane];
		members[a->cause]++;
	}
	for (size_t i = 0; i < s->count; i++)
		right += members[i] && members[i] == t->size[team[i]];
	free(members);
	free(team);
	return right;
}

/* All barriers of one team are found, however late some leave; of several teams nearly all. */
static void teams_are_told_apart(void **state)
{
	for (uint32_t count = 1; count <= 3; count++) {
		struct teams t = {.seed = count, .late = count == 1 ? 4 : 0};
		long right = 0;
		for (int round = 0; round < 100; round++) {
			struct schedule_source source;
			struct step_index index;
			struct schedule s;
			memset(&t.run, 0, sizeof(t.run));
			builder_process(&t.run, 1);
			builder_known(&t.run, BRICK_BARRIER_WAIT);
			t.site = builder_site(
				&t.run, builder_brick(&t.run, "a", "Other"), -1, NULL, NULL);
			for (uint32_t team = 0; team < count; team++)
				team_run(&t, team);
			assert_int_equal(step_index_init(&index, &t.run), 0);
			assert_int_equal(schedule_source_find(&source, &t.run, &index), 0);
			assert_int_equal(schedule_of_process(&s, &t.run, &index, &source, 0), 0);
			right += count_right(&t, &s);
			schedule_fini(&s);
			schedule_source_fini(&source);
			step_index_fini(&index);
			run_fini(&t.run);
		}
		assert_true(t.barriers > 5000);
		if (count == 1)
			assert_int_equal(right, t.barriers);
		else
			assert_true((double)right > 0.983 * (double)t.barriers);
	}
}

/* Waiting for a queue of a device ends when it has done its work; other waits stay as they are. */
static void waiting_for_a_device(void **state)
{
	struct hand h;

	hand_init(&h, 2);
	h.run.lanes[1].kind = BRICK_LANE_QUEUE;
	hand_step(&h, 1000, 1300);
	builder_sample(&h.run, 0, h.a, 1000, 1020, 1);
	builder_sample(&h.run, 0, h.sync, 1020, 1300, 1);
	builder_sample(&h.run, 1, h.b, 1010, 1290, 0);
	struct path *path = path_of(&h.run, 0);
	const struct path_section *section = &path->sections[0];
	check_sums(section);
	assert_int_equal(section->counts.unknown_waits, 0);
	assert_int_equal(row_of(section, h.run.sites[h.b].brick)->on_path_ns, 280);
	assert_int_equal(row_of(section, h.run.sites[h.b].brick)->less_ns, 272);
	assert_int_equal(row_of(section, h.run.sites[h.sync].brick)->on_path_ns, 10);
	path_destroy(path);
	run_fini(&h.run);

	hand_init(&h, 1);
	hand_step(&h, 1000, 1300);
	builder_sample(&h.run, 0, h.sync, 1020, 1300, 1);
	path = path_of(&h.run, 0);
	section = &path->sections[0];
	check_sums(section);
	assert_int_equal(section->counts.unknown_waits, 1);
	assert_int_equal(section->counts.unknown_wait_ns, 280);
	assert_int_equal(row_of(section, h.run.sites[h.sync].brick)->nothing_ns, 20);
	path_destroy(path);
	run_fini(&h.run);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_if_is_what_happens),
		cmocka_unit_test(slack_is_what_it_says),
		cmocka_unit_test(one_step),
		cmocka_unit_test(a_barrier_by_hand),
		cmocka_unit_test(what_is_no_part_of_it),
		cmocka_unit_test(two_teams),
		cmocka_unit_test(teams_are_told_apart),
		cmocka_unit_test(waiting_for_a_device),
		cmocka_unit_test(runs_without_steps),
		cmocka_unit_test(nonsense),
	};
	return cmocka_run_group_tests_name("path_run", tests, NULL, NULL);
}
