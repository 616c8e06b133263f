/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer as a thread of an embedding program: a whole recording, or none. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/embed/writer_thread.h"
#include "tests/unit/drain_fixture.h"

static void the_thread_writes_a_whole_recording(void **state)
{
	struct fixture *f = *state;
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;
	struct load_error error;
	struct run *run;

	o.output = f->trace;
	o.ring_records = 1024;
	o.interval_ms = 2;
	assert_int_equal(brick_session_start(&o), 0);
	for (int i = 0; i < 200; i++) {
		leaves(BRICK_RMS_NORM, 100);
		usleep(500);
	}
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(run_load(&run, f->trace, &error), 0);
	assert_int_equal(run->complete, 1);
	assert_int_equal(run->processes[0].closed, 1);
	assert_int_equal(counted(run, "RmsNorm"), 20000);
	assert_int_equal(in_histogram(run, "RmsNorm"), 20000);
	assert_int_equal(samples_of(run, "RmsNorm") + run->lanes[0].ledger.dropped, 20000);
	run_destroy(run);
}

static void the_thread_gives_up_without_a_trace(void **state)
{
	struct fixture *f = *state;
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;

	o.output = "/nonexistent-directory/run.pftrace";
	assert_int_equal(brick_session_start(&o), -2);
	o.output = f->trace;
	assert_int_equal(brick_session_start(&o), 0);
	leaves(BRICK_RMS_NORM, 10);
	/* its file vanishes: nothing can get the final name */
	char part[sizeof f->trace + 8];
	snprintf(part, sizeof part, "%s.part", f->trace);
	assert_int_equal(unlink(part), 0);
	assert_true(brick_session_stop() < 0);
	assert_int_equal(access(f->trace, F_OK), -1);
}

enum { ASKERS = 3, TIMES = 300 };

static void *ask(void *argument)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	for (int i = 0; i < TIMES; i++)
		assert_int_equal(brick_stats_get(BRICK_RMS_NORM, &stats), 0);
	return NULL;
}

/* The consumer would sleep for ten minutes after the first question that it does not hear. */
static void nobody_who_asks_waits_for_the_interval(void **state)
{
	struct fixture *f = *state;
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;
	pthread_t threads[ASKERS];

	o.output = f->trace;
	o.interval_ms = 600000;
	assert_int_equal(brick_session_start(&o), 0);
	leaves(BRICK_RMS_NORM, 10);
	for (int i = 0; i < ASKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
	for (int i = 0; i < ASKERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(brick_session_stop(), 0);
}

static int open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void *record_a_little(void *argument)
{
	int before = open_descriptors();

	leaves(BRICK_RMS_NORM, 10);
	assert_int_equal(open_descriptors(), before);
	usleep(2000);
	return NULL;
}

/* Each is followed from its first brick to its end, with no descriptor. */
static void threads_come_and_go(void **state)
{
	struct fixture *f = *state;
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;
	struct load_error error;
	struct run *run;
	pthread_t thread;
	size_t slept = 0;

	o.output = f->trace;
	o.interval_ms = 2;
	assert_int_equal(brick_session_start(&o), 0);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(pthread_create(&thread, NULL, record_a_little, NULL), 0);
		pthread_join(thread, NULL);
	}
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(run_load(&run, f->trace, &error), 0);
	if (run->off_cpu.source == OFF_CPU_UNKNOWN) {
		assert_true(run->off_cpu.error < 0);
		skip();
	}
	assert_int_equal(run->off_cpu.lost, 0);
	assert_int_equal(counted(run, "RmsNorm"), 1000);
	for (size_t i = 0; i < run->lanes[0].off_cpu_count; i++) {
		const struct run_off_cpu *o = &run->lanes[0].off_cpu[i];
		/* of the 2 ms it may have been preempted for a part, on its way into the sleep */
		slept += !o->preempted && o->end_ns - o->begin_ns >= 500000;
	}
	assert_true(slept >= 100);
	run_destroy(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_thread_writes_a_whole_recording),
		TEST(the_thread_gives_up_without_a_trace),
		TEST(threads_come_and_go),
		TEST(nobody_who_asks_waits_for_the_interval),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
