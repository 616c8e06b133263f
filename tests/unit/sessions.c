/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several sessions in one process (brick_session_create()): each has its own bricks, statistics,
 * notes, losses, pauses and end; threads change between them inside of open bricks and while others
 * begin and end sessions; asynchronous work and launches go to the session of the thread that began
 * them; a child of a fork has none of them. The process's own session goes on as it was.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "brick/brick.h"

static struct brick_session *made(void)
{
	struct brick_session *session = NULL;

	assert_int_equal(brick_session_create(&session, NULL), 0);
	assert_non_null(session);
	return session;
}

static void run(uint32_t brick, int times)
{
	for (int i = 0; i < times; i++)
		brick_end(brick_begin(brick));
}

/* In the session that the thread uses; 0: none. */
static uint64_t counted(uint32_t brick)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	return brick_stats_get(brick, &stats) ? 0 : stats.count;
}

static uint64_t counted_in(struct brick_session *session, uint32_t brick)
{
	struct brick_session *before = brick_session_use(session);
	uint64_t count = counted(brick);

	brick_session_use(before);
	return count;
}

static void statistics_are_their_own(void **state)
{
	struct brick_session *a = made(), *b = made();

	assert_int_equal(brick_session_start(NULL), 0);
	run(BRICK_RMS_NORM, 1);
	assert_null(brick_session_use(a));
	run(BRICK_RMS_NORM, 20);
	assert_ptr_equal(brick_session_use(b), a);
	run(BRICK_RMS_NORM, 300);
	run(BRICK_LM_HEAD, 1);
	assert_ptr_equal(brick_session_use(a), b);
	run(BRICK_RMS_NORM, 20);
	assert_ptr_equal(brick_session_use(NULL), a);
	run(BRICK_RMS_NORM, 1);
	assert_int_equal(counted(BRICK_RMS_NORM), 2);
	assert_int_equal(counted(BRICK_LM_HEAD), 0);
	assert_int_equal(counted_in(a, BRICK_RMS_NORM), 40);
	assert_int_equal(counted_in(a, BRICK_LM_HEAD), 0);
	assert_int_equal(counted_in(b, BRICK_RMS_NORM), 300);
	assert_int_equal(counted_in(b, BRICK_LM_HEAD), 1);
	assert_int_equal(brick_session_destroy(a), 0);
	run(BRICK_RMS_NORM, 1);
	assert_int_equal(counted(BRICK_RMS_NORM), 3);
	assert_int_equal(counted_in(b, BRICK_RMS_NORM), 300);
	assert_int_equal(brick_session_stop(), 0);
	run(BRICK_RMS_NORM, 5);
	assert_int_equal(counted_in(b, BRICK_RMS_NORM), 300);
	assert_int_equal(brick_session_destroy(b), 0);
	assert_int_equal(brick_session_destroy(NULL), 0);
	assert_int_equal(brick_enabled(), 0);
}

static void bricks_are_their_own(void **state)
{
	struct brick_session *a = made(), *b = made();
	int shared = brick_register("of the process", BRICK_CATEGORY_NORM);

	brick_session_use(a);
	int gate = brick_register("Router", BRICK_CATEGORY_FFN);
	assert_true(gate >= BRICK_FIRST_DYNAMIC);
	assert_int_equal(brick_register("Router", BRICK_CATEGORY_FFN), gate);
	assert_int_equal(brick_register("of the process", BRICK_CATEGORY_FFN), shared);
	brick_session_use(b);
	assert_int_equal(brick_lookup("Router"), -ENOENT);
	int other = brick_register("Router", BRICK_CATEGORY_ATTENTION);
	assert_true(other >= BRICK_FIRST_DYNAMIC);
	assert_int_not_equal(other, gate);
	assert_int_equal(brick_lookup("Router"), other);
	assert_int_equal(brick_category_of((uint32_t)other), BRICK_CATEGORY_ATTENTION);
	assert_int_equal(brick_category_of((uint32_t)gate), BRICK_CATEGORY_FFN);
	assert_string_equal(brick_name((uint32_t)gate), "Router");
	brick_session_use(NULL);
	assert_int_equal(brick_lookup("Router"), -ENOENT);
	assert_int_equal(brick_lookup("of the process"), shared);
	assert_int_equal(brick_session_destroy(a), 0);

	/* models that come and go do not fill the table */
	uint32_t before = brick_count();
	for (int i = 0; i < 20; i++) {
		struct brick_session *again = made();
		brick_session_use(again);
		assert_int_equal(brick_register("Router", BRICK_CATEGORY_FFN), gate);
		brick_session_use(NULL);
		assert_int_equal(brick_session_destroy(again), 0);
	}
	assert_int_equal(brick_count(), before);
	assert_int_equal(brick_session_destroy(b), 0);
}

/* A server's step holds what its models do: the outer brick stays open meanwhile. */
static void open_bricks_wait(void **state)
{
	struct brick_session *a = made();
	struct brick_stats stats = BRICK_STATS_INIT;
	struct brick_losses losses = BRICK_LOSSES_INIT;

	assert_int_equal(brick_session_start(NULL), 0);
	brick_span outer = brick_begin(BRICK_GRAPH_COMPUTE);
	for (int i = 0; i < 3; i++) {
		brick_session_use(a);
		brick_span in_a = brick_begin(BRICK_LM_HEAD);
		brick_session_use(NULL);
		run(BRICK_SAMPLING, 1);
		brick_session_use(a);
		brick_end(in_a);
		brick_session_use(NULL);
	}
	brick_end(outer);
	assert_int_equal(counted(BRICK_GRAPH_COMPUTE), 1);
	assert_int_equal(counted(BRICK_SAMPLING), 3);
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.unmatched, 0);
	brick_session_use(a);
	assert_int_equal(brick_stats_get(BRICK_LM_HEAD, &stats), 0);
	assert_int_equal(stats.count, 3);
	assert_int_equal(stats.self_ns, stats.total_ns); /* Sampling was not inside of it */
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.unmatched, 0);
	brick_end(outer); /* of another session */
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.unmatched, 1);
	brick_session_use(NULL);
	assert_int_equal(brick_session_destroy(a), 0);
	assert_int_equal(brick_session_stop(), 0);
}

static void switches_are_their_own(void **state)
{
	struct brick_session *a = made(), *b = made();

	brick_session_use(a);
	run(BRICK_RMS_NORM, 1);
	brick_pause();
	run(BRICK_RMS_NORM, 10);
	brick_session_use(b);
	run(BRICK_RMS_NORM, 2);
	brick_session_use(a);
	run(BRICK_RMS_NORM, 10);
	brick_resume();
	run(BRICK_RMS_NORM, 1);
	assert_int_equal(counted(BRICK_RMS_NORM), 2);
	assert_int_equal(brick_reset(), 0);
	assert_int_equal(counted(BRICK_RMS_NORM), 0);
	run(BRICK_RMS_NORM, 1);
	assert_int_equal(counted_in(b, BRICK_RMS_NORM), 2);
	assert_int_equal(brick_session_start(NULL), -EALREADY);
	assert_int_equal(brick_session_stop(), 0);
	run(BRICK_RMS_NORM, 10);
	assert_int_equal(counted(BRICK_RMS_NORM), 0);
	assert_int_equal(brick_session_start(NULL), 0); /* the same object, anew */
	run(BRICK_RMS_NORM, 7);
	assert_int_equal(counted(BRICK_RMS_NORM), 7);
	assert_int_equal(brick_session_destroy(a), 0); /* while it is used */
	run(BRICK_RMS_NORM, 10);
	assert_int_equal(counted(BRICK_RMS_NORM), 0);
	assert_int_equal(counted_in(b, BRICK_RMS_NORM), 2);
	brick_session_use(NULL);
	run(BRICK_RMS_NORM, 10); /* the process's own does not run */
	assert_int_equal(brick_session_destroy(b), 0);
	assert_int_equal(brick_session_start(NULL), 0);
	assert_int_equal(counted(BRICK_RMS_NORM), 0);
	assert_int_equal(brick_session_stop(), 0);
}

static void *ends_here(void *async)
{
	assert_true(brick_async_end(async, 0) > 0);
	return NULL;
}

/* Wherever it ends, work goes to the session in which it began. */
static void work_goes_where_it_began(void **state)
{
	struct brick_session *a = made(), *b = made();
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct brick_queue *queue;
	struct brick_launch launch;
	struct brick_stats stats = BRICK_STATS_INIT;
	pthread_t thread;

	brick_session_use(a);
	struct brick_async async = brick_async_begin(BRICK_SAMPLING);
	pthread_create(&thread, NULL, ends_here, &async);
	pthread_join(thread, NULL);
	assert_int_equal(counted(BRICK_SAMPLING), 1);
	assert_int_equal(counted_in(b, BRICK_SAMPLING), 0);

	/* both models on one queue, in turns */
	options.name = "stream";
	options.backend = "test";
	assert_int_equal(brick_queue_create(&queue, &options), 0);
	for (int i = 0; i < 6; i++) {
		struct brick_command command = BRICK_COMMAND_INIT;
		brick_session_use(i % 2 ? b : a);
		brick_span span = brick_begin(i % 2 ? BRICK_LM_HEAD : BRICK_EMBEDDING);
		brick_launch_begin(&launch);
		brick_launch_end(&launch);
		brick_end(span);
		command.launch = launch;
		command.begin_ns = brick_clock_ns(brick_clock_get(), brick_ticks());
		command.end_ns = command.begin_ns + 1000;
		command.source = BRICK_SOURCE_DEVICE_EVENT;
		brick_session_use(NULL);
		assert_int_equal(brick_queue_record(queue, &command), 0);
	}
	brick_session_use(a);
	assert_int_equal(brick_device_stats_get(BRICK_EMBEDDING, &stats), 0);
	assert_int_equal(stats.count, 3);
	assert_int_equal(brick_device_stats_get(BRICK_LM_HEAD, &stats), BRICK_ENOTRECORDED);
	brick_session_use(b);
	assert_int_equal(brick_device_stats_get(BRICK_LM_HEAD, &stats), 0);
	assert_int_equal(stats.count, 3);
	brick_session_use(NULL);
	assert_int_equal(brick_session_destroy(a), 0);
	assert_int_equal(brick_session_destroy(b), 0);
	brick_queue_destroy(queue);
}

static void a_child_has_none(void **state)
{
	struct brick_session *a = made();
	int status;

	brick_session_use(a);
	run(BRICK_RMS_NORM, 5);
	pid_t child = fork();
	if (!child) {
		int before = counted(BRICK_RMS_NORM) != 0;
		run(BRICK_RMS_NORM, 5);
		brick_session_use(NULL);
		run(BRICK_RMS_NORM, 5);
		_exit(before || brick_session_destroy(a) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	run(BRICK_RMS_NORM, 5);
	assert_int_equal(counted(BRICK_RMS_NORM), 10);
	brick_session_use(NULL);
	assert_int_equal(brick_session_destroy(a), 0);
}

enum { THREADS = 4, ROUNDS = 400, TIMES = 20 };

static struct brick_session *models[2];

/* In turns in the process's session, the models', and its own, which comes and goes. */
static void *in_turns(void *argument)
{
	uintptr_t number = (uintptr_t)argument;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		brick_session_use(models[(i + number) % 2]);
		run(BRICK_RMS_NORM, TIMES);
		brick_session_use(NULL);
		run(BRICK_LM_HEAD, TIMES);
		if (i % 50)
			continue;
		struct brick_session *own = made();
		brick_session_use(own);
		run(BRICK_SAMPLING, TIMES);
		assert_int_equal(counted(BRICK_SAMPLING), TIMES);
		brick_session_use(NULL);
		assert_int_equal(brick_session_destroy(own), 0);
	}
	return NULL;
}

static void threads_change_sessions(void **state)
{
	pthread_t threads[THREADS];

	models[0] = made();
	models[1] = made();
	assert_int_equal(brick_session_start(NULL), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, in_turns, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++)
		assert_int_equal(counted_in(models[i], BRICK_RMS_NORM),
			(uint64_t)THREADS * ROUNDS / 2 * TIMES);
	assert_int_equal(counted(BRICK_LM_HEAD), (uint64_t)THREADS * ROUNDS * TIMES);
	assert_int_equal(counted(BRICK_RMS_NORM), 0);
	assert_int_equal(brick_session_destroy(models[0]), 0);
	assert_int_equal(brick_session_destroy(models[1]), 0);
	assert_int_equal(brick_session_stop(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statistics_are_their_own),
		cmocka_unit_test(bricks_are_their_own),
		cmocka_unit_test(open_bricks_wait),
		cmocka_unit_test(switches_are_their_own),
		cmocka_unit_test(work_goes_where_it_began),
		cmocka_unit_test(a_child_has_none),
		cmocka_unit_test(threads_change_sessions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
