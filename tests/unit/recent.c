/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The newest items, in a fixed piece of memory: however many are added, those that are left follow
 * each other without a gap up to the last one, and are as they were; a file begins with a whole
 * round; an ended session has no items.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "lib/keep/recent.h"

enum { CAPACITY = 65536, ROUNDS = 20000 };

static struct recent recent;

static int set_up(void **state)
{
	return recent_init(&recent, CAPACITY);
}

static int tear_down(void **state)
{
	recent_fini(&recent);
	return 0;
}

/* Never dereferenced. */
static struct drain *session(uintptr_t number)
{
	return (struct drain *)(number * 8); /* NOLINT */
}

/* Interval i of a session is from i to i + 1; each call adds `count` of them, as one item. */
static void add(uintptr_t number, uint64_t first, size_t count)
{
	struct sink_off_cpu intervals[64];

	assert_true(count <= 64);
	for (size_t i = 0; i < count; i++)
		intervals[i] = (struct sink_off_cpu){first + i, first + i + 1, 7, 0};
	recent_off_cpu(&recent, session(number), intervals, count);
}

/* The intervals from `at` on, which end with `end`; returns the first, or `end`. */
static uint64_t assert_in_order(uint64_t at, uint64_t end)
{
	const struct recent_item *item;
	uint64_t first = end, next = 0;

	while ((item = recent_next(&recent, &at))) {
		const struct sink_off_cpu *intervals = recent_off_cpu_of(item);
		if (item->kind != RECENT_OFF_CPU)
			continue;
		for (uint64_t i = 0; i < item->count; i++) {
			if (first == end)
				first = next = intervals[i].begin_ns;
			assert_int_equal(intervals[i].begin_ns, next++);
			assert_int_equal(intervals[i].tid, 7);
		}
	}
	assert_true(first == end || next == end);
	return first;
}

static void the_newest_are_there_in_order(void **state)
{
	uint64_t next = 0, began_ns;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		size_t count = round * 7919 % 61 + 1;
		add(1, next, count);
		next += count;
		recent_round(&recent, round);
		assert_true(recent.end - recent.first <= CAPACITY);
		if (round % 97)
			continue;
		uint64_t first = assert_in_order(recent.first, next);
		/* three quarters of the memory at least, once it was full */
		assert_true(!first || (next - first) * sizeof(struct sink_off_cpu) > CAPACITY / 2);
		/* the last whole rounds */
		uint64_t at = recent_begin(&recent, round - 3, &began_ns);
		assert_int_equal(began_ns, round - 3);
		assert_true(assert_in_order(at, next) > first);
		/* further back than there is: where the first whole round begins */
		at = recent_begin(&recent, 0, &began_ns);
		assert_true(began_ns < round && (first == 0 || began_ns > 0));
		assert_true(assert_in_order(at, next) >= first);
	}
}

static void marks_keep_their_text(void **state)
{
	char text[] = "deployed";
	uint64_t at = 0;

	recent_mark(&recent, &(struct sink_mark){.ns = 5, .text = text});
	memset(text, 'x', sizeof text - 1);
	const struct recent_item *item = recent_next(&recent, &at);
	assert_int_equal(item->kind, RECENT_MARK);
	assert_int_equal(recent_mark_of(item)->ns, 5);
	assert_string_equal(recent_mark_of(item)->text, "deployed");
	assert_null(recent_next(&recent, &at));
}

static void an_ended_session_has_none(void **state)
{
	const struct recent_item *item;
	uint64_t at = 0, others = 0;

	for (uint64_t i = 0; i < 20; i++)
		add(i % 2 + 1, i, 1);
	recent_forget(&recent, session(1));
	while ((item = recent_next(&recent, &at))) {
		assert_ptr_not_equal(item->drain, session(1));
		others += item->kind == RECENT_OFF_CPU;
	}
	assert_int_equal(others, 10);
}

static void what_is_too_large_is_left_out(void **state)
{
	static struct sink_off_cpu many[4096];

	add(1, 0, 3);
	recent_off_cpu(&recent, session(1), many, 4096);
	assert_int_equal(assert_in_order(0, 3), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_newest_are_there_in_order),
		TEST(marks_keep_their_text),
		TEST(an_ended_session_has_none),
		TEST(what_is_too_large_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
