/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: packets that Brick's writer never makes: read if they make sense, else counted.
 */
#include "tests/unit/trace_packets.h"

static const char *brick_of(const struct run *run, size_t i)
{
	assert_true(i < run->lanes[0].sample_count);
	return run->bricks[run->sites[run->lanes[0].samples[i].site].brick].name;
}

static void every_layout(void **state)
{
	(void)state;

	start();
	for (int round = 0; round < 3; round++)
		for (enum layout layout = TIME_FIRST; layout <= WITH_UNKNOWN; layout++) {
			slice(layout, 10, EVENT_BEGIN, 1);
			slice(layout, 5, EVENT_END, 0);
		}
	struct run *run = load(0);
	assert_int_equal(run->lanes[0].sample_count, 12);
	for (size_t i = 0; i < 12; i++) {
		assert_int_equal(run->lanes[0].samples[i].begin_ns, 1010 + i * 15);
		assert_int_equal(run->lanes[0].samples[i].end_ns, 1015 + i * 15);
		assert_string_equal(brick_of(run, i), "One");
	}
	run_destroy(run);
}

/* The same bytes mean something else once their names do. */
static void names_that_change(void **state)
{
	(void)state;

	start();
	for (int i = 0; i < 3; i++) {
		begin(1, 1);
		end(1);
	}
	intern_packet(INTERNED_EVENT_NAMES, 1, "Two");
	for (int i = 0; i < 3; i++) {
		begin(1, 1);
		end(1);
	}
	struct run *run = load(0);
	assert_string_equal(brick_of(run, 2), "One");
	assert_string_equal(brick_of(run, 3), "Two");
	assert_string_equal(brick_of(run, 5), "Two");
	run_destroy(run);
}

/* Packets of equal bytes, but for where the timestamp is, are of equal meaning. */
static void time_first_or_last(void **state)
{
	(void)state;

	start();
	for (int i = 0; i < 4; i++) {
		slice(i % 2 ? TIME_FIRST : TIME_LAST, 3, EVENT_BEGIN, 1);
		slice(i % 2 ? TIME_LAST : TIME_FIRST, 4, EVENT_END, 0);
	}
	struct run *run = load(0);
	assert_int_equal(run->lanes[0].sample_count, 4);
	assert_int_equal(run->lanes[0].samples[3].end_ns, 1028);
	run_destroy(run);
}

static void waits_and_what_is_none(void **state)
{
	(void)state;

	start();
	begin(1, 1);
	end(1); /* 1002 */
	begin(0, 2);
	end(5); /* its wait */
	begin(0, 2);
	end(6); /* none: the sample ended before */
	begin(10, 1);
	end(1); /* 1024 */
	begin(3, 2);
	end(7); /* none: does not follow at once */
	begin(0, 2);
	begin(1, 1); /* bad, with its end: inside of what has become a wait */
	end(1);
	end(1);
	struct run *run = load(2);
	const struct run_sample *samples = run->lanes[0].samples;
	assert_int_equal(run->lanes[0].sample_count, 4);
	assert_int_equal(samples[0].wait_ns, 5);
	assert_string_equal(brick_of(run, 1), "BarrierWait");
	assert_int_equal(samples[1].end_ns - samples[1].begin_ns, 6);
	assert_int_equal(samples[2].wait_ns, 0);
	assert_string_equal(brick_of(run, 3), "BarrierWait");
	assert_int_equal(samples[3].wait_ns, 3);
	run_destroy(run);
}

static void unbalanced(void **state)
{
	(void)state;

	start();
	end(1);	     /* bad */
	begin(1, 9); /* bad: no such name */
	begin(1, 1); /* bad: inside of a bad one */
	end(1);	     /* bad: the inner's */
	end(1);	     /* bad: the outer's */
	begin(1, 1);
	end(1);
	begin(1, 1);
	struct run *run = load(5);
	assert_int_equal(run->lanes[0].sample_count, 2);
	assert_int_equal(run->lanes[0].samples[0].begin_ns, 1006);
	assert_int_equal(run->open_samples, 1);
	assert_int_equal(run->lanes[0].samples[1].flags, RUN_SAMPLE_OPEN);
	run_destroy(run);
}

static void too_deep(void **state)
{
	(void)state;

	start();
	for (int i = 0; i < 300; i++)
		begin(1, 1);
	for (int i = 0; i < 300; i++)
		end(1);
	begin(1, 1);
	end(1);
	struct run *run = load(100);
	assert_int_equal(run->lanes[0].sample_count, 251);
	assert_int_equal(run->lanes[0].samples[250].depth, 0);
	assert_int_equal(run->lanes[0].samples[0].end_ns, 1600);
	run_destroy(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layout),
		cmocka_unit_test(names_that_change),
		cmocka_unit_test(time_first_or_last),
		cmocka_unit_test(waits_and_what_is_none),
		cmocka_unit_test(unbalanced),
		cmocka_unit_test(too_deep),
	};

	return cmocka_run_group_tests(tests, NULL, finish);
}
