/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings of many threads: each further 64 have half as much, down to a sixteenth of what was
 * asked for, and never less than 1024 records. A recorded process's ring gets memory as
 * it is filled for the first time, and loses nothing by that.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "lib/session/session_map.h"
#include "tests/unit/peek.h"

enum { THREADS = 6 * 64, RECORDS = 1 << 15, STACK = 1 << 18 };

static pthread_barrier_t all_have_recorded;

static void *record(void *argument)
{
	brick_end(brick_begin(BRICK_SAMPLING));
	pthread_barrier_wait(&all_have_recorded); /* a thread that ends leaves its lane to others */
	return argument;
}

static void many_threads_have_smaller_rings(void **state)
{
	struct peek p = {0};
	pthread_t threads[THREADS];
	pthread_attr_t small;
	(void)state;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK);
	pthread_barrier_init(&all_have_recorded, NULL, THREADS);
	peek_start(&p, RECORDS);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], &small, record, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	peek_map(&p);
	assert_int_equal(peek_header(&p)->lane_count, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct brick_lane *lane = peek_lane(&p, i);
		assert_int_equal(lane->capacity, RECORDS >> (i < 4 * 64 ? i / 64 : 4));
		assert_int_equal(lane->stats[BRICK_SAMPLING].count, 1);
	}
	peek_stop(&p);
	pthread_barrier_destroy(&all_have_recorded);
	pthread_attr_destroy(&small);
}

static uint64_t blocks_of(const struct peek *p)
{
	struct stat st;

	assert_int_equal(stat(p->path, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static void rings_grow_into_their_memory(void **state)
{
	enum { LARGE = 1 << 18, CLOSES = 256 };
	struct peek p = {0};
	(void)state;

	peek_start(&p, LARGE);
	brick__session.rings_grow = true; /* as a recorder's, which does not look here */
	brick_end(brick_begin(BRICK_SAMPLING));
	assert_true(blocks_of(&p) < LARGE * sizeof(struct brick_record) / 4);
	for (int i = 1; i < LARGE; i++)
		brick_end(brick_begin(BRICK_SAMPLING));
	assert_true(blocks_of(&p) > LARGE * sizeof(struct brick_record));
	peek_map(&p);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(lane->capacity, LARGE);
	assert_int_equal(lane->stats[BRICK_SAMPLING].count, LARGE);
	assert_int_equal(lane->ledger.dropped + lane->head, LARGE + 1); /* its owner's record */
	assert_int_equal(lane->head, LARGE - CLOSES);
	/* the consumer has taken all: the ring goes around */
	__atomic_store_n(&lane->tail, lane->head, __ATOMIC_RELEASE);
	uint64_t dropped = lane->ledger.dropped;
	for (int i = 0; i < LARGE / 2; i++)
		brick_end(brick_begin(BRICK_SAMPLING));
	assert_int_equal(lane->ledger.dropped, dropped);
	peek_stop(&p);
}

static void small_ones_stay_as_they_are(void **state)
{
	struct peek p = {0};
	pthread_t threads[THREADS];
	(void)state;

	pthread_barrier_init(&all_have_recorded, NULL, THREADS);
	peek_start(&p, 1024);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, record, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	peek_map(&p);
	assert_int_equal(peek_lane(&p, THREADS - 1)->capacity, 1024);
	peek_stop(&p);
	pthread_barrier_destroy(&all_have_recorded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_grow_into_their_memory),
		cmocka_unit_test(many_threads_have_smaller_rings),
		cmocka_unit_test(small_ones_stay_as_they_are),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
