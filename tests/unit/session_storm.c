/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording is switched on and off while threads begin and end bricks: a thread without a lane
 * must not use one, and one that has a lane keeps it over a pause. Ends that find no lane and
 * leaves that outlast a record's 32 bits of length are counted and recorded.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "brick/attach.h"
#include "lib/probe/probe_frames.h"
#include "tests/unit/peek.h"

enum { THREADS = 3, LIVES = 400, TURNS = 20000 };

static int going;

static void *short_lives(void *argument)
{
	while (__atomic_load_n(&going, __ATOMIC_RELAXED)) {
		brick_span span = brick_begin(1);
		brick_instant(3);
		brick_end(brick_begin_layer(2, 5));
		if (brick_enabled())
			brick_thread_ready();
		brick_end(span);
	}
	return NULL;
}

static void *one_life(void *argument)
{
	brick_end(brick_begin(1));
	brick_layer_set(2);
	return NULL;
}

/* Threads whose first brick comes while another thread switches. */
static void *births(void *argument)
{
	for (int i = 0; i < LIVES; i++) {
		pthread_t thread;
		if (!pthread_create(&thread, NULL, one_life, NULL))
			pthread_join(thread, NULL);
	}
	__atomic_store_n(&going, 0, __ATOMIC_RELAXED);
	return NULL;
}

static void begin_storm(pthread_t threads[THREADS])
{
	going = 1;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, i ? short_lives : births, NULL), 0);
}

static void end_storm(pthread_t threads[THREADS])
{
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void pauses_in_a_storm(void **state)
{
	struct peek p = {0};
	pthread_t threads[THREADS];

	peek_start(&p, 1024);
	begin_storm(threads);
	for (int i = 0; i < TURNS || __atomic_load_n(&going, __ATOMIC_RELAXED); i++) {
		brick_pause();
		brick_resume();
	}
	end_storm(threads);
	peek_stop(&p);
}

static void sessions_in_a_storm(void **state)
{
	pthread_t threads[THREADS];
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	begin_storm(threads);
	while (__atomic_load_n(&going, __ATOMIC_RELAXED)) {
		assert_int_equal(brick_session_start(&options), 0);
		brick_end(brick_begin(4));
		assert_int_equal(brick_session_stop(), 0);
	}
	end_storm(threads);
}

static void *end_elsewhere(void *span)
{
	for (int i = 0; i < 200; i++)
		brick_end(*(brick_span *)span);
	return NULL;
}

static void ends_without_a_lane_are_counted(void **state)
{
	struct peek p = {0};
	struct brick_losses losses = BRICK_LOSSES_INIT;
	pthread_t thread;

	peek_start(&p, 1024);
	brick_span span = brick_begin(1);
	assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, &span), 0);
	pthread_join(thread, NULL);
	brick_end(span);
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.unmatched, 200);
	peek_stop(&p);
}

/* A leaf that nothing was recorded in, longer than 2^32 ticks. */
static void long_leaves_have_an_open(void **state)
{
	struct peek p = {0};

	peek_start(&p, 1024);
	brick_span outer = brick_begin(1);
	brick_span span = brick_begin(2);
	uint64_t begin = brick_ticks();
	brick__end_at(span, begin + (5ull << 32));
	brick_end(outer);
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	static const uint8_t kinds[] = {BRICK_RECORD_THREAD, BRICK_RECORD_OPEN, BRICK_RECORD_OPEN,
		BRICK_RECORD_CLOSE, BRICK_RECORD_CLOSE};
	assert_int_equal(lane->head, sizeof kinds);
	for (unsigned i = 0; i < sizeof kinds; i++)
		assert_int_equal(peek_record(lane, i)->kind, kinds[i]);
	assert_int_equal(peek_record(lane, 1)->brick, 1);
	assert_int_equal(peek_record(lane, 2)->brick, 2);
	assert_int_equal(peek_record(lane, 3)->brick, 2);
	assert_int_equal(lane->stats[2].count, 1);
	peek_stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_in_a_storm),
		cmocka_unit_test(sessions_in_a_storm),
		cmocka_unit_test(ends_without_a_lane_are_counted),
		cmocka_unit_test(long_leaves_have_an_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
