/* SPDX-License-Identifier: Apache-2.0 */
/* Description: calls that launch, from the call until their records have come; what a
 * stream was given last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "attach/common/newest_numbers.h"
#include "attach/cuda/cuda_launches.h"
#include "attach/cuda/cuda_graphs.h"

static const struct brick_launch_owner *work; /* of the last one that was taken */

static struct brick_launch launch_at(uint64_t begin)
{
	return (struct brick_launch){.number = begin, .begin = begin};
}

static void begin(uint32_t correlation, uint64_t at, uint32_t count, uint32_t certain)
{
	struct brick_launch launch = launch_at(at);
	struct launch_records records = {.count = count, .certain = certain, .numbers = count};
	launches_begin(correlation, &launch, &records);
}

static void end(uint32_t correlation, uint64_t at)
{
	struct brick_launch launch = {.end = at};
	launches_end(correlation, &launch);
}

static void records_still_to_come(void **state)
{
	struct brick_launch launch;

	assert_true(launches_pending_since(0) == UINT64_MAX);
	begin(10, 100, 1, 1);
	assert_int_equal(launches_pending_since(0), 100);
	end(10, 105);
	begin(12, 120, 3, 0);
	end(12, 125);
	begin(13, 130, 1, 1);
	launches_forget(13); /* it failed */
	assert_int_equal(launches_pending_since(0), 100);
	launches_seen(10);
	assert_int_equal(launches_pending_since(0), 120);
	launches_seen(12);
	launches_seen(12);
	assert_int_equal(launches_pending_since(0), 120);
	launches_seen(12);
	assert_true(launches_pending_since(0) == UINT64_MAX);

	assert_true(launches_take(12, &launch, &work));
	assert_int_equal(launch.number, 120);
	assert_int_equal(launch.end, 125);
	assert_true(launches_take(12, &launch, &work));
	assert_true(launch.number != 120); /* the second kernel of that graph */
	assert_false(launches_take(13, &launch, &work));
	assert_false(launches_take(11, &launch, &work));
}

/* Several commands of a call have the numbers that it took, in a row; what it did not know of, any.
 */
static void numbers_of_several(void **state)
{
	struct brick_launch launch = launch_at(50);
	struct launch_records records = {.count = 4, .certain = 0, .numbers = 3};
	uint64_t first = launch.number;

	launches_begin(15, &launch, &records);
	end(15, 55);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(launches_take(15, &launch, &work));
		assert_int_equal(launch.number == first + i, i < 3);
	}
	for (int i = 0; i < 4; i++)
		launches_seen(15);
	assert_false(launches_are_passed_over(15, LAUNCHES_DISOWNED));
	launches_pass_over(16, LAUNCHES_DISOWNED);
	assert_true(launches_are_passed_over(16, LAUNCHES_DISOWNED));
	launches_pass_over(17, LAUNCHES_IGNORED);
	assert_true(launches_are_passed_over(17, LAUNCHES_IGNORED));
	assert_false(launches_are_passed_over(16, LAUNCHES_IGNORED));
	assert_false(launches_are_passed_over(17, LAUNCHES_DISOWNED));
	assert_true(launches_pending_since(0) == UINT64_MAX); /* nobody waits for them */
}

static void records_that_never_come(void **state)
{
	begin(20, 1000, 1, 1);
	end(20, 1001);
	begin(21, 1010, 1, 0);
	end(21, 1011);
	begin(22, 1020, 1, 1); /* still under way: not given up */
	assert_int_equal(launches_pending_since(1500), 1020);
	assert_int_equal(launches_unanswered(), 1);
	end(22, 1600);
	launches_seen(20); /* it does come, late */
	assert_int_equal(launches_unanswered(), 0);
	assert_true(launches_pending_since(UINT64_MAX) == UINT64_MAX);
	assert_int_equal(launches_unanswered(), 1);
}

enum { SECOND = 1000, ROUND = SECOND / 5, PATIENCE = 2 * SECOND };

/* A flush at that time; what is still waited for then. */
static uint64_t round_at(uint64_t now)
{
	return launches_pending_since(launches_patience_ends(now, PATIENCE));
}

/*
 * A process that was frozen for longer than the patience, between a call and its record: no flush
 * asked for it meanwhile, so what began later still waits for it; but not for ever.
 */
static void patience_is_of_a_process_that_runs(void **state)
{
	uint64_t now = 100 * SECOND;

	for (int i = 0; i < 2 * PATIENT_ROUNDS; i++)
		assert_int_equal(round_at(now += ROUND), UINT64_MAX);
	begin(30, now, 1, 1);
	end(30, now);
	uint64_t launched = now, thawed = now + 60 * SECOND;
	for (int i = 0; i < PATIENT_ROUNDS; i++)
		assert_int_equal(round_at(thawed + (uint64_t)i * ROUND), launched);
	assert_int_equal(round_at(thawed + PATIENT_ROUNDS * ROUND), UINT64_MAX);
}

/* Rounds that come quickly do not shorten it. */
static void patience_is_no_shorter_than_its_time(void **state)
{
	uint64_t launched = 1000 * SECOND;

	begin(31, launched, 1, 1);
	end(31, launched);
	for (uint64_t now = launched; now <= launched + PATIENCE; now += ROUND / 10)
		assert_int_equal(round_at(now), launched);
	assert_int_equal(round_at(launched + PATIENCE + 1), UINT64_MAX);
}

/* More calls under way than the table holds: the oldest are not known any more, nothing breaks. */
static void more_than_there_is_room_for(void **state)
{
	struct brick_launch launch;

	for (uint32_t i = 0; i < 400000; i++) {
		begin(1000 + i, 10000 + i, 1, 1);
		end(1000 + i, 10000 + i);
	}
	assert_true(launches_pending_since(0) >= 10000 + 400000 - 262144);
	assert_false(launches_take(1000, &launch, &work));
	assert_true(launches_take(1000 + 399999, &launch, &work));
	begin(UINT32_MAX, 500000, 1,
		1); /* far away: ids that jump do not make it search for ever */
	launches_pending_since(UINT64_MAX);
}

/* A call inside of another: either id answers for both. */
static void calls_in_calls(void **state)
{
	uint64_t before = launches_unanswered();

	begin(700001, 5000, 1, 1);
	begin(700002, 5001, 1, 1);
	launches_join(700001, 700002);
	end(700002, 5002);
	end(700001, 5003);
	assert_int_equal(launches_pending_since(0), 5000);
	launches_seen(700001);
	assert_int_equal(launches_pending_since(0), UINT64_MAX);
	begin(700003, 6000, 1, 1);
	begin(700004, 6001, 1, 1);
	launches_join(700003, 700004);
	end(700004, 6002);
	end(700003, 6003);
	launches_seen(700004);
	assert_int_equal(launches_pending_since(UINT64_MAX), UINT64_MAX);
	assert_int_equal(launches_unanswered(), before);
}

/* A graph of which nobody knows how many records come is over with the next call in its stream. */
static void uncounted_launches(void **state)
{
	char stream, other;

	begin(700011, 7000, 0, 0);
	end(700011, 7001);
	launches_in_stream(700011, &stream);
	launches_seen(700011);
	assert_int_equal(launches_pending_since(0), 7000);
	begin(700012, 7002, 1, 1);
	end(700012, 7003);
	launches_in_stream(700012, &other);
	launches_seen(700012);
	assert_int_equal(launches_pending_since(0), 7000);
	begin(700013, 7004, 1, 1);
	end(700013, 7005);
	launches_in_stream(700013, &stream);
	launches_seen(700013);
	assert_int_equal(launches_pending_since(0), UINT64_MAX);
}

/* Thousands of executable graphs: none pushes another one out. */
static void many_executable_graphs(void **state)
{
	static char execs[20000];

	for (uint32_t i = 0; i < 20000; i++)
		nodes_exec(&execs[i], i + 1);
	for (uint32_t i = 0; i < 20000; i++)
		assert_int_equal(nodes_exec_launch(&execs[i]).records, i + 1);
	for (uint32_t i = 0; i < 20000; i++)
		nodes_exec_gone(&execs[i]);
	assert_int_equal(nodes_exec_launch(&execs[7]).records, 0);
}

static struct newest_number places[512];
static struct newest_numbers newest = NEWEST_NUMBERS(places);
#define KEY(handle) ((uintptr_t)(handle))

/* The sum of the last launches' numbers. */
static uint64_t tails(cuda_handle context)
{
	struct brick__waits waits = {.count = 0};
	uint64_t sum = 0;

	newest_numbers_waits(&newest, KEY(context), &waits);
	for (uint32_t i = 0; i < waits.count; i++)
		sum += waits.numbers[i];
	return sum;
}

static void last_launches(void **state)
{
	/* places in the table that are apart: addresses of ours would collide now and then */
	const cuda_handle a = (cuda_handle)0x1000, b = (cuda_handle)0x2000;

	assert_int_equal(tails(a), 0);
	newest_numbers_set(&newest, KEY(a), KEY(b), 5);
	newest_numbers_set(&newest, KEY(a), KEY(NULL), 6);
	assert_int_equal(tails(a), 5 + 6); /* of both streams */
	assert_int_equal(newest_numbers_get(&newest, KEY(a), KEY(NULL)), 6);
	assert_int_equal(newest_numbers_get(&newest, KEY(a), KEY(b)), 5);
	assert_int_equal(newest_numbers_get(&newest, KEY(b), KEY(b)), 0);
	newest_numbers_forget(&newest, KEY(a), KEY(b));
	assert_int_equal(newest_numbers_get(&newest, KEY(a), KEY(b)), 0);
	assert_int_equal(tails(a), 6);
	newest_numbers_set(&newest, KEY(b), KEY(b), 7);
	newest_numbers_forget_all(&newest, KEY(a));
	assert_int_equal(tails(a), 0);
	assert_int_equal(newest_numbers_get(&newest, KEY(a), KEY(NULL)), 0);
	assert_int_equal(tails(b), 7);
	assert_int_equal(newest_numbers_get(&newest, KEY(b), KEY(b)), 7);
}

/* Threads were within calls, and records had not come, when the former recording ended. */
static void another_recording(void **state)
{
	begin(700000, 7000, 1, 1);
	begin(700001, 7010, 1, 1);
	end(700001, 7015);
	launches_pending_since(UINT64_MAX); /* the end of the former one */
	assert_int_equal(launches_pending_since(0), 7000);
	launches_restart();
	assert_int_equal(launches_unanswered(), 0);
	assert_true(launches_pending_since(0) == UINT64_MAX);
	launches_seen(700001); /* late */
	end(700000, 7020);
	assert_int_equal(launches_unanswered(), 0);
	begin(700002, 7030, 1, 1);
	assert_int_equal(launches_pending_since(0), 7030);
	end(700002, 7035);
	launches_seen(700002);
	assert_true(launches_pending_since(0) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_still_to_come),
		cmocka_unit_test(numbers_of_several),
		cmocka_unit_test(records_that_never_come),
		cmocka_unit_test(patience_is_of_a_process_that_runs),
		cmocka_unit_test(patience_is_no_shorter_than_its_time),
		cmocka_unit_test(more_than_there_is_room_for),
		cmocka_unit_test(calls_in_calls),
		cmocka_unit_test(uncounted_launches),
		cmocka_unit_test(many_executable_graphs),
		cmocka_unit_test(last_launches),
		cmocka_unit_test(another_recording),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
