/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an embedding program says and asks beside its bricks: elements of asynchronous work, the
 * names and tracks under which that ends, notes, modes, epochs, added statistics, and whether
 * executions are kept one by one.
 */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "brick/brick.h"

static int start(void **state)
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;

	o.ring_records = *state ? 4096 : 0;
	return brick_session_start(&o);
}

static int stop(void **state)
{
	(void)state;
	return brick_session_stop();
}

static struct brick_stats stats_of(uint32_t brick)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	if (brick_stats_get(brick, &stats))
		stats = (struct brick_stats){0};
	return stats;
}

/* Work that is long enough for the clock: two readings in a row may be the same. */
static struct brick_async begin_long(uint32_t brick)
{
	struct brick_async async = brick_async_begin(brick);

	while (!brick_clock_duration_ns(brick_clock_get(), brick_ticks() - async.begin))
		;
	return async;
}

static void elements_are_kept(void **state)
{
	struct brick_async async = begin_long(BRICK_RMS_NORM);

	assert_true(brick_async_end(&async, 40) > 0);
	assert_int_equal(brick_record_deferred(BRICK_RMS_NORM, brick_ticks(), 2), 0);
	assert_int_equal(stats_of(BRICK_RMS_NORM).count, 2);
	assert_int_equal(stats_of(BRICK_RMS_NORM).elements, 42);
	brick_end_ns(brick_begin(BRICK_LM_HEAD), 7);
	brick_span outer = brick_begin(BRICK_LM_HEAD);
	brick_end(brick_begin(BRICK_ACTIVATION));
	brick_end_ns(outer, 8);
	brick_end_ns(brick_begin(BRICK_LM_HEAD), 0);
	assert_int_equal(stats_of(BRICK_LM_HEAD).count, 3);
	assert_int_equal(stats_of(BRICK_LM_HEAD).elements, 15);
}

/* More tracks than there are, and names that are cut. */
static void ends_under_other_names(void **state)
{
	char track[100];

	for (int i = 0; i < 100; i++) {
		struct brick_async async = begin_long(BRICK_SAMPLING);
		snprintf(track, sizeof(track), "%070d", i % 2 ? i : 0);
		assert_true(brick_async_end_as(&async, "expert 7", BRICK_CATEGORY_FFN,
				    i ? track : NULL, 3) > 0);
	}
	int id = brick_lookup("expert 7");
	assert_true(id >= BRICK_FIRST_DYNAMIC);
	assert_int_equal(brick_category_of((uint32_t)id), BRICK_CATEGORY_FFN);
	assert_int_equal(stats_of((uint32_t)id).count, 100);
	assert_int_equal(stats_of((uint32_t)id).elements, 300);
	struct brick_async async = begin_long(BRICK_SAMPLING);
	assert_true(brick_async_end_as(&async, NULL, 0, "gpu", 1) > 0);
	assert_int_equal(stats_of(BRICK_SAMPLING).count, 1);
	async = brick_async_begin(BRICK_SAMPLING);
	assert_int_equal(brick_async_end_as(&async, "", 0, NULL, 1), 0);
	assert_int_equal(brick_async_end_as(&async, "x", 1000, NULL, 1), 0);
}

static void notes_are_read_back(void **state)
{
	char value[8];
	double share = 7;

	assert_int_equal(brick_note_get("k", value, 8), BRICK_ENOTRECORDED);
	assert_int_equal(brick_l2_hit_rate_get(&share), BRICK_ENOTRECORDED);
	assert_int_equal(brick_zero_copy_get(), BRICK_ENOTRECORDED);
	brick_note("kk", "other");
	brick_note("k", "first");
	brick_note("k", "more than eight");
	assert_int_equal(brick_note_get("k", value, 8), 15);
	assert_string_equal(value, "more th");
	assert_int_equal(brick_note_get("k", NULL, 0), 15);
	setlocale(LC_NUMERIC, "de_DE.UTF-8");
	brick_l2_hit_rate_set(0.125);
	assert_int_equal(brick_l2_hit_rate_set(2), -EINVAL);
	assert_int_equal(brick_l2_hit_rate_get(&share), 0);
	setlocale(LC_NUMERIC, "C");
	assert_true(share == 0.125);
	brick_zero_copy_set(3);
	assert_int_equal(brick_zero_copy_get(), 1);
	brick_zero_copy_set(0);
	assert_int_equal(brick_zero_copy_get(), 0);
}

static void modes(void **state)
{
	assert_int_equal(brick_mode_get(), BRICK_MODE_DEFERRED);
	assert_int_equal(brick_device_mode_get(NULL), BRICK_MODE_DEFERRED);
	assert_int_equal(brick_device_pending(NULL), 0);
	assert_int_equal(brick_mode_set(BRICK_MODE_PER_LAYER), 0);
	assert_int_equal(brick_device_mode_get(NULL), BRICK_MODE_PER_LAYER);
	assert_int_equal(brick_mode_set((enum brick_mode)4), -EINVAL);
	assert_int_equal(brick_mode_set(BRICK_MODE_NONE), 0);
	assert_false(brick_enabled());
	brick_resume();
	assert_false(brick_enabled());
	brick_pause();
	assert_int_equal(brick_mode_set(BRICK_MODE_IMMEDIATE), 0);
	assert_false(brick_enabled());
	brick_resume();
	assert_true(brick_enabled());
	assert_int_equal(brick_mode_get(), BRICK_MODE_IMMEDIATE);
}

static void epochs(void **state)
{
	uint64_t first = brick_epoch_ns();

	brick_end(brick_begin(BRICK_RMS_NORM));
	while (brick_epoch_ns() < first + 2000000)
		;
	uint64_t before = brick_ticks();
	assert_int_equal(brick_epoch_begin(), 0);
	uint64_t since = brick_epoch_ns();
	assert_true(since <= brick_clock_duration_ns(brick_clock_get(), brick_ticks() - before));
	assert_int_equal(stats_of(BRICK_RMS_NORM).count, 1);
}

static void statistics_are_added(void **state)
{
	struct brick_stats more = BRICK_STATS_INIT;

	brick_record_elapsed(BRICK_RMS_NORM, 1000, 5, 0);
	assert_int_equal(brick_stats_add(BRICK_RMS_NORM, &more), -EINVAL);
	more.count = 3, more.total_ns = 333, more.min_ns = 1, more.max_ns = 331, more.elements = 7;
	assert_int_equal(brick_stats_add(100000, &more), -EINVAL);
	assert_int_equal(brick_stats_add(BRICK_RMS_NORM, &more), 0);
	struct brick_stats sum = stats_of(BRICK_RMS_NORM);
	assert_int_equal(sum.count, 4);
	assert_int_equal(sum.total_ns, 1333);
	assert_int_equal(sum.min_ns, 1);
	assert_int_equal(sum.max_ns, 1000);
	assert_int_equal(sum.elements, 12);
	more.min_ns = 332;
	assert_int_equal(brick_stats_add(BRICK_RMS_NORM, &more), -EINVAL);
	brick_pause();
	more.min_ns = 0;
	assert_int_equal(brick_stats_add(BRICK_RMS_NORM, &more), -ENOENT);
	brick_resume();
}

static void run(int times)
{
	for (int i = 0; i < times; i++) {
		brick_span outer = brick_begin(BRICK_SAMPLING);
		brick_end_elements(brick_begin(BRICK_RMS_NORM), 1);
		brick_end(outer);
	}
}

static void *run_on(void *times)
{
	run(*(int *)times);
	return NULL;
}

/* On and off, on two threads, also inside of an open brick: nothing is lost of the statistics. */
static void graph_is_switched(void **state)
{
	struct brick_losses losses = BRICK_LOSSES_INIT;
	int is_on = *state != NULL, times = 20;
	pthread_t thread;
	uint64_t sum = 0;

	assert_int_equal(brick_session_graph_get(), is_on);
	for (int round = 0; round < 9; round++) {
		brick_span open = round % 2 ? brick_begin(BRICK_LM_HEAD) : 0;
		run(10);
		is_on = !is_on;
		assert_int_equal(brick_session_graph_set(is_on), 0);
		assert_int_equal(brick_session_graph_get(), is_on);
		run(10);
		brick_end(open);
		run(10);
		pthread_create(&thread, NULL, run_on, &times);
		pthread_join(thread, NULL);
		sum += 50;
		assert_int_equal(stats_of(BRICK_RMS_NORM).count, sum);
		assert_int_equal(stats_of(BRICK_RMS_NORM).elements, sum);
		assert_int_equal(stats_of(BRICK_SAMPLING).count, sum);
	}
	assert_int_equal(stats_of(BRICK_LM_HEAD).count, 4);
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.dropped + losses.unmatched + losses.open, 0);
}

static void no_session(void **state)
{
	double share;

	assert_int_equal(brick_note_get("k", NULL, 0), -ENOENT);
	assert_int_equal(brick_l2_hit_rate_get(&share), -ENOENT);
	assert_int_equal(brick_zero_copy_get(), -ENOENT);
	assert_int_equal(brick_mode_get(), BRICK_MODE_NONE);
	assert_int_equal(brick_mode_set(BRICK_MODE_DEFERRED), -ENOENT);
	assert_int_equal(brick_session_graph_get(), -ENOENT);
	assert_int_equal(brick_session_graph_set(1), -ENOENT);
	assert_int_equal(brick_epoch_begin(), -ENOENT);
	assert_int_equal(brick_epoch_ns(), 0);
	struct brick_async async = brick_async_begin(BRICK_RMS_NORM);
	assert_int_equal(brick_async_end_as(&async, "never", 0, NULL, 1), 0);
	assert_int_equal(brick_lookup("never"), -ENOENT);
}

#define IN_SESSION(test, ring)                         \
	{                                              \
#test, test, start, stop, (void *)ring \
	}

int main(void)
{
	static int ring;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_session),
		IN_SESSION(elements_are_kept, NULL),
		IN_SESSION(elements_are_kept, &ring),
		IN_SESSION(ends_under_other_names, NULL),
		IN_SESSION(notes_are_read_back, NULL),
		IN_SESSION(modes, NULL),
		IN_SESSION(epochs, NULL),
		IN_SESSION(statistics_are_added, NULL),
		IN_SESSION(statistics_are_added, &ring),
		IN_SESSION(graph_is_switched, NULL),
		IN_SESSION(graph_is_switched, &ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
