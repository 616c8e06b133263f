/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page faults go to the step that is open in their process, else to loading or to the time between
 * steps, and to the innermost brick that is open on their thread; none is counted twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "analysis/accounts/fault_accounts.h"
#include "tests/unit/run_builder.h"

static void fault(struct run *run, uint32_t lane, uint64_t begin_ns, uint64_t ns, int is_major)
{
	BUILDER_GROW(run->faults, run->fault_count);
	run->faults[run->fault_count++] = (struct run_fault){.begin_ns = begin_ns,
		.end_ns = begin_ns + ns,
		.pid = lane == RUN_NONE ? 1 : run->processes[run->lanes[lane].process].pid,
		.lane = lane,
		.is_major = (uint32_t)is_major};
}

static const struct fault_row *row_of(
	const struct fault_rows *rows, const struct run *run, uint32_t place, const char *brick)
{
	for (size_t i = 0; i < rows->list.count; i++) {
		const struct fault_row *row = &rows->list.items[i];
		const char *name = row->brick == RUN_NONE ? "" : run->bricks[row->brick].name;
		if (row->place == place && !strcmp(name, brick))
			return row;
	}
	fail();
	return NULL;
}

static void check(const struct fault_row *row, uint64_t minor, uint64_t major, uint64_t ns)
{
	assert_int_equal(row->minor, minor);
	assert_int_equal(row->major, major);
	assert_int_equal(row->ns, ns);
}

static void test_places(void **state)
{
	SCOPED_BY(fault_rows_fini) struct fault_rows rows = {0};
	struct run run = {0};

	(void)state;
	uint32_t first = builder_process(&run, 1), other = builder_process(&run, 2);
	uint32_t driver = builder_lane(&run, first, 1), worker = builder_lane(&run, first, 2);
	uint32_t beside = builder_lane(&run, other, 3);
	uint32_t outer = builder_site(&run, builder_brick(&run, "Outer", "Other"), -1, NULL, NULL);
	uint32_t inner = builder_site(&run, builder_brick(&run, "Inner", "Other"), -1, NULL, NULL);
	uint32_t warm_up = builder_site(&run, builder_known(&run, BRICK_WARM_UP), -1, NULL, NULL);
	uint32_t decode = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	builder_sample(&run, driver, outer, 100, 200, 0);
	builder_sample(&run, driver, inner, 120, 140, 1);
	builder_sample(&run, driver, inner, 150, 160, 1);
	builder_sample(&run, driver, warm_up, 300, 400, 0);
	builder_step(&run, driver, 1);
	builder_sample(&run, driver, decode, 500, 600, 0);
	builder_step(&run, driver, 1);
	builder_sample(&run, driver, inner, 510, 550, 1);
	builder_sample(&run, worker, outer, 505, 595, 0);
	builder_sample(&run, beside, outer, 90, 650, 0);
	fault(&run, driver, 90, 1, 0);
	fault(&run, driver, 110, 2, 0);
	fault(&run, driver, 120, 30, 1); /* which is served behind the brick's end */
	fault(&run, driver, 155, 4, 0);
	fault(&run, driver, 160, 8, 0);
	fault(&run, driver, 350, 16, 0);
	fault(&run, driver, 450, 32, 0); /* between a warm-up and the first step */
	fault(&run, driver, 520, 64, 0);
	fault(&run, driver, 599, 128, 0);
	fault(&run, driver, 600, 256, 0);
	fault(&run, worker, 510, 512, 0);
	fault(&run, beside, 520, 1024, 0); /* whose process has no step */
	fault(&run, RUN_NONE, 530, 2048, 0);
	assert_int_equal(fault_rows_measure(&rows, &run), 0);
	check(row_of(&rows, &run, FAULT_LOADING, ""), 2, 0, 1 + 32);
	check(row_of(&rows, &run, FAULT_LOADING, "Outer"), 2, 0, 2 + 8);
	check(row_of(&rows, &run, FAULT_PLACES, "Outer"), 1, 0, 1024);
	check(row_of(&rows, &run, FAULT_LOADING, "Inner"), 1, 1, 34);
	check(row_of(&rows, &run, STEP_WARM_UP, brick_name(BRICK_WARM_UP)), 1, 0, 16);
	check(row_of(&rows, &run, STEP_DECODE, "Inner"), 1, 0, 64);
	check(row_of(&rows, &run, STEP_DECODE, "Outer"), 1, 0, 512);
	check(row_of(&rows, &run, STEP_DECODE, brick_name(BRICK_DECODE)), 1, 0, 128);
	check(row_of(&rows, &run, STEP_DECODE, ""), 1, 0, 2048);
	check(row_of(&rows, &run, FAULT_BETWEEN, ""), 1, 0, 256);
	assert_int_equal(row_of(&rows, &run, STEP_DECODE, "Inner")->driver_ns, 64);
	assert_int_equal(row_of(&rows, &run, STEP_DECODE, "Outer")->driver_ns, 0);
	const struct fault_row all = fault_rows_sum(&rows, FAULT_PLACES);
	assert_int_equal(all.minor + all.major, run.fault_count);
	assert_int_equal(rows.list.items[0].place, STEP_DECODE);
	assert_true(rows.list.items[0].ns >= rows.list.items[1].ns);
	run_fini(&run);
}

/* Two threads run steps at the same time, and each has the faults of its own step. */
static void test_own_step(void **state)
{
	SCOPED_BY(fault_rows_fini) struct fault_rows rows = {0};
	struct run run = {0};

	(void)state;
	uint32_t process = builder_process(&run, 1);
	uint32_t one = builder_lane(&run, process, 1), two = builder_lane(&run, process, 2);
	uint32_t decode = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t prefill = builder_site(&run, builder_known(&run, BRICK_PREFILL), -1, NULL, NULL);
	builder_sample(&run, one, decode, 100, 200, 0);
	builder_step(&run, one, 1);
	builder_sample(&run, two, prefill, 110, 190, 0);
	builder_step(&run, two, 8);
	fault(&run, one, 150, 1, 0);
	fault(&run, two, 150, 2, 0);
	assert_int_equal(fault_rows_measure(&rows, &run), 0);
	check(row_of(&rows, &run, STEP_DECODE, brick_name(BRICK_DECODE)), 1, 0, 1);
	check(row_of(&rows, &run, STEP_PREFILL, brick_name(BRICK_PREFILL)), 1, 0, 2);
	assert_int_equal(fault_rows_sum(&rows, FAULT_PLACES).driver_ns, 3);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places), cmocka_unit_test(test_own_step)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
