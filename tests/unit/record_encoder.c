/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder: what is handed in is told in order and completely; the filling thread does the work
 * itself where the idle thread does not get to it; an error of the file ends it once and for all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "brick/brick.h"
#include "record/encoder.h"
#include "trace/load.h"
#include "lib/writer/writer.h"

enum { RING = 262144 };

struct fixture {
	char directory[64], session[128], trace[128], part[144];
	int fd;
	struct drain *drain;
	struct encoder *encoder;
	struct trace_writer *writer;
	int done, finished;
};

static void session_done(void *context, struct drain *drain)
{
	struct fixture *f = context;

	assert_ptr_equal(drain, f->drain);
	f->done++;
}

static int set_up(void **state)
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;
	struct fixture *f = calloc(1, sizeof *f);
	const char *why;

	strcpy(f->directory, "/tmp/brick-unit-XXXXXX");
	if (!mkdtemp(f->directory))
		return -1;
	snprintf(f->session, sizeof f->session, "%s/%d.session", f->directory, (int)getpid());
	snprintf(f->trace, sizeof f->trace, "%s/run.pftrace", f->directory);
	snprintf(f->part, sizeof f->part, "%s.part", f->trace);
	o.directory = f->directory;
	o.ring_records = RING;
	assert_int_equal(brick_session_start(&o), 0);
	f->fd = open(f->session, O_RDWR | O_CLOEXEC);
	assert_int_equal(drain_open(&f->drain, f->fd, NULL, &why), 0);
	struct trace_writer_options options = {.path = f->trace, .start_unix_ns = 1, .start_ns = 1};
	assert_int_equal(trace_writer_create(&f->writer, &options), 0);
	assert_int_equal(encoder_create(&f->encoder, f->writer, session_done, f), 0);
	f->writer = NULL;
	assert_int_equal(encoder_clock(f->encoder, brick_clock_get()), 0);
	*state = f;
	return 0;
}

static void finish_encoder(struct fixture *f)
{
	if (!f->finished)
		encoder_finish(f->encoder, &f->writer);
	f->finished = 1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	finish_encoder(f);
	encoder_destroy(f->encoder);
	trace_writer_abandon(f->writer);
	drain_close(f->drain);
	close(f->fd);
	brick_session_stop();
	unlink(f->session);
	unlink(f->trace);
	rmdir(f->directory);
	free(f);
	return 0;
}

/* Returns how many records are left in rings, as the backlog is full. */
static uint64_t produce(struct fixture *f, int count)
{
	uint64_t left = 0;

	for (int i = 0; i < count; i++)
		brick_end(brick_begin(BRICK_RMS_NORM));
	for (uint32_t lane = 0; lane < drain_lanes(f->drain); lane++)
		left += encoder_consume(f->encoder, f->drain, lane);
	return left;
}

static void produce_and_take(struct fixture *f, int count)
{
	assert_int_equal(produce(f, count), 0);
}

static void assert_whole(struct fixture *f, uint64_t samples)
{
	struct load_error error;
	struct run *run;

	assert_int_equal(encoder_end(f->encoder, f->drain, DRAIN_END_CLOSED, brick_ticks()), 0);
	finish_encoder(f);
	assert_int_equal(f->done, 1);
	assert_int_equal(encoder_error(f->encoder), 0);
	assert_int_equal(trace_writer_finish(f->writer), 0);
	f->writer = NULL;
	assert_int_equal(run_load(&run, f->trace, &error), 0);
	assert_int_equal(run->lane_count, 1);
	assert_int_equal(run->lanes[0].sample_count, samples);
	assert_int_equal(run->lanes[0].ledger.dropped, 0);
	run_destroy(run);
}

static void everything_arrives(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 50; i++)
		produce_and_take(f, 1000);
	assert_whole(f, 50000);
}

/* On one CPU that this thread never leaves, the idle thread gets next to nothing. */
static void a_starved_thread_is_helped(void **state)
{
	struct fixture *f = *state;
	int helped = 0, rounds = 12, result;

	for (int i = 0; i < rounds; i++)
		produce_and_take(f, RING - 1000);
	while ((result = encoder_assist(f->encoder))) {
		helped++;
		if (result == 2)
			usleep(1000);
	}
	assert_true(helped > 0);
	assert_whole(f, (uint64_t)rounds * (RING - 1000));
}

static void an_error_is_final(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, small;

	produce_and_take(f, 10); /* the session file grows before the limit holds for it, too */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 20000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int i = 0; i < 10000 && !encoder_error(f->encoder); i++) {
		produce(f, 100000); /* the idle thread may be far behind */
		encoder_assist(f->encoder);
	}
	assert_int_equal(encoder_error(f->encoder), -EFBIG);
	produce(f, 1000);
	assert_int_equal(encoder_end(f->encoder, f->drain, DRAIN_END_CLOSED, brick_ticks()), 0);
	finish_encoder(f);
	assert_null(f->writer);
	assert_int_equal(f->done, 1);
	struct load_error error;
	struct run *run; /* what was recorded until then is there */
	assert_int_equal(run_load(&run, f->part, &error), 0);
	run_destroy(run);
	assert_int_equal(unlink(f->part), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(everything_arrives),
		TEST(a_starved_thread_is_helped),
		TEST(an_error_is_final),
	};
	cpu_set_t one;

	int cpu = sched_getcpu();
	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
