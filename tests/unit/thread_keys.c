/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that has taken all keys for data of threads: Brick records it all the same, and no key
 * of the program gets a value that is not the program's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "brick/brick.h"

enum { MAX_KEYS = 4096, BRICKS = 100 };

static pthread_key_t keys[MAX_KEYS];
static int key_count;
static char mark[MAX_KEYS];

static void *work(void *argument)
{
	for (int i = 0; i < key_count; i++)
		assert_int_equal(pthread_setspecific(keys[i], &mark[i]), 0);
	for (int i = 0; i < BRICKS; i++)
		brick_end(brick_begin(BRICK_RMS_NORM));
	for (int i = 0; i < key_count; i++)
		assert_ptr_equal(pthread_getspecific(keys[i]), &mark[i]);
	return argument;
}

static void records_without_a_key(void **state)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	struct brick_stats stats = BRICK_STATS_INIT;
	char path[] = "/tmp/brick-keys-XXXXXX";
	pthread_t thread;

	(void)state;
	while (key_count < MAX_KEYS && !pthread_key_create(&keys[key_count], NULL))
		key_count++;
	assert_in_range(key_count, 1, MAX_KEYS - 1);
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	options.output = path;
	assert_int_equal(brick_session_start(&options), 0);
	assert_int_equal(pthread_create(&thread, NULL, work, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	work(NULL);
	assert_int_equal(brick_stats_get(BRICK_RMS_NORM, &stats), 0);
	assert_int_equal(stats.count, 2 * BRICKS);
	assert_int_equal(brick_session_stop(), 0);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_without_a_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
