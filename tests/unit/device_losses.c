/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of a device that never come: told or not, failed ones, more than there are pairs, and
 * what is on the way when the session ends.
 */
#include "lib/sys/environment.h"
#include "tests/unit/device_kit.h"

/* Losses that are told leave gaps; all others are there, at their place. */
static void told_losses(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	config.lose_every = 7;
	begin(&s, &config, 0);
	for (int i = 0; i < 100; i++) {
		run(&s, BRICK_LM_HEAD, i, 10 * US);
		settle(&s);
		brick_device_drain(s.device);
	}
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_int_equal(count_of(lane, BRICK_RECORD_SAMPLE), 100 - 100 / 7);
	assert_int_equal(losses().dropped, 100 / 7);
	uint64_t n = 0;
	for (int i = 0; i < 100; i++)
		if ((i + 1) % 7)
			assert_int_equal(nth(lane, BRICK_RECORD_SAMPLE, n++)->layer, i);
	end(&s);
}

/* ... also when nobody says so: the table of pairs does not fill up with them. */
static void silent_losses(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	config.lose_every = 5;
	config.silent = 1;
	begin(&s, &config, 16);
	for (int i = 0; i < 100; i++) {
		run(&s, BRICK_LM_HEAD, i, 10 * US);
		brick_null_advance(s.sim, 50 * US);
	}
	brick_device_finish(s.device);
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_int_equal(count_of(lane, BRICK_RECORD_SAMPLE), 80);
	assert_int_equal(losses().dropped, 20);
	for (int i = 0; i < 80; i++)
		assert_true(nth(lane, BRICK_RECORD_SAMPLE, (uint64_t)i)->ticks >= 10 * US - 1);
	end(&s);
}

static void failed_pairs(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	config.fail_every = 4;
	begin(&s, &config, 0);
	for (int i = 0; i < 10; i++) { /* pairs end in the order B A: A of every 2nd fails */
		brick_device_span a = brick_device_begin(s.device, NULL, 5, i);
		run(&s, 6, i, 10 * US);
		brick_device_end(s.device, NULL, a, 0, 0, 0);
	}
	assert_int_equal(brick_device_finish(s.device), 15);
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_int_equal(losses().dropped, 5);
	assert_int_equal(lane->stats[5].count, 5);
	assert_int_equal(lane->stats[6].count, 10);
	assert_int_equal(count_of(lane, BRICK_RECORD_OPEN), 5);
	assert_int_equal(count_of(lane, BRICK_RECORD_CLOSE), 5);
	assert_int_equal(count_of(lane, BRICK_RECORD_SAMPLE), 10);
	end(&s);
}

static void a_device_that_fails(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	config.fail_after = 10;
	begin(&s, &config, 0);
	for (int i = 0; i < 20; i++)
		run(&s, BRICK_LM_HEAD, i, 10 * US);
	settle(&s);
	assert_int_equal(brick_device_drain(s.device), BRICK_EDEVICE);
	assert_int_equal(brick_device_finish(s.device), BRICK_EDEVICE);
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_int_equal(count_of(lane, BRICK_RECORD_SAMPLE), 10);
	assert_int_equal(losses().dropped, 10);
	assert_int_equal(brick_device_mode_set(s.device, BRICK_MODE_IMMEDIATE), 0);
	run(&s, BRICK_LM_HEAD, 0, 10 * US);
	assert_int_equal(losses().dropped, 11);
	assert_int_equal(brick_device_mode_set(s.device, BRICK_MODE_PER_LAYER), 0);
	assert_int_equal(brick_device_layer_end(s.device, NULL), BRICK_EDEVICE);
	end(&s);
}

static void more_than_there_are_pairs(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();

	config.completion_ns = 10 * MS;
	begin(&s, &config, 8);
	for (int i = 0; i < 20; i++)
		run(&s, BRICK_LM_HEAD, i, 10 * US);
	assert_int_equal(losses().dropped, 12);
	assert_int_equal(brick_device_finish(s.device), 8);
	run(&s, BRICK_LM_HEAD, 20, 10 * US);
	assert_int_equal(brick_device_finish(s.device), 1);
	end(&s);
}

/* What is on the way when the session ends is told as lost, not forgotten. */
static void session_ends_too_early(void **state)
{
	struct setup s;
	struct brick_null_config config = manual();
	struct brick_losses before = BRICK_LOSSES_INIT;

	begin(&s, &config, 0);
	for (int i = 0; i < 5; i++)
		run(&s, BRICK_LM_HEAD, i, 10 * US);
	brick_null_advance(s.sim, 45 * US); /* three are done and known by now */
	int n = brick_device_drain(s.device);
	assert_in_range(n, 1, 4);
	assert_int_equal(brick_losses_get(&before), 0);
	assert_int_equal(before.dropped, 0);
	struct brick_lane *lane = queue_lane(&s, 0);
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(lane->ledger.dropped, 5 - n);
	assert_int_equal(count_of(lane, BRICK_RECORD_SAMPLE), n);
	assert_int_equal(brick_session_start(NULL), 0);
	assert_int_equal(brick_device_finish(s.device), 0); /* they do not belong here */
	run(&s, BRICK_LM_HEAD, 0, 10 * US);
	assert_int_equal(brick_device_finish(s.device), 1);
	assert_int_equal(losses().dropped, 0);
	munmap(s.peek.base, s.peek.bytes);
	s.peek.base = NULL;
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_losses),
		cmocka_unit_test(silent_losses),
		cmocka_unit_test(failed_pairs),
		cmocka_unit_test(a_device_that_fails),
		cmocka_unit_test(more_than_there_are_pairs),
		cmocka_unit_test(session_ends_too_early),
	};
	setenv("BRICK_CLOCK", "monotonic", 1);
	brick__environment_read();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
