/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers on a simulated device: the device's own time, an error for whatever was not measured, use
 * and reuse, without any session.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "lib/backends/null/null_device.h"
#include "brick/brick.h"

enum { US = 1000 };

static struct brick_null *sim;
static struct brick_device *device;
static struct brick_timer *timer;

static void open_all(struct brick_null_config config, uint32_t pairs)
{
	struct brick_backend_options options = {.size = sizeof options, .pairs = pairs};

	config.manual = 1;
	config.rate_ppb = 1000000; /* 0.1 % fast: its time is not the host's */
	config.latency_ns = US;
	config.completion_ns = 5 * US;
	assert_int_equal(brick_null_create(&sim, &config), 0);
	options.native[0] = sim;
	assert_int_equal(
		brick_device_open(&device, brick_backend_find("null"), &options, NULL, 0), 0);
	assert_int_equal(brick_timer_create(&timer, device), 0);
}

static void close_all(void)
{
	brick_timer_destroy(timer);
	brick_device_close(device);
	brick_null_destroy(sim);
}

static void time_kernel(uint64_t ns)
{
	assert_int_equal(brick_timer_start(timer, NULL), 0);
	brick_null_submit(sim, NULL, ns);
	assert_int_equal(brick_timer_stop(timer, NULL), 0);
}

static void errors_come_first(void **state)
{
	struct brick_null_config config = BRICK_NULL_CONFIG_INIT;
	uint64_t ns = 77;

	open_all(config, 0);
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), -EINVAL);
	assert_int_equal(brick_timer_stop(timer, NULL), -EINVAL);
	assert_int_equal(brick_timer_start(timer, NULL), 0);
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), -EINVAL);
	brick_null_submit(sim, NULL, 10 * US);
	assert_int_equal(brick_timer_stop(timer, NULL), 0);
	assert_int_equal(brick_timer_stop(timer, NULL), -EINVAL);
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), -EAGAIN);
	assert_int_equal(ns, 77); /* nothing is written in place of a time */
	brick_null_advance(sim, 20 * US);
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), 0);
	assert_int_equal(brick_timer_create(&timer, NULL), -EINVAL);
	close_all();
}

static void times_are_the_devices(void **state)
{
	struct brick_null_config config = BRICK_NULL_CONFIG_INIT;
	struct brick_null_times truth;
	uint64_t ns, again;

	open_all(config, 4);
	for (uint64_t i = 0; i < 100; i++) { /* far more often than there are pairs */
		time_kernel((i + 1) * US);
		brick_null_advance(sim, 200 * US);
		assert_int_equal(brick_timer_elapsed_ns(timer, &ns), 0);
		assert_int_equal(brick_timer_elapsed_ns(timer, &again), 0);
		assert_int_equal(brick_null_pair(sim, i, &truth), 0);
		assert_int_equal(ns, truth.device_end_ns - truth.device_begin_ns);
		assert_int_equal(ns, again);
		assert_true(ns >= (i + 1) * US * 1001 / 1000 - 1);
	}
	close_all();
}

/* Started anew before the result has come, or before it was ended: only the last one counts. */
static void restarted(void **state)
{
	struct brick_null_config config = BRICK_NULL_CONFIG_INIT;
	uint64_t ns = 0;

	open_all(config, 4);
	for (int i = 0; i < 20; i++) {
		time_kernel(500 * US);
		assert_int_equal(brick_timer_start(timer, NULL), 0);
		time_kernel(10 * US);
		brick_null_advance(sim, 2000 * US);
		assert_int_equal(brick_timer_elapsed_ns(timer, &ns), 0);
		assert_in_range(ns, 10 * US, 11 * US);
	}
	time_kernel(500 * US);
	close_all(); /* destroyed on the way */
}

static void several(void **state)
{
	struct brick_null_config config = BRICK_NULL_CONFIG_INIT;
	struct brick_timer *timers[4];
	uint64_t ns;

	open_all(config, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(brick_timer_create(&timers[i], device), 0);
		assert_int_equal(brick_timer_start(timers[i], brick_null_queue(i)), 0);
	}
	assert_int_equal(brick_timer_start(timer, NULL), -EAGAIN); /* no pair is free */
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), -EAGAIN);
	for (uint32_t i = 0; i < 4; i++) {
		brick_null_submit(sim, brick_null_queue(i), (i + 1) * 100 * US);
		assert_int_equal(brick_timer_stop(timers[i], brick_null_queue(i)), 0);
	}
	assert_int_equal(brick_device_finish(device), 0);
	for (uint32_t i = 4; i-- > 0;) {
		assert_int_equal(brick_timer_elapsed_ns(timers[i], &ns), 0);
		assert_in_range(ns, (i + 1) * 100 * US, (i + 1) * 101 * US);
	}
	for (int i = 0; i < 4; i++)
		brick_timer_destroy(timers[i]);
	brick_timer_destroy(NULL);
	close_all();
}

static void failures(void **state)
{
	struct brick_null_config config = BRICK_NULL_CONFIG_INIT;
	uint64_t ns = 77;

	config.fail_every = 2;
	config.fail_after = 4;
	open_all(config, 0);
	for (int i = 0; i < 4; i++) {
		time_kernel(10 * US);
		brick_null_advance(sim, 50 * US);
		assert_int_equal(brick_timer_elapsed_ns(timer, &ns), i % 2 ? BRICK_EDEVICE : 0);
	}
	assert_int_equal(brick_timer_start(timer, NULL), BRICK_EDEVICE);
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), BRICK_EDEVICE);
	assert_int_equal(brick_timer_stop(timer, NULL), BRICK_EDEVICE);
	close_all();
}

static void losses(void **state)
{
	struct brick_null_config config = BRICK_NULL_CONFIG_INIT;
	uint64_t ns = 77;

	config.lose_every = 1;
	open_all(config, 0);
	time_kernel(10 * US);
	brick_null_advance(sim, 50 * US);
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), -EAGAIN);
	assert_int_equal(brick_device_finish(device), 0);
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), BRICK_ENOTRECORDED);
	assert_int_equal(ns, 77);
	close_all();
}

static void after_its_device(void **state)
{
	struct brick_null_config config = BRICK_NULL_CONFIG_INIT;
	uint64_t ns;

	open_all(config, 0);
	assert_int_equal(brick_timer_start(timer, NULL), 0);
	brick_device_close(device);
	assert_int_equal(brick_timer_elapsed_ns(timer, &ns), BRICK_ENOTRECORDED);
	assert_int_equal(brick_timer_stop(timer, NULL), BRICK_ESTATE);
	assert_int_equal(brick_timer_start(timer, NULL), BRICK_ESTATE);
	brick_timer_destroy(timer);
	brick_null_destroy(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_come_first),
		cmocka_unit_test(times_are_the_devices),
		cmocka_unit_test(restarted),
		cmocka_unit_test(several),
		cmocka_unit_test(failures),
		cmocka_unit_test(losses),
		cmocka_unit_test(after_its_device),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
