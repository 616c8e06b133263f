/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters. Reading a hardware counter in user space, against a double of the kernel's page and of
 * the CPU: base and index, width and sign, a page that changes while it is read, counters that are
 * shared or not running. What cannot be opened is unavailable with a reason.
 */
#include "tests/unit/counters_kit.h"

static uint64_t read_value(void)
{
	struct brick__perf perf = {.fd = 100, .page = &page};
	struct brick__perf_reading reading;
	assert_int_equal(brick__perf_read_page(&perf, &reading), 0);
	return reading.value;
}

static void base_and_sign(void **state)
{
	page.offset = 1000;
	hardware_counter = 234;
	assert_int_equal(read_value(), 1234);
	assert_int_equal(last_index, 0);     /* the page counts from 1 */
	hardware_counter = (1ull << 48) - 4; /* -4 in 48 bits: the counter was preset */
	assert_int_equal(read_value(), 996);
	hardware_counter = 0xabcd000000000005ull; /* what is beyond the width does not count */
	assert_int_equal(read_value(), 1005);
	page.pmc_width = 40;
	hardware_counter = 1ull << 39; /* the sign of a narrower one */
	page.offset = (int64_t)(1ull << 39) + 9;
	assert_int_equal(read_value(), 9);
	page.pmc_width = 64;
	hardware_counter = UINT64_MAX;
	page.offset = 5;
	assert_int_equal(read_value(), 4);
	page.offset = -3; /* the base is signed, too */
	hardware_counter = 10;
	assert_int_equal(read_value(), 7);
}

static void changes_while_read(void **state)
{
	page.offset = 1000;
	hardware_counter = 50;
	changes = 1;
	assert_int_equal(read_value(), 2007); /* all of the new one, nothing of the old */
	assert_int_equal(last_index, 2);
	struct brick__perf perf = {.fd = 100, .page = &page};
	struct brick__perf_reading reading;
	changes = 1 << 30; /* never still: no value rather than a mixed one */
	assert_int_equal(brick__perf_read_page(&perf, &reading), -EAGAIN);
	changes = 0;
	page.lock |= 1; /* being written */
	assert_int_equal(brick__perf_read_page(&perf, &reading), -EAGAIN);
}

static void not_readable_in_user_space(void **state)
{
	struct brick__perf perf = {.fd = 100, .page = &page}, without = {.fd = 100};
	struct brick__perf_reading reading;
	assert_int_equal(brick__perf_read_page(&without, &reading), -EAGAIN);
	page.index = 0; /* not on the CPU's counters just now */
	assert_int_equal(brick__perf_read_page(&perf, &reading), -EAGAIN);
	page.index = 1;
	page.cap_user_rdpmc = 0;
	assert_int_equal(brick__perf_read_page(&perf, &reading), -EAGAIN);
	page.cap_user_rdpmc = 1;
	page.pmc_width = 0;
	assert_int_equal(brick__perf_read_page(&perf, &reading), -EAGAIN);
	page.pmc_width = 65;
	assert_int_equal(brick__perf_read_page(&perf, &reading), -EAGAIN);
}

static void sets_of_counters(void **state)
{
	struct brick_counters *c;
	struct brick_counter_values v = BRICK_COUNTER_VALUES_INIT;
	by_descriptor[0] = 77;
	by_descriptor[1] = by_descriptor[2] = 10;
	hardware_counter = 40;
	page.offset = 2;
	assert_int_equal(brick_counters_open(&c, BRICK_COUNTERS_ALL), BRICK_COUNTERS_ALL);
	brick_counters_read(c, &v);
	assert_int_equal(v.valid, BRICK_COUNTERS_ALL);
	assert_int_equal(v.direct, BRICK_COUNTERS_HARDWARE);
	assert_int_equal(v.value[BRICK_COUNTER_CYCLES], 42);
	assert_int_equal(v.value[BRICK_COUNTER_PAGE_FAULTS], 77);
	assert_int_equal(reads, 3);
	page.time_running = 400; /* it had to share: a lower bound, not scaled to 52 */
	brick_counters_read(c, &v);
	assert_int_equal(v.valid, BRICK_COUNTERS_SOFTWARE);
	assert_int_equal(v.shared, BRICK_COUNTERS_HARDWARE);
	assert_int_equal(v.value[BRICK_COUNTER_CYCLES], 42);
	page.index = 0;
	brick_counters_read(c, &v); /* by system calls */
	assert_int_equal(v.direct, 0);
	assert_int_equal(v.value[BRICK_COUNTER_CYCLES], 77);
	brick_counters_close(c);
	brick_counters_close(NULL);
	assert_int_equal(opens, 0);
	assert_int_equal(brick_counters_open(&c, 0), -EINVAL);
	assert_int_equal(brick_counters_open(&c, 64), -EINVAL);
}

/* Descriptors that the program has closed, and uses for files of its own, are left alone. */
static void taken_by_the_program(void **state)
{
	struct brick_counters *c;
	struct brick_counter_values v = BRICK_COUNTER_VALUES_INIT;
	assert_int_equal(brick_counters_open(&c, BRICK_COUNTERS_ALL), BRICK_COUNTERS_ALL);
	is_taken = true;
	brick_counters_read(c, &v);
	assert_int_equal(v.valid, BRICK_COUNTERS_HARDWARE); /* which have their pages */
	assert_int_equal(reads, 0);
	brick_counters_close(c);
	assert_int_equal(opens, 6); /* none was closed */
}

static void unavailable_with_a_reason(void **state)
{
	struct brick_counters *c;
	struct brick_counter_values v = BRICK_COUNTER_VALUES_INIT;
	char reason[200];
	hardware_error = -ENOENT;
	level = 2;
	assert_int_equal(
		brick_counters_available(BRICK_COUNTER_CYCLES, reason, sizeof reason), -ENOENT);
	assert_non_null(strstr(reason, "no such hardware counter"));
	assert_int_equal(brick_counters_open(&c, BRICK_COUNTERS_ALL), BRICK_COUNTERS_SOFTWARE);
	brick_counters_read(c, &v);
	assert_int_equal(v.valid, BRICK_COUNTERS_SOFTWARE);
	assert_int_equal(v.value[BRICK_COUNTER_CYCLES], 0);
	brick_counters_close(c);
	assert_int_equal(brick_counters_open(&c, BRICK_COUNTERS_HARDWARE), -ENOENT);
	kernel_error = -EACCES; /* paranoid: user space only, which has no context switches */
	assert_int_equal(
		brick_counters_available(BRICK_COUNTER_PAGE_FAULTS, reason, sizeof reason), 0);
	assert_string_equal(reason, "");
	assert_int_equal(
		brick_counters_available(BRICK_COUNTER_CONTEXT_SWITCHES, reason, sizeof reason),
		-EACCES);
	assert_non_null(strstr(reason, "perf_event_paranoid is 2"));
	hardware_error = software_error = -EPERM;
	level = 4;
	assert_int_equal(
		brick_counters_available(BRICK_COUNTER_CYCLES, reason, sizeof reason), -EPERM);
	assert_non_null(strstr(reason, "perf_event_paranoid is 4"));
	assert_non_null(strstr(reason, "seccomp"));
	hardware_error = -ENOSYS;
	brick_counters_available(BRICK_COUNTER_CYCLES, reason, sizeof reason);
	assert_non_null(strstr(reason, "no perf_event"));
	assert_int_equal(brick_counters_available(99, reason, sizeof reason), -EINVAL);
	assert_int_equal(opens, 0);
}

static void lists(void **state)
{
	assert_int_equal(brick_counters_parse("all"), 63);
	assert_int_equal(brick_counters_parse("software,cycles"), 57);
	assert_int_equal(brick_counters_parse("page-faults,context-switches"), 48);
	assert_int_equal(brick_counters_parse(""), -EINVAL);
	assert_int_equal(brick_counters_parse("cycle"), -EINVAL);
	assert_int_equal(brick_counters_parse("cycles,"), -EINVAL);
	assert_int_equal(brick_counters_parse(NULL), -EINVAL);
	assert_null(brick_counters_name(6));
	assert_int_equal(brick_counters_set(64), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(base_and_sign, use_fake, use_real),
		cmocka_unit_test_setup_teardown(changes_while_read, use_fake, use_real),
		cmocka_unit_test_setup_teardown(not_readable_in_user_space, use_fake, use_real),
		cmocka_unit_test_setup_teardown(sets_of_counters, use_fake, use_real),
		cmocka_unit_test_setup_teardown(taken_by_the_program, use_fake, use_real),
		cmocka_unit_test_setup_teardown(unavailable_with_a_reason, use_fake, use_real),
		cmocka_unit_test(lists),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
