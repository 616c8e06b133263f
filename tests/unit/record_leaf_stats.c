/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who counts an execution: its producer, or whoever drains its record. However a session is read
 * (by the program, by a view beside the consumer, by the consumer at its end), each counts once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "lib/drain/drain.c"
#include "tests/unit/drain_fixture.h"

static struct brick_stats stats_of(uint32_t brick)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	if (brick_stats_get(brick, &stats))
		stats.count = 0;
	return stats;
}

static void consume(struct fixture *f, size_t count)
{
	struct brick_record records[64];

	assert_true(count <= 64);
	assert_int_equal(drain_lanes(f->drain), 1);
	assert_int_equal(drain_consume(f->drain, 0, records, count), count);
	assert_int_equal(drain_emit(f->drain, f->writer, 0, records, count), 0);
}

/* The statistics as one who only looks finds them. */
static uint64_t seen(struct fixture *f, uint32_t brick)
{
	struct drain *view = NULL;
	struct load_error error;
	const char *why;
	char path[160];
	struct run *run = NULL;
	struct trace_writer *writer;

	snprintf(path, sizeof path, "%s/view.pftrace", f->directory);
	struct trace_writer_options o = {.path = path, .start_unix_ns = 1, .start_ns = 1};
	assert_int_equal(drain_open_view(&view, f->fd, NULL, &why), 0);
	drain_lanes(view);
	assert_int_equal(trace_writer_create(&writer, &o), 0);
	assert_int_equal(sink_clock(writer, brick_clock_get()), 0);
	assert_int_equal(drain_finish(view, writer, DRAIN_END_OUTLIVED, brick_ticks()), 0);
	assert_int_equal(trace_writer_finish(writer), 0);
	assert_int_equal(run_load(&run, path, &error), 0);
	uint64_t count = counted(run, brick_name(brick));
	run_destroy(run);
	drain_close(view);
	unlink(path);
	return count;
}

static void drained_or_not(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	open_drain(f);
	brick_span outer = brick_begin(BRICK_SAMPLING);
	for (int i = 0; i < 30; i++)
		brick_end_elements(brick_begin(BRICK_RMS_NORM), 2);
	for (uint64_t k = 0; k < 5; k++) {
		struct brick_stats stats = stats_of(BRICK_RMS_NORM);
		assert_int_equal(stats.count, 30);
		assert_int_equal(stats.elements, 60);
		assert_true(stats.min_ns <= stats.max_ns && stats.self_ns == stats.total_ns);
		assert_int_equal(seen(f, BRICK_RMS_NORM), 30);
		consume(f, 5);
	}
	brick_end(outer);
	emit_all(f, AT_ONCE);
	assert_int_equal(stats_of(BRICK_RMS_NORM).count, 30);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_all(run, "RmsNorm", 30);
	assert_all(run, "Sampling", 1);
	run_destroy(run);
}

/* Inside of another of its brick, whether the OPEN is drained, in the ring, or was dropped. */
static void recursion(void **state)
{
	struct fixture *f = *state;
	struct brick_stats stats;

	start_session(f, 1024);
	open_drain(f);
	brick_span outer = brick_begin(BRICK_RMS_NORM);
	leaves(BRICK_RMS_NORM, 10);
	stats = stats_of(BRICK_RMS_NORM);
	assert_int_equal(stats.count, 10);
	assert_int_equal(stats.total_ns, 0);
	assert_true(stats.self_ns > 0);
	consume(f, 4);
	leaves(BRICK_RMS_NORM, 10);
	assert_int_equal(stats_of(BRICK_RMS_NORM).total_ns, 0);
	emit_all(f, AT_ONCE);
	leaves(BRICK_RMS_NORM, 10);
	assert_int_equal(stats_of(BRICK_RMS_NORM).total_ns, 0);
	brick_end(outer);
	stats = stats_of(BRICK_RMS_NORM);
	assert_int_equal(stats.count, 31);
	assert_true(stats.total_ns > 0 && stats.total_ns == stats.max_ns);
	assert_in_range(stats.self_ns, stats.total_ns - 31, stats.total_ns + 31);

	leaves(BRICK_LM_HEAD, 1024);
	outer = brick_begin(BRICK_SAMPLING); /* its OPEN finds no room */
	brick_span middle = brick_begin(BRICK_EMBEDDING);
	leaves(BRICK_SAMPLING, 1);
	emit_all(f, AT_ONCE);
	leaves(BRICK_SAMPLING, 10); /* these do */
	emit_all(f, AT_ONCE);
	assert_int_equal(stats_of(BRICK_SAMPLING).count, 11);
	assert_int_equal(stats_of(BRICK_SAMPLING).total_ns, 0);
	brick_end(middle);
	brick_end(outer);
	stats = stats_of(BRICK_SAMPLING);
	assert_int_equal(stats.count, 12);
	assert_int_equal(stats.total_ns, stats.max_ns);
	emit_all(f, AT_ONCE);
	leaves(BRICK_SAMPLING, 5); /* and the fast half again */
	assert_int_equal(stats_of(BRICK_SAMPLING).count, 17);
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_int_equal(counted(run, "Sampling"), 17);
	assert_int_equal(in_histogram(run, "Sampling"), 17);
	assert_int_equal(samples_of(run, "Sampling"), 15);
	assert_int_equal(counted(run, "RmsNorm"), 31);
	assert_int_equal(counted(run, "LmHead"), 1024);
	run_destroy(run);
}

/* Nobody drains, and the program asks and resets. */
static void reset_with_records_waiting(void **state)
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;
	struct fixture *f = *state;

	o.output = f->trace;
	o.interval_ms = 100000;
	assert_int_equal(brick_session_start(&o), 0);
	leaves(BRICK_RMS_NORM, 20);
	assert_int_equal(stats_of(BRICK_RMS_NORM).count, 20);
	leaves(BRICK_RMS_NORM, 20);
	assert_int_equal(brick_reset(), 0);
	assert_int_equal(stats_of(BRICK_RMS_NORM).count, 0);
	leaves(BRICK_RMS_NORM, 3);
	assert_int_equal(stats_of(BRICK_RMS_NORM).count, 3);
	leaves(BRICK_RMS_NORM, 3);
	assert_int_equal(brick_session_stop(), 0);
	struct load_error error;
	struct run *run;
	assert_int_equal(run_load(&run, f->trace, &error), 0);
	assert_int_equal(counted(run, "RmsNorm"), 6);
	run_destroy(run);
}

static uint32_t goes_on;

static void *record(void *argument)
{
	uint64_t *ended = argument;

	while (__atomic_load_n(&goes_on, __ATOMIC_RELAXED)) {
		brick_end(brick_begin(BRICK_RMS_NORM));
		__atomic_store_n(ended, *ended + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* A thread records, a consumer drains, and what is read lies between what was ended before and
 * after. */
static void beside_producer_and_consumer(void **state)
{
	struct fixture *f = *state;
	uint64_t ended = 0, before = 0;
	pthread_t thread;

	start_session(f, 1024);
	open_drain(f);
	goes_on = 1;
	assert_int_equal(pthread_create(&thread, NULL, record, &ended), 0);
	while (!drain_lanes(f->drain))
		;
	for (int i = 0; i < 300; i++) {
		static struct brick_record records[300];
		size_t n = drain_consume(f->drain, 0, records, 1 + (size_t)i);
		assert_int_equal(drain_emit(f->drain, f->writer, 0, records, n), 0);
		before = __atomic_load_n(&ended, __ATOMIC_ACQUIRE);
		uint64_t count = stats_of(BRICK_RMS_NORM).count;
		assert_true(count >= before);
		assert_true(count <= __atomic_load_n(&ended, __ATOMIC_ACQUIRE) + 1);
	}
	__atomic_store_n(&goes_on, 0, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_int_equal(counted(run, "RmsNorm"), ended);
	assert_int_equal(in_histogram(run, "RmsNorm"), ended);
	run_destroy(run);
}

/* A program that is killed anywhere has counted what it ended. */
static void killed(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 20; i++) {
		uint64_t *ended =
			mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		assert_true(ended != MAP_FAILED);
		pid_t child = fork();
		if (!child) {
			snprintf(f->session, sizeof f->session, "%s/%d.session", f->directory,
				(int)getpid());
			start_session(f, 1024);
			goes_on = 1;
			record(ended);
		}
		while (__atomic_load_n(ended, __ATOMIC_ACQUIRE) < 500u * (unsigned)i)
			;
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		snprintf(f->session, sizeof f->session, "%s/%d.session", f->directory, child);
		f->fd = open(f->session, O_RDWR | O_CLOEXEC);
		if (i) {
			open_drain(f);
			emit_all(f, AT_ONCE);
			struct run *run = finish(f, DRAIN_END_DEAD);
			assert_in_range(counted(run, "RmsNorm"), *ended, *ended + 1);
			run_destroy(run);
			drain_close(f->drain);
			f->drain = NULL;
		}
		close(f->fd);
		f->fd = -1;
		unlink(f->session);
		munmap(ended, 4096);
	}
}

/* The consumer was killed in the middle of a turn: readers do not wait for it for ever. */
static void consumer_killed(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	open_drain(f);
	leaves(BRICK_RMS_NORM, 30);
	emit_all(f, AT_ONCE);
	leaves(BRICK_RMS_NORM, 30);
	struct brick_lane *lane = f->drain->map.lanes[0]->shared;
	lane->turn |= 1;
	assert_int_equal(stats_of(BRICK_RMS_NORM).count, 60);
	assert_int_equal(seen(f, BRICK_RMS_NORM), 60);
	emit_all(f, AT_ONCE); /* the next one goes on */
	assert_int_equal(lane->turn % 2, 0);
	assert_int_equal(stats_of(BRICK_RMS_NORM).count, 60);
}

/* What a program makes of its lane harms nobody who reads it. */
static void nonsense(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	open_drain(f);
	leaves(BRICK_RMS_NORM, 30);
	emit_all(f, AT_ONCE);
	struct brick_lane *lane = f->drain->map.lanes[0]->shared;
	lane->drained.depth = UINT32_MAX;
	lane->counted_from = UINT64_MAX;
	assert_int_equal(seen(f, BRICK_RMS_NORM), 30);
	uint64_t head = lane->head;
	lane->head = head + 100000;
	seen(f, BRICK_RMS_NORM);
	lane->head = head;
	lane->depth = UINT32_MAX;
	seen(f, BRICK_RMS_NORM);
	lane->depth = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(drained_or_not),
		TEST(recursion),
		TEST(reset_with_records_waiting),
		TEST(beside_producer_and_consumer),
		TEST(killed),
		TEST(consumer_killed),
		TEST(nonsense),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
