/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers that are NULL, and spans that nobody began, crash nothing (brick/brick.h). */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "brick/brick.h"

static void null_pointers(void **state)
{
	uint64_t ns;

	(void)state;
	assert_int_equal(brick_register(NULL, 0), -EINVAL);
	assert_int_equal(brick_category_register(NULL), -EINVAL);
	assert_int_equal(brick_site_register(NULL), -EINVAL);
	assert_int_equal(brick_lookup(NULL), -ENOENT);
	assert_int_equal(brick_note(NULL, "x"), -EINVAL);
	assert_int_equal(brick_note_get(NULL, NULL, 0), -EINVAL);
	assert_int_equal(brick_note_get("x", NULL, 5), -EINVAL);
	assert_int_equal(brick_l2_hit_rate_get(NULL), -EINVAL);
	assert_int_equal(brick_session_create(NULL, NULL), -EINVAL);
	assert_int_equal(brick_session_destroy(NULL), 0);
	assert_int_equal(brick_stats_add(BRICK_RMS_NORM, NULL), -EINVAL);
	assert_int_equal(brick_stats_get(BRICK_RMS_NORM, NULL), -EINVAL);
	assert_int_equal(brick_device_stats_get(BRICK_RMS_NORM, NULL), -EINVAL);
	assert_int_equal(brick_category_stats_get(0, NULL), -EINVAL);
	assert_true(brick_losses_get(NULL) < 0);
	assert_true(brick_counted_stats_get(BRICK_RMS_NORM, NULL) < 0);
	assert_int_equal(brick_counters_read(NULL, NULL), -EINVAL);
	assert_int_equal(brick_counters_parse(NULL), -EINVAL);
	brick_counters_close(NULL);
	brick_thread_name(NULL);
	assert_int_equal(brick_async_end(NULL, 1), 0);
	assert_int_equal(brick_async_end_as(NULL, "x", 0, NULL, 1), 0);
	assert_true(brick_device_open(NULL, brick_backend_find("cpu"), NULL, NULL, 0) < 0);
	assert_null(brick_device_backend(NULL));
	assert_int_equal(brick_device_mode_set(NULL, BRICK_MODE_NONE), -EINVAL);
	brick_device_mode_get(NULL);
	assert_int_equal(brick_device_pending(NULL), 0);
	assert_int_equal(brick_device_begin(NULL, NULL, BRICK_RMS_NORM, -1), 0);
	brick_device_end(NULL, NULL, 7, 0, 0, 0);
	assert_int_equal(brick_device_layer_end(NULL, NULL), -EINVAL);
	assert_int_equal(brick_device_drain(NULL), -EINVAL);
	assert_int_equal(brick_device_finish(NULL), -EINVAL);
	brick_device_close(NULL);
	assert_int_equal(brick_timer_start(NULL, NULL), -EINVAL);
	assert_int_equal(brick_timer_stop(NULL, NULL), -EINVAL);
	assert_int_equal(brick_timer_elapsed_ns(NULL, &ns), -EINVAL);
	assert_int_equal(brick_timer_wait_ns(NULL, &ns), -EINVAL);
	brick_timer_destroy(NULL);
	assert_int_equal(brick_queue_record(NULL, NULL), -EINVAL);
	assert_true(brick_queue_passes(NULL, NULL, 1) < 0);
	brick_queue_unsupported(NULL, 1);
	brick_queue_dropped(NULL, 1);
	brick_queue_destroy(NULL);
	assert_int_equal(brick_kernel_register(NULL), 0);
	brick_code_register(NULL, 5, NULL, NULL);
}

static void *strange_spans(void *unused)
{
	static const brick_span spans[] = {
		0, 1, 2, 0xff, 0x10000, 0x40001, INT32_MAX, 0xfffffffe, 0xffffffff};

	for (size_t i = 0; i < sizeof(spans) / sizeof(*spans); i++) {
		brick_end(spans[i]);
		brick_end_elements(spans[i], 1);
		brick_end_work(spans[i], 1, 2, 3);
		brick_end_traffic(spans[i], 1, 2, 3, 4);
		brick_end_site(spans[i], 1);
		brick_end_ns(spans[i], 1);
		brick_elapsed_ns(spans[i]);
		brick_local_end((struct brick_local){spans[i], 0, 0});
		brick_end(brick_lap(spans[i], BRICK_RMS_NORM));
		brick_end(brick_lap_site(spans[i], 1, BRICK_RMS_NORM));
	}
	return unused;
}

static void on_a_new_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, strange_spans, NULL);
	pthread_join(thread, NULL);
}

/* Off, on, in a thread that recorded before, and where it is no more. */
static void spans(void **state)
{
	(void)state;
	strange_spans(NULL);
	assert_int_equal(brick_session_start(NULL), 0);
	on_a_new_thread();
	brick_end(brick_begin(BRICK_RMS_NORM));
	strange_spans(NULL);
	null_pointers(state);
	assert_int_equal(brick_session_stop(), 0);
	strange_spans(NULL);
	on_a_new_thread();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_pointers),
		cmocka_unit_test(spans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
