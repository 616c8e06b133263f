/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: what is known of OpenCL's events. Many at a time, wherever they lie in memory:
 * nobody takes another's place. One that is known anew, or was released, is not the one before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "attach/opencl/opencl_events.h"

static cl_event event_at(uint64_t round, uint64_t i)
{
	return (cl_event)(uintptr_t)(0x550000001000 + (round << 32) + i * 0x1b0);
}

static void none_is_in_the_way(void **state)
{
	enum { EVENTS = 2000, ROUNDS = 20 };

	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (uint64_t i = 0; i < EVENTS; i++)
			events_know(event_at(round, i), 1 + i);
		for (uint64_t i = 0; i < EVENTS; i++)
			events_waited(event_at(round, i), 1000 + i);
		for (uint64_t i = 0; i < EVENTS; i++) {
			assert_int_equal(events_number(event_at(round, i)), 1 + i);
			assert_int_equal(events_waited_ns(event_at(round, i), 1 + i), 1000 + i);
		}
		for (uint64_t i = 0; i < EVENTS; i++)
			events_forget(event_at(round, i));
		for (uint64_t i = 0; i < EVENTS; i++)
			assert_int_equal(events_number(event_at(round, i)), 0);
	}
}

static void known_anew(void **state)
{
	cl_event event = event_at(0, 7);

	assert_int_equal(events_number(NULL), 0);
	events_forget(NULL);
	events_know(event, 5);
	events_waited(event, 10);
	events_waited(event, 20); /* the first wait counts */
	assert_int_equal(events_waited_ns(event, 5), 10);
	events_know(event, 6);
	assert_int_equal(events_number(event), 6);
	assert_int_equal(events_waited_ns(event, 5), 0);
	assert_int_equal(events_waited_ns(event, 6), 0);
	events_forget(event);
	assert_int_equal(events_number(event), 0);
}

/* More than there is room for: what is known of one is its own. */
static void too_many(void **state)
{
	enum { EVENTS = 40000 };
	uint64_t there = 0;

	for (uint64_t i = 0; i < EVENTS; i++)
		events_know(event_at(0, i), 1 + i);
	for (uint64_t i = 0; i < EVENTS; i++) {
		uint64_t number = events_number(event_at(0, i));
		assert_true(number == 0 || number == 1 + i);
		there += number != 0;
	}
	assert_in_range(there, 8000, 1 << 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_is_in_the_way),
		cmocka_unit_test(known_anew),
		cmocka_unit_test(too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
