/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attacher of ggml has its own copy of what the inline clock needs. Its times are the process's
 * also in a hook that runs before its thread is ready, as where a recorder enters in a graph.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "brick/clock.h"

/* libbrick's own are in this program, too. */
#define brick__counter_used ggml_counter_used
#define brick__monotonic_slow ggml_monotonic_slow
#include "attach/ggml/engine/ggml_shared.c"

static void before_a_thread_is_ready(void **state)
{
	(void)state;
	assert_int_equal(brick__counter_used, 0);
	uint64_t before = brick_ticks(), own = brick__now(), after = brick_ticks();
	assert_true(before <= own && own <= after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(before_a_thread_is_ready)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
