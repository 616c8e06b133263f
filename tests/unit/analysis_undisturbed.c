/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which steps were interrupted: those in which a thread that recorded in them was preempted, not
 * those in which one slept or one that had no part in them was preempted; the next one is behind.
 * How long steps are without that.
 */
#include "analysis/steps/undisturbed.h"
#include "tests/unit/summary_kit.h"

enum { STEPS = 8, LENGTH = 1000, PITCH = 1100 };

static uint64_t begin_of(int step)
{
	return (uint64_t)(10000 + step * PITCH);
}

struct planted {
	struct run run;
	uint32_t main, worker, idle;
};

/* Steps of 1000 ns on one thread; another works in them, a third one records between them. */
static void plant(struct planted *p)
{
	struct run *run = &p->run;
	p->main = start(run);
	p->worker = builder_lane(run, run->lanes[p->main].process, 2);
	p->idle = builder_lane(run, run->lanes[p->main].process, 3);
	uint32_t work = builder_site(run, builder_brick(run, "Work", "Other"), -1, NULL, NULL);
	uint32_t step = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	for (int i = 0; i < STEPS; i++) {
		uint64_t ns = begin_of(i);
		builder_sample(run, p->main, step, ns, ns + LENGTH, 0);
		builder_step(run, p->main, 1);
		builder_sample(run, p->worker, work, ns + 100, ns + 900, 0);
		builder_sample(run, p->idle, work, ns + LENGTH + 10, ns + LENGTH + 90, 0);
	}
	run->off_cpu.source = OFF_CPU_SWITCHES;
}

static void put_off(struct run_lane *lane, struct run_off_cpu *off, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		off[i].before = off[i - 1].before;
		*(off[i - 1].preempted ? &off[i].before.preempted_ns : &off[i].before.blocked_ns) +=
			off[i - 1].end_ns - off[i - 1].begin_ns;
	}
	lane->off_cpu = off;
	lane->off_cpu_count = count;
}

static void take_off(struct run *run)
{
	for (size_t i = 0; i < run->lane_count; i++) {
		run->lanes[i].off_cpu = NULL;
		run->lanes[i].off_cpu_count = 0;
	}
}

static void assert_step(
	const struct planted *p, size_t step, uint64_t cpu_ns, int interrupted, int is_behind)
{
	struct undisturbed_step found = undisturbed_step(&p->run, step);
	assert_int_equal(found.cpu_ns, cpu_ns);
	assert_int_equal(found.interrupted, interrupted);
	assert_int_equal(found.is_behind, is_behind);
}

static void measure(struct undisturbed *u, const struct run *run)
{
	struct step_index index;
	struct step_times times;
	assert_int_equal(step_index_init(&index, run), 0);
	assert_int_equal(step_times_measure(&times, run, &index), 0);
	assert_int_equal(undisturbed_of_phase(u, run, &times, STEP_DECODE), 0);
	step_times_fini(&times);
	step_index_fini(&index);
}

/*
 * Step 1: its thread slept for 50 and was preempted at 300 for 100. Step 3: its worker was, at 500.
 * The third thread all the time of step 5. Behind step 6 its own thread was.
 */
static void which_and_how_long(void **state)
{
	struct run_off_cpu own[] = {{begin_of(1) + 100, begin_of(1) + 150, {0}, 0},
		{begin_of(1) + 300, begin_of(1) + 400, {0}, 1},
		{begin_of(1) + 600, begin_of(1) + 700, {0}, 1},
		{begin_of(6) + LENGTH + 20, begin_of(6) + LENGTH + 30, {0}, 1}};
	struct run_off_cpu of_worker[] = {{begin_of(3) + 500, begin_of(3) + 600, {0}, 1}};
	struct run_off_cpu of_idle[] = {{begin_of(5), begin_of(5) + LENGTH, {0}, 1}};
	struct undisturbed u;
	struct planted p;
	(void)state;
	plant(&p);
	put_off(&p.run.lanes[p.main], own, 4);
	put_off(&p.run.lanes[p.worker], of_worker, 1);
	put_off(&p.run.lanes[p.idle], of_idle, 1);
	assert_step(&p, 0, LENGTH, 0, 0);
	assert_step(&p, 1, 250, 1, 0);
	assert_step(&p, 2, LENGTH, 0, 1);
	assert_step(&p, 3, 500, 1, 0);
	assert_step(&p, 4, LENGTH, 0, 1);
	assert_step(&p, 5, LENGTH, 0, 0);
	assert_step(&p, 6, LENGTH, 0, 0);
	assert_step(&p, 7, LENGTH, 0, 1);
	measure(&u, &p.run);
	assert_int_equal(u.count, STEPS);
	assert_int_equal(u.interrupted, 2);
	assert_int_equal(u.behind, 3);
	assert_int_equal(u.alone.p50_ns, LENGTH);
	assert_int_equal(u.cpu.p50_ns, LENGTH);
	assert_true(u.alone.p99_ns == ANALYSIS_UNKNOWN);
	take_off(&p.run);
	run_fini(&p.run);
}

/* In each step its worker is: nobody knows how long one takes. Without switches neither. */
static void always_or_not_known(void **state)
{
	struct run_off_cpu each[STEPS];
	struct undisturbed u;
	struct planted p;
	(void)state;
	plant(&p);
	for (int i = 0; i < STEPS; i++)
		each[i] = (struct run_off_cpu){begin_of(i) + 200, begin_of(i) + 300, {0}, 1};
	put_off(&p.run.lanes[p.worker], each, STEPS);
	measure(&u, &p.run);
	assert_int_equal(u.interrupted, STEPS);
	assert_true(u.alone.p50_ns == ANALYSIS_UNKNOWN);
	assert_int_equal(u.cpu.p50_ns, LENGTH);
	p.run.off_cpu.source = OFF_CPU_UNKNOWN;
	measure(&u, &p.run);
	assert_true(u.count == ANALYSIS_UNKNOWN && u.interrupted == ANALYSIS_UNKNOWN);
	assert_true(u.cpu.p50_ns == ANALYSIS_UNKNOWN);
	take_off(&p.run);
	run_fini(&p.run);
}

/* Steps of 500 and then of 1000 on the CPU: where one of eight is interrupted nothing is estimated.
 */
static void longer_in_the_second_half(void **state)
{
	struct run_off_cpu own[STEPS];
	struct undisturbed u;
	struct planted p;
	(void)state;
	plant(&p);
	for (int i = 0; i < STEPS / 2; i++)
		own[i] = (struct run_off_cpu){begin_of(i) + 100, begin_of(i) + 600, {0}, 0};
	own[STEPS / 2] = (struct run_off_cpu){begin_of(6) + 100, begin_of(6) + 110, {0}, 1};
	put_off(&p.run.lanes[p.main], own, STEPS / 2);
	measure(&u, &p.run);
	assert_int_equal(u.is_drifting, 0);
	assert_int_equal(u.alone.p50_ns, LENGTH / 2);
	put_off(&p.run.lanes[p.main], own, STEPS / 2 + 1);
	measure(&u, &p.run);
	assert_int_equal(u.is_drifting, 1);
	assert_true(u.alone.p50_ns == ANALYSIS_UNKNOWN);
	assert_int_equal(u.cpu.p50_ns, LENGTH / 2);
	take_off(&p.run);
	run_fini(&p.run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(which_and_how_long),
		cmocka_unit_test(always_or_not_known),
		cmocka_unit_test(longer_in_the_second_half),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
