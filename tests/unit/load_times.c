/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading a model counts each ns once, whatever is inside of what, up to the first step that is no
 * warm-up; what the kernel told of warm-ups and of that step is summed up.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "analysis/accounts/load_times.h"
#include "brick/abi/step_counters.h"
#include "tests/unit/run_builder.h"

static uint32_t site_of(struct run *run, const char *brick)
{
	return builder_site(run, builder_brick(run, brick, "Engine"), -1, NULL, NULL);
}

static void counter(struct run *run, uint32_t lane, const char *name, uint64_t ns, double value)
{
	uint32_t brick = builder_brick(run, name, "Engine");

	BUILDER_GROW(run->points, run->point_count);
	run->points[run->point_count++] = (struct run_point){
		.ns = ns, .lane = lane, .kind = RUN_POINT_COUNTER, .brick = brick, .value = value};
}

static void test_load(void **state)
{
	struct run run = {0};
	struct load_times times;

	(void)state;
	builder_process(&run, 1);
	builder_lane(&run, 0, 1);
	uint32_t open = site_of(&run, "ModelOpen"), map = site_of(&run, "ModelMap"),
		 read = site_of(&run, "ModelRead"), other = site_of(&run, "GraphBuild");
	uint32_t warm_up = builder_site(&run, builder_known(&run, BRICK_WARM_UP), -1, NULL, NULL);
	uint32_t prefill = builder_site(&run, builder_known(&run, BRICK_PREFILL), -1, NULL, NULL);
	builder_sample(&run, 0, open, 100, 200, 0);
	builder_sample(&run, 0, read, 120, 150, 1); /* inside of it */
	builder_sample(&run, 0, map, 200, 240, 0);
	builder_sample(&run, 0, other, 240, 300, 0);
	builder_sample(&run, 0, read, 250, 260, 1);
	builder_sample(&run, 0, warm_up, 400, 500, 0);
	builder_step(&run, 0, 1);
	assert_int_equal(load_times_of_run(&times, &run), 0);
	assert_false(times.is_known); /* there is no step but a warm-up */
	builder_sample(&run, 0, prefill, 600, 700, 0);
	builder_step(&run, 0, 1);
	builder_sample(&run, 0, read, 800, 900, 0); /* another model, later */
	counter(&run, 0, BRICK_DISK_NAME, 500, 4096);
	counter(&run, 0, BRICK_DISK_NAME, 700, 8192);
	counter(&run, 0, BRICK_FAULTS_NAME, 700, 33);
	counter(&run, 0, BRICK_DISK_NAME, 1000, 1);
	counter(&run, 0, BRICK_LOAD_MINOR_NAME, 149, 3);
	counter(&run, 0, BRICK_LOAD_DISK_NAME, 149, 4096);
	counter(&run, 0, BRICK_LOAD_MINOR_NAME, 199, 10); /* with those inside */
	counter(&run, 0, BRICK_LOAD_MAJOR_NAME, 199, 2);
	counter(&run, 0, BRICK_LOAD_DISK_NAME, 199, 8192);
	counter(&run, 0, BRICK_LOAD_MAJOR_NAME, 149, 3); /* the outer one's 2 have lost some */
	counter(&run, 0, BRICK_LOAD_MINOR_NAME, 240, 5);
	counter(&run, 0, BRICK_LOAD_MAJOR_NAME, 240, NAN);
	counter(&run, 0, BRICK_LOAD_MINOR_NAME, 245, 50); /* in no such part */
	counter(&run, 0, BRICK_LOAD_MINOR_NAME, 850, 50); /* behind the first step */
	builder_process(&run, 2);			  /* whose steps begin later */
	builder_lane(&run, 1, 2);
	counter(&run, 1, BRICK_DISK_NAME, 650, 1 << 20);
	counter(&run, 1, BRICK_FAULTS_NAME, 650, 1000);
	assert_int_equal(load_times_of_run(&times, &run), 0);
	assert_true(times.is_known);
	assert_int_equal(times.ns[LOAD_OPEN], 70);
	assert_int_equal(times.ns[LOAD_MAP], 40);
	assert_int_equal(times.ns[LOAD_READ], 40);
	assert_int_equal(times.ns[LOAD_WARM_UP], 100);
	assert_int_equal(times.disk_bytes, 12288);
	assert_int_equal(times.faults, 33);
	assert_int_equal(times.counts[LOAD_OPEN].minor, 7);
	assert_int_equal(times.counts[LOAD_OPEN].major, 0);
	assert_int_equal(times.counts[LOAD_OPEN].bytes, 4096);
	assert_int_equal(times.counts[LOAD_READ].minor, 3);
	assert_int_equal(times.counts[LOAD_READ].major, 3);
	assert_int_equal(times.counts[LOAD_READ].bytes, 4096);
	assert_int_equal(times.counts[LOAD_MAP].minor, 5);
	assert_int_equal(times.counts[LOAD_MAP].major, 0);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_load)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
