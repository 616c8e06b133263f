/* SPDX-License-Identifier: Apache-2.0 */
/* Readings of clocks: they do not run back, and a moment to come is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock_ns.h"

static void do_not_run_back(void **state)
{
	uint64_t last[3] = {0};

	for (int i = 0; i < 10000; i++) {
		uint64_t now[3] = {monotonic_ns(), thread_cpu_ns(), process_cpu_ns()};
		for (int k = 0; k < 3; k++) {
			assert_true(now[k] >= last[k]);
			last[k] = now[k];
		}
	}
	assert_true(last[0] && last[1] && last[2]);
	assert_true(real_ns() / NS_PER_S > 1600000000);
}

static void moments(void **state)
{
	struct timespec t = timespec_of_ns(3 * NS_PER_S + 999999999);
	uint64_t before = monotonic_ns();
	struct timespec later = timespec_in_ns(CLOCK_MONOTONIC, 5 * NS_PER_S);

	assert_int_equal(t.tv_sec, 3);
	assert_int_equal(t.tv_nsec, 999999999);
	assert_true((uint64_t)later.tv_sec * NS_PER_S + (uint64_t)later.tv_nsec >=
		    before + 5 * NS_PER_S);
	assert_true(later.tv_nsec < (long)NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(do_not_run_back),
		cmocka_unit_test(moments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
