/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment is copied whole while another thread makes a variable longer and shorter, as in a
 * process that runs already when the library is loaded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sys/environment.h"

enum { ROUNDS = 100000, LONG = 8191 };

static bool is_over;
static int changes;

/* No new variable: its room in the program's own array stays the same. */
static void *change(void *longer)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		setenv("BRICK_TEST_CHANGES",
			__atomic_add_fetch(&changes, 1, __ATOMIC_RELAXED) % 2 ? "short" : longer,
			1);
	return NULL;
}

static void a_copy_is_whole(void **state)
{
	static char longer[LONG + 1];
	pthread_t thread;

	(void)state;
	memset(longer, 'x', LONG);
	setenv("BRICK_TEST_CHANGES", "short", 1);
	setenv("BRICK_TEST_LAST", "kept", 1);
	assert_int_equal(pthread_create(&thread, NULL, change, longer), 0);
	while (__atomic_load_n(&changes, __ATOMIC_RELAXED) < ROUNDS) {
		brick__environment_read();
		const char *value = brick__environment("BRICK_TEST_CHANGES");
		assert_non_null(value);
		assert_true(strlen(value) == LONG || !strcmp(value, "short"));
		assert_string_equal(brick__environment("BRICK_TEST_LAST"), "kept");
	}
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void a_variable_is_found_by_its_whole_name(void **state)
{
	(void)state;
	setenv("BRICK_TEST_NAME", "", 1);
	brick__environment_read();
	assert_string_equal(brick__environment("BRICK_TEST_NAME"), "");
	assert_null(brick__environment("BRICK_TEST_NAM"));
	clearenv();
	brick__environment_read();
	assert_null(brick__environment("BRICK_TEST_NAME"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_is_whole),
		cmocka_unit_test(a_variable_is_found_by_its_whole_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
