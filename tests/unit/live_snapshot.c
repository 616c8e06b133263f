/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at a session that goes on: a run of its newest records with exact statistics, again and
 * again, while somebody else consumes it; what a ring overwrites meanwhile; what is left after a
 * reset; and that nothing of the session is ever written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "brick/brick.h"
#include "brick/error.h"
#include "record/live/live_snapshot.h"
#include "record/live/live_session.h"

static char directory[] = "/tmp/brick-live-XXXXXX";
static char path[128];

static int open_session(void)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int start(void **state)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	(void)state;
	options.directory = directory;
	options.ring_records = 1024;
	assert_int_equal(brick_session_start(&options), 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	brick_session_stop();
	unlink(path);
	return 0;
}

static void steps(int count)
{
	for (int i = 0; i < count; i++) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 2);
		brick_end_elements(brick_begin(BRICK_LM_HEAD), 10);
		brick_end(brick_begin(BRICK_RMS_NORM));
		brick_end(step);
	}
}

static struct run *look(struct drain *view, size_t room, int *whole)
{
	struct snapshot_part part = {view, DRAIN_END_OUTLIVED, brick_ticks()};
	struct run *run = NULL;

	assert_int_equal(live_snapshot(&run, &part, 1, room, whole), 0);
	return run;
}

static struct drain *open_view(int fd)
{
	struct drain *view = NULL;
	const char *why;

	assert_int_equal(drain_open_view(&view, fd, NULL, &why), 0);
	return view;
}

static const struct run_stat *stat_of(const struct run *run, const char *brick)
{
	uint32_t number = run_brick_find(run, brick);

	assert_int_not_equal(number, RUN_NONE);
	assert_int_equal(run->lane_count, 1);
	assert_non_null(run->lanes[0].stats);
	return &run->lanes[0].stats[number];
}

/* All steps of a run ended, one after the other. */
static void check_steps(const struct run *run, size_t count)
{
	uint64_t end_ns = 0;

	assert_int_equal(run->step_count, count);
	for (size_t i = 0; i < count; i++) {
		const struct run_step *step = &run->steps[i];
		const struct run_sample *sample = &run->lanes[step->lane].samples[step->sample];
		assert_false(sample->flags & RUN_SAMPLE_OPEN);
		assert_true(step->begin_ns >= end_ns && step->end_ns >= step->begin_ns);
		end_ns = step->end_ns;
	}
}

/* All of a young session, and more of it at the next look. */
static void test_whole(void **state)
{
	int whole;

	(void)state;
	steps(5);
	int fd = open_session();
	struct drain *view = open_view(fd);
	struct run *run = look(view, 1 << 16, &whole);
	assert_true(whole);
	check_steps(run, 5);
	assert_int_equal(run->steps[4].tokens, 2);
	assert_int_equal(stat_of(run, "LmHead")->count, 5);
	assert_int_equal(run->bad_records, 0);
	run_destroy(run);
	steps(3);
	run = look(view, 1 << 16, &whole);
	assert_int_equal(run->step_count, 8);
	assert_int_equal(stat_of(run, "LmHead")->elements, 80);
	run_destroy(run);
	drain_close(view);
	close(fd);
}

/* A window begins in the middle of a step: ends without begins are left out, nothing is lost. */
static void test_window(void **state)
{
	int whole;

	(void)state;
	steps(50);
	int fd = open_session();
	struct drain *view = open_view(fd);
	for (size_t room = 1; room < 30; room++) {
		struct run *run = look(view, room, &whole);
		assert_false(whole);
		assert_int_equal(run->bad_records, 0);
		assert_int_equal(run->open_samples, 0);
		assert_in_range(run->lanes[0].sample_count, 0, room);
		assert_int_equal(run->step_count, room / 4);
		assert_int_equal(stat_of(run, "RmsNorm")->count, 50);
		run_destroy(run);
	}
	drain_close(view);
	close(fd);
}

/* Nobody consumes: the ring fills up and drops, and statistics go on. */
static void test_full_ring(void **state)
{
	int whole;

	(void)state;
	steps(1000);
	int fd = open_session();
	struct drain *view = open_view(fd);
	struct run *run = look(view, 1 << 16, &whole);
	assert_int_equal(stat_of(run, "LmHead")->count, 1000);
	assert_true(run->lanes[0].ledger.dropped > 0);
	run_destroy(run);
	drain_close(view);
	close(fd);
}

/* A consumer beside the view takes records; the view still sees them, and disturbs nothing. */
static void test_beside_consumer(void **state)
{
	struct brick_record taken[64];
	struct drain *consumer;
	const char *why;
	int whole;

	(void)state;
	steps(10);
	int fd = open_session(), other = open(path, O_RDWR | O_CLOEXEC);
	struct drain *view = open_view(fd);
	assert_int_equal(drain_open(&consumer, other, NULL, &why), 0);
	assert_int_equal(drain_lanes(consumer), 1);
	size_t n = drain_consume(consumer, 0, taken, 64);
	assert_true(n >= 40);
	struct run *run = look(view, 1 << 16, &whole);
	assert_int_equal(run->step_count, 10);
	run_destroy(run);
	steps(1);
	assert_int_equal(drain_consume(consumer, 0, taken, 64), 4);
	drain_close(consumer);
	drain_close(view);
	close(other);
	close(fd);
}

/* The window lies across the end of the ring, wherever it is. */
static void test_wrap(void **state)
{
	struct brick_record taken[1024];
	struct drain *consumer;
	const char *why;
	int whole;

	(void)state;
	int fd = open_session(), other = open(path, O_RDWR | O_CLOEXEC);
	struct drain *view = open_view(fd);
	assert_int_equal(drain_open(&consumer, other, NULL, &why), 0);
	for (int i = 0; i < 40; i++) {
		steps(31);
		assert_int_equal(drain_lanes(consumer), 1);
		drain_consume(consumer, 0, taken, 1024);
		struct run *run = look(view, 240, &whole);
		check_steps(run, i ? 60 : 31);
		assert_int_equal(stat_of(run, "RmsNorm")->count, 31 * (i + 1));
		assert_int_equal(run->lanes[0].ledger.dropped, 0);
		run_destroy(run);
	}
	drain_close(consumer);
	drain_close(view);
	close(other);
	close(fd);
}

/* The bytes of the session are the same before and after any number of looks. */
static void test_writes_nothing(void **state)
{
	struct stat st;
	int whole;

	(void)state;
	steps(20);
	int fd = open_session();
	assert_int_equal(fstat(fd, &st), 0);
	size_t bytes = (size_t)st.st_size;
	uint64_t blocks = (uint64_t)st.st_blocks;
	struct drain *view = open_view(fd);
	char *before = malloc(bytes), *after = malloc(bytes);
	assert_non_null(before);
	assert_non_null(after);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pread(fd, before, bytes, 0), (ssize_t)bytes);
		run_destroy(look(view, 1 << 16, &whole));
		assert_int_equal(pread(fd, after, bytes, 0), (ssize_t)bytes);
		assert_memory_equal(before, after, bytes);
	}
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_blocks, blocks);
	free(before);
	free(after);
	drain_close(view);
	close(fd);
}

static void test_reset(void **state)
{
	int whole;

	(void)state;
	steps(10);
	int fd = open_session();
	struct drain *view = open_view(fd);
	struct run *base = look(view, 1 << 16, &whole);
	steps(4);
	struct run *run = look(view, 1 << 16, &whole);
	live_subtract(run, base);
	assert_int_equal(stat_of(run, "LmHead")->count, 4);
	assert_int_equal(stat_of(run, "LmHead")->elements, 40);
	assert_true(stat_of(run, "LmHead")->min_ns == UINT64_MAX);
	run_destroy(run);
	run_destroy(base);
	drain_close(view);
	close(fd);
}

/* Through /proc, as another process would: memory without a name, and a file. */
static void count_found(void *context, int fd)
{
	const char *why;
	struct live_session *session = live_session_open(fd, &why);

	assert_non_null(session);
	assert_int_equal(session->state, LIVE_RUNNING);
	assert_int_equal(session->process.pid, getpid());
	live_session_close(session);
	++*(int *)context;
}

static void test_found(void **state)
{
	int found = 0;

	(void)state;
	assert_int_equal(live_find(getpid(), count_found, &found), 1);
	assert_int_equal(found, 1);
	assert_int_equal(live_find(0x3ffffff, count_found, &found), -ENOENT);
}

static struct brick_record record(uint8_t kind, uint64_t begin)
{
	return (struct brick_record){.kind = kind, .begin = begin};
}

static void test_trim(void **state)
{
	struct brick_record r[] = {
		record(BRICK_RECORD_WORK, 0),
		record(BRICK_RECORD_CLOSE, 5),
		record(BRICK_RECORD_WORK, 0),
		record(BRICK_RECORD_SAMPLE, 7),
		record(BRICK_RECORD_OPEN, 9),
		record(BRICK_RECORD_SAMPLE, 10),
		record(BRICK_RECORD_TIMES, 0),
		record(BRICK_RECORD_CLOSE, 12),
		record(BRICK_RECORD_CLOSE, 13),
		record(BRICK_RECORD_FLOW, 0),
	};
	const size_t all = sizeof r / sizeof *r;

	(void)state;
	assert_int_equal(live_window_trim(r, all, 8), 4);
	assert_int_equal(r[0].kind, BRICK_RECORD_OPEN);
	assert_int_equal(r[2].kind, BRICK_RECORD_TIMES);
	assert_int_equal(r[3].begin, 12);
	assert_int_equal(live_window_trim(r, 4, 100), 0);
}

/* Works of samples that come: of those that are left. */
static void test_trim_ahead(void **state)
{
	const struct brick_samples two = {.begin = 7, .kind = BRICK_RECORD_SAMPLES, .site = {1, 2}},
				   one = {.begin = 9, .kind = BRICK_RECORD_SAMPLES, .site = {3}};
	struct brick_record r[] = {
		{.kind = BRICK_RECORD_WORK_AHEAD, .begin = 1, .ticks = 3},
		{.kind = BRICK_RECORD_WORK_AHEAD, .begin = 2, .ticks = 4, .wait = 1},
		{.kind = BRICK_RECORD_SAMPLES},
		{.kind = BRICK_RECORD_WORK_AHEAD, .begin = 3, .ticks = 16},
		{.kind = BRICK_RECORD_SAMPLES},
		{.kind = BRICK_RECORD_WORK_AHEAD, .begin = 4, .ticks = 1},
	};

	(void)state;
	memcpy(&r[2], &two, sizeof two);
	memcpy(&r[4], &one, sizeof one);
	assert_int_equal(live_window_trim(r, sizeof r / sizeof *r, 8), 3);
	assert_int_equal(r[0].begin, 2);
	assert_int_equal(r[0].ticks, 1 | 1u << 30);
	assert_int_equal(r[0].wait, 0);
	assert_int_equal(r[1].begin, 3);
	assert_int_equal(r[1].ticks, 16);
	assert_int_equal(r[2].begin, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole, start, stop),
		cmocka_unit_test_setup_teardown(test_window, start, stop),
		cmocka_unit_test_setup_teardown(test_full_ring, start, stop),
		cmocka_unit_test_setup_teardown(test_beside_consumer, start, stop),
		cmocka_unit_test_setup_teardown(test_wrap, start, stop),
		cmocka_unit_test_setup_teardown(test_writes_nothing, start, stop),
		cmocka_unit_test_setup_teardown(test_reset, start, stop),
		cmocka_unit_test_setup_teardown(test_found, start, stop),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_trim_ahead),
	};

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof path, "%s/%d.session", directory, (int)getpid());
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(directory);
	return failed;
}
