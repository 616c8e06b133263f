/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roofline against values computed by hand: rates, intensity, roofs, distance and bound; teams
 * that tell of their work once and teams that each tell of their part; waits, nesting, phases; what
 * lies above the ceilings raises them or is flagged; what is missing or in doubt stays missing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/roofline/roofline.h"
#include "analysis/statistics/unknown.h"
#include "tests/unit/roofline_kit.h"

static void one_thread_by_hand(void **state)
{
	struct run run;
	uint32_t lane = start(&run);
	uint32_t slow = work_site(&run, "Slow", NULL, 1000, 2000);
	uint32_t hard = work_site(&run, "Hard", NULL, 60000, 1000);
	builder_sample(&run, lane, slow, 0, 100, 0);
	builder_sample(&run, lane, slow, 200, 300, 0)->wait_ns = 50;
	builder_sample(&run, lane, hard, 1000, 2000, 0);
	/* 2 FLOPs per byte, a little left of the ridge at 100 / 40 */
	builder_sample(&run, lane, work_site(&run, "Ridge", NULL, 4000, 2000), 3000, 3100, 0);
	again(&run);
	struct roofline *r = make(&run, &machine);
	assert_int_equal(r->row_count, 3);
	assert_string_equal(r->rows[2].name, "Ridge");
	assert_int_equal(r->rows[2].bound, ROOFLINE_MEMORY);
	assert_near(r->rows[2].roof_flops_per_ns, 80);
	assert_near(r->rows[2].distance, 0.5);

	const struct roofline_row *row = &r->rows[0]; /* the longest first */
	assert_string_equal(row->name, "Hard");
	assert_near(row->flops_per_ns, 60);
	assert_near(row->bytes_per_ns, 1);
	assert_near(row->intensity, 60);
	assert_near(row->roof_flops_per_ns, 100);
	assert_near(row->distance, 0.4);
	assert_int_equal(row->bound, ROOFLINE_COMPUTE);

	row = &r->rows[1];
	assert_int_equal(row->team_ns, 400); /* the wait behind it is not its time */
	assert_int_equal(row->count, 4);
	assert_int_equal(row->threads, 1);
	assert_near(row->flops_per_ns, 10);
	assert_near(row->bytes_per_ns, 20);
	assert_near(row->intensity, 0.5);
	assert_near(row->roof_flops_per_ns, 20); /* min(100, 0.5 x 40) */
	assert_near(row->roof_bytes_per_ns, 40);
	assert_near(row->distance, 0.5);
	assert_int_equal(row->bound, ROOFLINE_MEMORY);
	assert_string_equal(row->level, "memory");
	assert_int_equal(row->flags, 0);
	finish(r, &run);
}

/* Three ways of telling the same: 8000 bytes by two threads in 100 ns. */
static void teams_count_once(void **state)
{
	struct run run;
	uint32_t a = start(&run), b = builder_lane(&run, 0, 2);
	uint32_t whole = work_site(&run, "Told", "OP", 4000, 4000);
	uint32_t part = builder_site(&run, run.sites[whole].brick, 0, "OP", "t");
	uint32_t own = work_site(&run, "Each", NULL, 2000, 2000);
	builder_sample(&run, a, whole, 0, 100, 0);
	builder_sample(&run, b, part, 0, 80, 0)->wait_ns = 20;
	builder_sample(&run, a, own, 200, 300, 0);
	builder_sample(&run, b, own, 220, 300, 0);
	again(&run);
	struct roofline *r = make(&run, &machine);
	assert_int_equal(r->row_count, 2);
	for (int i = 0; i < 2; i++) {
		const struct roofline_row *row = &r->rows[i];
		assert_int_equal(row->team_ns, 200);
		assert_int_equal(row->busy_ns, 360);
		assert_near(row->at_once, 1.8);
		assert_int_equal(row->threads, 2);
		assert_int_equal(row->roof_threads, 2);
		assert_near(row->bytes_per_ns, 40);
		assert_near(row->roof_bytes_per_ns, 50);
		assert_near(row->distance, 0.2);
		assert_int_equal(row->count, strcmp(row->name, "Told") ? 4 : 2);
	}
	finish(r, &run);
}

/* A thread that only looks in does not make a team, nor does one at another time. */
static void lone_threads(void **state)
{
	struct run run;
	uint32_t a = start(&run), b = builder_lane(&run, 0, 2);
	uint32_t whole = work_site(&run, "Alone", "OP", 1000, 1000);
	uint32_t part = builder_site(&run, run.sites[whole].brick, 0, "OP", "t");
	uint32_t turns = work_site(&run, "Turns", NULL, 1000, 1000);
	builder_sample(&run, a, whole, 0, 100, 0);
	builder_sample(&run, b, part, 0, 5, 0);
	builder_sample(&run, a, turns, 200, 250, 0);
	builder_sample(&run, b, turns, 250, 300, 0);
	struct roofline *r = make(&run, &machine);
	for (int i = 0; i < 2; i++)
		assert_int_equal(r->rows[i].threads, 1);
	assert_near(r->rows[0].bytes_per_ns, !strcmp(r->rows[0].name, "Alone") ? 10 : 20);
	finish(r, &run);
}

static void nested_time_is_not_its_own(void **state)
{
	struct run run;
	uint32_t lane = start(&run);
	uint32_t outer = work_site(&run, "Outer", NULL, 600, 600);
	uint32_t inner = work_site(&run, "Inner", NULL, 300, 300);
	builder_sample(&run, lane, outer, 0, 100, 0);
	builder_sample(&run, lane, inner, 20, 50, 1)->wait_ns = 10;
	struct roofline *r = make(&run, &machine);
	assert_int_equal(r->row_count, 2);
	assert_string_equal(r->rows[0].name, "Outer");
	assert_int_equal(r->rows[0].team_ns, 60);
	assert_int_equal(r->rows[1].team_ns, 30);
	assert_near(r->rows[0].at_once, 1);
	finish(r, &run);
}

/*
 * What lies above a ceiling is not taken for data of the next cache: it is at its roof up to 5 %,
 * and has none beyond that, unless it may raise the ceiling.
 */
static void above_ceilings(void **state)
{
	struct run run;
	uint32_t lane = start(&run);
	uint32_t near_limit = work_site(&run, "Near", NULL, 0, 4100);
	uint32_t faster = work_site(&run, "Faster", NULL, 0, 4500);
	uint32_t too_fast = work_site(&run, "TooFast", NULL, 100, 34000);
	uint32_t bytes8 = work_site(&run, "Dots", NULL, 20000, 100);
	uint32_t absurd = work_site(&run, "Absurd", NULL, 60000, 100);
	uint32_t sites[] = {near_limit, faster, too_fast, bytes8, absurd};
	for (int i = 0; i < 5; i++)
		builder_sample(
			&run, lane, sites[i], (uint64_t)i * 1000, (uint64_t)i * 1000 + 100, 0);
	again(&run);
	struct roofline *r = make(&run, &machine);
	assert_int_equal(r->row_count, 5);
	const struct roofline_row *row = &r->rows[0];
	for (int i = 0; i < 5; i++)
		assert_string_equal(row[i].level, "memory"); /* whatever the rate */
	assert_near(row[0].distance, 0);
	assert_near(row[0].roof_bytes_per_ns, 41);
	assert_int_equal(row[0].flags, 0);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(row[i].flags, ROOFLINE_ABOVE_BANDWIDTH);
		assert_true(row[i].roof_bytes_per_ns < 0 && row[i].distance < 0);
		assert_int_equal(row[i].bound, ROOFLINE_UNKNOWN);
	}
	assert_near(row[2].bytes_per_ns, 340);	      /* not clamped */
	assert_string_equal(row[3].peak->type, "i8"); /* 200 GFLOP/s is far more than f32 can */
	assert_int_equal(row[3].flags, 0);
	assert_near(row[3].distance, 0.5);
	assert_int_equal(row[4].flags, ROOFLINE_ABOVE_COMPUTE);
	assert_near(row[4].flops_per_ns, 600);
	finish(r, &run);
}

/* Steadily above the bandwidth of memory: its measurement was too low, for all bricks. */
static void a_run_raises_ceilings(void **state)
{
	static const struct {
		uint64_t bytes; /* in 100 us */
		int flags;
		double roof; /* of both bricks */
	} cases[] = {{4600000, ROOFLINE_RAISED, 46}, {3000000, 0, 40},
		{32000000, ROOFLINE_ABOVE_BANDWIDTH, 40}}; /* more than L1 can: not believed */
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct run run;
		uint32_t lane = start(&run);
		uint32_t fast = work_site(&run, "Fast", NULL, 0, cases[i].bytes);
		uint32_t slow = work_site(&run, "Slow", NULL, 0, 2300000);
		run.path = strdup("a.pftrace");
		for (uint64_t k = 0; k < 40; k++)
			builder_sample(&run, lane, k % 2 ? slow : fast, k * 200000,
				k * 200000 + 100000, 0);
		struct roofline *r = make(&run, &machine);
		assert_int_equal(r->rows[0].flags, cases[i].flags);
		assert_near(r->rows[1].roof_bytes_per_ns, cases[i].roof);
		struct ceilings kept = machine;
		assert_int_equal(roofline_learn(&kept, r), cases[i].flags == ROOFLINE_RAISED);
		assert_int_equal(roofline_learn(&kept, r), 0); /* it is there */
		if (kept.reached_count) {
			assert_string_equal(kept.reached[0].brick, "Fast");
			assert_string_equal(kept.reached[0].level, "memory");
			assert_string_equal(kept.reached[0].recording, "a.pftrace");
			assert_near(kept.reached[0].rate.best, 46);
		}
		roofline_destroy(r);
		step_index_fini(&step_index);
		r = make(&run, &kept); /* the next time, the same */
		assert_int_equal(r->rows[0].flags, cases[i].flags);
		finish(r, &run);
		free(kept.reached);
	}
}

/* Bricks that others ran in place of, or that waited for pages, have no verdict. */
static void off_its_cpu(void **state)
{
	(void)state;
	for (uint64_t preempted_ns = 100; preempted_ns <= 300; preempted_ns += 200) {
		struct run run;
		uint32_t lane = start(&run), site = work_site(&run, "B", NULL, 1000, 20000);
		struct run_off_cpu off[1] = {{.begin_ns = 100,
			.end_ns = 100 + preempted_ns,
			.before = {0, 0},
			.preempted = preempted_ns < 300}};
		builder_sample(&run, lane, site, 0, 1000, 0);
		builder_sample(&run, lane, site, 1000, 2000, 0);
		run.off_cpu.source = OFF_CPU_SWITCHES;
		run.lanes[lane].off_cpu = off;
		run.lanes[lane].off_cpu_count = 1;
		struct roofline *r = make(&run, &machine);
		assert_int_equal(r->rows[0].distance < 0, preempted_ns == 300);
		assert_int_equal(r->rows[0].flags, preempted_ns == 300 ? ROOFLINE_OFF_CPU : 0);
		run.lanes[lane].off_cpu = NULL;
		run.lanes[lane].off_cpu_count = 0;
		finish(r, &run);
	}
}

/* No row has a roof while its ceilings are in doubt, as a whole or by themselves. */
static void doubt_gives_no_roof(void **state)
{
	struct ceilings other = machine;
	struct ceilings_bandwidth once[6];

	(void)state;
	memcpy(once, bandwidth, sizeof(once));
	once[2].rate.count = 1;
	strcpy(other.cpu, "another");
	for (int i = 0; i < 2; i++) {
		struct run run;
		uint32_t lane = start(&run), site = work_site(&run, "B", NULL, 1000, 2000);
		run.cpu = strdup("this");
		strcpy(other.cpu, i ? "this" : "another");
		other.bandwidth = i ? once : bandwidth;
		builder_sample(&run, lane, site, 0, 100, 0);
		builder_sample(&run, lane, site, 200, 300, 0);
		struct roofline *r = make(&run, &other);
		assert_int_equal(r->doubt, i ? CEILINGS_TRUSTED : CEILINGS_OTHER_CPU);
		assert_int_equal(r->rows[0].flags, ROOFLINE_DOUBTED);
		assert_true(r->rows[0].distance < 0);
		assert_string_equal(r->rows[0].level, "memory");
		finish(r, &run);
	}
}

/* One of two executions says only the most that it can have done: no verdict on the rate of both.
 */
static void at_most_has_no_roof(void **state)
{
	struct run run;
	uint32_t lane = start(&run), site = work_site(&run, "Masked", "FA", 4000, 4000);
	uint32_t most = work_site(&run, "Masked", "FA", 8000, 8000);
	run.sites[most].flags |= BRICK_SITE_AT_MOST;
	builder_sample(&run, lane, site, 0, 100, 0);
	builder_sample(&run, lane, most, 100, 200, 0);
	struct roofline *r = make(&run, &machine);
	assert_int_equal(r->row_count, 1);
	assert_int_equal(r->rows[0].flags, ROOFLINE_AT_MOST);
	assert_near(r->rows[0].bytes_per_ns, 60);
	assert_int_equal(r->rows[0].bound, ROOFLINE_UNKNOWN);
	assert_true(r->rows[0].roof_flops_per_ns < 0);
	finish(r, &run);
}

static void latency_bound(void **state)
{
	struct run run;
	uint32_t a = start(&run), b = builder_lane(&run, 0, 2);
	uint32_t site = work_site(&run, "Tiny", NULL, 10, 500);
	builder_sample(&run, a, site, 0, 100, 0);
	builder_sample(&run, b, site, 0, 100, 0);
	again(&run);
	run.processes[0].pair_cost_ns = 30;
	struct roofline *r = make(&run, &machine);
	assert_int_equal(r->rows[0].bound, ROOFLINE_LATENCY); /* 2 ns of bandwidth, 70 ns to meet */
	assert_near(r->rows[0].floor_ns, 70);
	assert_near(r->rows[0].distance, 1 - 10 / 600.0); /* still of its roof */
	finish(r, &run);

	a = start(&run);
	site = work_site(&run, "Tiny", NULL, 10, 500);
	builder_sample(&run, a, site, 0, 100, 0);
	again(&run);
	run.processes[0].pair_cost_ns = 30; /* alone: what it takes to time it */
	r = make(&run, &machine);
	assert_int_equal(r->rows[0].bound, ROOFLINE_LATENCY);
	finish(r, &run);
}

static void missing_is_missing(void **state)
{
	struct run run;
	uint32_t lane = start(&run);
	uint32_t some = work_site(&run, "Some", NULL, 100, 100);
	uint32_t silent = builder_site(&run, run.sites[some].brick, 1, NULL, NULL);
	uint32_t half = work_site(&run, "Half", NULL, 0, 100);
	uint32_t nothing = builder_site(&run, builder_brick(&run, "Nothing", "X"), 0, "OP", "n");
	run.sites[half].flags = BRICK_SITE_HAS_BYTES;
	run.sites[nothing].flags = BRICK_SITE_HAS_ELEMENTS;
	builder_sample(&run, lane, some, 0, 100, 0);
	builder_sample(&run, lane, silent, 100, 900, 0);
	builder_sample(&run, lane, half, 1000, 1010, 0);
	builder_sample(&run, lane, nothing, 2000, 2010, 0);
	builder_sample(&run, lane, some, 3000, 9000, 0)->flags = RUN_SAMPLE_OPEN;
	struct roofline *r = make(&run, &machine);
	assert_int_equal(r->row_count, 2);
	assert_string_equal(r->rows[0].name, "Some");
	assert_int_equal(r->rows[0].team_ns, 100);
	assert_int_equal(r->rows[0].silent, 1);
	assert_int_equal(r->rows[0].flags, ROOFLINE_NOT_ALL | ROOFLINE_NO_LEVEL);
	assert_true(r->rows[1].flops == ANALYSIS_UNKNOWN);
	assert_true(r->rows[1].flops_per_ns < 0 && r->rows[1].intensity < 0);
	assert_near(r->rows[1].bytes_per_ns, 10);
	assert_int_equal(r->rows[1].bound, ROOFLINE_UNKNOWN);
	assert_true(r->rows[1].roof_bytes_per_ns < 0);
	roofline_destroy(r);

	assert_int_equal(roofline_create(&r, &run, &step_index, NULL), 0); /* no ceilings */
	assert_near(r->rows[0].flops_per_ns, 1);
	assert_int_equal(r->rows[0].bound, ROOFLINE_UNKNOWN);
	assert_null(r->rows[0].peak);
	finish(r, &run);
}

static void phases_threads_devices(void **state)
{
	struct run run;
	uint32_t lanes[3] = {start(&run)};
	uint32_t site = work_site(&run, "B", NULL, 300, 300);
	uint32_t prefill = builder_site(&run, builder_known(&run, BRICK_PREFILL), -1, NULL, NULL);
	uint32_t decode = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	lanes[1] = builder_lane(&run, 0, 2);
	lanes[2] = builder_lane(&run, 0, 3);
	builder_sample(&run, lanes[0], prefill, 0, 400, 0);
	builder_step(&run, lanes[0], 5);
	builder_sample(&run, lanes[0], site, 0, 100, 1);
	builder_sample(&run, lanes[0], decode, 500, 700, 0);
	builder_step(&run, lanes[0], 1);
	for (int i = 0; i < 3; i++)
		builder_sample(&run, lanes[i], site, 500, 550, i == 0);
	uint32_t queue = builder_lane(&run, 0, 9);
	run.lanes[queue].kind = BRICK_LANE_QUEUE;
	builder_sample(&run, queue, site, 560, 660, 0);
	struct roofline *r = make(&run, &machine);
	assert_int_equal(r->row_count, 3);
	assert_int_equal(r->rows[0].phase, ROOFLINE_PREFILL);
	assert_near(r->rows[0].share, 0.25);
	assert_near(r->rows[0].bytes_per_ns, 3);
	assert_int_equal(r->rows[1].phase, ROOFLINE_DECODE);
	assert_true(r->rows[1].on_device); /* 100 ns: longer than that on the threads */
	assert_null(r->rows[1].peak);
	assert_near(r->rows[1].bytes_per_ns, 3);
	assert_int_equal(r->rows[2].threads, 3); /* 4 were measured, 3 were not */
	assert_int_equal(r->rows[2].roof_threads, 4);
	assert_int_equal(r->rows[2].flags, ROOFLINE_OTHER_THREADS);
	assert_near(r->rows[2].bytes_per_ns, 18);
	assert_near(r->rows[2].share, 0.25);
	finish(r, &run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_by_hand),
		cmocka_unit_test(teams_count_once),
		cmocka_unit_test(lone_threads),
		cmocka_unit_test(nested_time_is_not_its_own),
		cmocka_unit_test(above_ceilings),
		cmocka_unit_test(a_run_raises_ceilings),
		cmocka_unit_test(off_its_cpu),
		cmocka_unit_test(doubt_gives_no_roof),
		cmocka_unit_test(at_most_has_no_roof),
		cmocka_unit_test(latency_bound),
		cmocka_unit_test(missing_is_missing),
		cmocka_unit_test(phases_threads_devices),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
