/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedule of threads by hand: barriers, teams that are told apart by who waits for whom, and
 * waits for a device.
 */
#include "tests/unit/path_kit.h"

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

static void be_preempted(struct run_lane *lane, uint64_t begin, uint64_t end)
{
	struct run_off_times before = {0};

	if (lane->off_cpu_count) {
		const struct run_off_cpu *last = &lane->off_cpu[lane->off_cpu_count - 1];
		before = last->before;
		before.preempted_ns += last->end_ns - last->begin_ns;
	}
	BUILDER_GROW(lane->off_cpu, lane->off_cpu_count);
	lane->off_cpu[lane->off_cpu_count++] = (struct run_off_cpu){begin, end, before, 1};
}

/*
 * Thread 1 has come to the barrier first, and loses its CPU there. When thread 0 has come, too, it
 * still has none: that is what both wait for at the next barrier.
 */
static void who_is_preempted_at_a_barrier_holds_up_the_next(void **state)
{
	struct hand h;

	hand_init(&h, 2);
	hand_step(&h, 1000, 1132);
	builder_sample(&h.run, 0, h.a, 1000, 1050, 1)->wait_ns = 2;
	builder_sample(&h.run, 0, h.a, 1052, 1070, 1)->wait_ns = 62;
	builder_sample(&h.run, 1, h.b, 1000, 1040, 0)->wait_ns = 60;
	builder_sample(&h.run, 1, h.b, 1100, 1130, 0)->wait_ns = 1;
	be_preempted(&h.run.lanes[1], 1020, 1030);
	be_preempted(&h.run.lanes[1], 1045, 1100);
	h.run.off_cpu.source = OFF_CPU_SWITCHES;
	struct path *path = path_of(&h.run, 0);
	const struct path_section *section = &path->sections[0];
	check_sums(section);
	uint32_t bricks = (uint32_t)h.run.brick_count;
	const struct path_row *off = row_of(section, bricks + SCHEDULE_OWNER_PREEMPTED);
	assert_non_null(off);
	assert_int_equal(off->on_path_ns, 50); /* from when thread 0 had come */
	assert_int_equal(row_of(section, h.run.sites[h.a].brick)->on_path_ns, 50);
	assert_int_equal(row_of(section, h.run.sites[h.b].brick)->on_path_ns, 30);
	path_destroy(path);
	run_fini(&h.run);
}

/* A thread that has no CPU when work begins for it: from then on that is what it lacks. */
static void who_is_preempted_starts_late(void **state)
{
	struct hand h;

	hand_init(&h, 2);
	builder_sample(&h.run, 1, h.b, 500, 600, 0);
	hand_step(&h, 1000, 1100);
	builder_sample(&h.run, 0, h.a, 1000, 1020, 1)->wait_ns = 80;
	builder_sample(&h.run, 1, h.b, 1060, 1100, 0)->wait_ns = 1;
	be_preempted(&h.run.lanes[1], 900, 1050);
	h.run.off_cpu.source = OFF_CPU_SWITCHES;
	struct path *path = path_of(&h.run, 0);
	const struct path_section *section = &path->sections[0];
	check_sums(section);
	uint32_t bricks = (uint32_t)h.run.brick_count;
	assert_int_equal(row_of(section, bricks + SCHEDULE_OWNER_PREEMPTED)->on_path_ns, 50);
	assert_int_equal(row_of(section, h.run.sites[h.b].brick)->on_path_ns, 40);
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
	uint32_t *members = calloc(s->activities.count, sizeof(*members));
	uint32_t *team = calloc(s->activities.count, sizeof(*team));
	long right = 0;

	for (size_t i = 0; i < s->activities.count; i++) {
		const struct schedule_activity *a = &s->activities.items[i];
		if (a->kind != SCHEDULE_WAIT || a->cause == RUN_NONE)
			continue;
		if (members[a->cause] && team[a->cause] != t->team_of[a->lane])
			members[a->cause] = 1000;
		team[a->cause] = t->team_of[a->lane];
		members[a->cause]++;
	}
	for (size_t i = 0; i < s->activities.count; i++)
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
	assert_int_equal(row_of(section, h.run.sites[h.sync].brick)->nothing_ns, 300);
	path_destroy(path);
	run_fini(&h.run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_barrier_by_hand),
		cmocka_unit_test(what_is_no_part_of_it),
		cmocka_unit_test(who_is_preempted_at_a_barrier_holds_up_the_next),
		cmocka_unit_test(who_is_preempted_starts_late),
		cmocka_unit_test(two_teams),
		cmocka_unit_test(teams_are_told_apart),
		cmocka_unit_test(waiting_for_a_device),
	};
	return cmocka_run_group_tests_name("path_teams", tests, NULL, NULL);
}
