/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane that went on with other threads, each when the one before it had ended, is a row by thread
 * that says of how many it is; one that nothing was recorded of is none of them.
 */
#include "tests/unit/summary_kit.h"

/* Work of the lane at 100, 200, and on; it is of another thread from each of these times on. */
static void assert_label(const uint64_t *handovers, size_t count, const char *expected)
{
	struct summary *s;
	struct run run;
	uint32_t lane = start(&run);
	uint32_t work = builder_site(&run, builder_brick(&run, "Work", "Other"), -1, NULL, NULL);

	run.lanes[lane].first_tid = run.lanes[lane].tid = 10;
	for (size_t i = 0; i < count; i++)
		builder_owner(&run, lane, handovers[i], run.lanes[lane].tid = 11 + i);
	for (uint64_t ns = 100; ns < 500; ns += 100)
		builder_sample(&run, lane, work, ns, ns + 50, 0);
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_THREAD, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(s->row_count, 1);
	assert_string_equal(s->rows[0].name, expected);
	summary_destroy(s);
	run_fini(&run);
}

static void threads_of_one_lane_are_counted(void **state)
{
	(void)state;
	assert_label(NULL, 0, "t (10)");
	assert_label((const uint64_t[]){190}, 1, "t (11, the last of 2)");
	assert_label((const uint64_t[]){190, 290, 390}, 3, "t (13, the last of 4)");
}

static void who_recorded_nothing_is_none_of_them(void **state)
{
	(void)state;
	assert_label((const uint64_t[]){90}, 1, "t (11)");
	assert_label((const uint64_t[]){90, 290}, 2, "t (12, the last of 2)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_one_lane_are_counted),
		cmocka_unit_test(who_recorded_nothing_is_none_of_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
