/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer of a session, against a real session of this very process: everything that was
 * produced is told once, statistics and histograms are exact, whatever is dropped, and what others
 * wrote into tables is made harmless.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "brick/brick.h"
#include "drain/drain.h"
#include "drain/pace.h"
#include "embed/writer_thread.h"
#include "trace/load.h"
#include "trace/writer.h"

enum { ROOM = 4096 };

struct fixture {
	char directory[64], session[128], trace[128];
	int fd;
	struct drain *drain;
	struct trace_writer *writer;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	strcpy(f->directory, "/tmp/brick-unit-XXXXXX");
	if (!mkdtemp(f->directory))
		return -1;
	snprintf(f->session, sizeof f->session, "%s/%d.session", f->directory, (int)getpid());
	snprintf(f->trace, sizeof f->trace, "%s/run.pftrace", f->directory);
	f->fd = -1;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	drain_close(f->drain);
	trace_writer_abandon(f->writer);
	if (f->fd >= 0)
		close(f->fd);
	brick_session_stop();
	unlink(f->session);
	unlink(f->trace);
	rmdir(f->directory);
	free(f);
	return 0;
}

static void start_session(struct fixture *f, uint32_t ring_records)
{
	struct brick_session_options o = BRICK_SESSION_OPTIONS_INIT;

	o.directory = f->directory;
	o.ring_records = ring_records;
	assert_int_equal(brick_session_start(&o), 0);
	f->fd = open(f->session, O_RDWR | O_CLOEXEC);
	assert_true(f->fd >= 0);
}

static void open_drain(struct fixture *f)
{
	struct trace_writer_options o = {.path = f->trace, .start_unix_ns = 1, .start_ns = 1};
	const char *why = NULL;

	assert_int_equal(drain_open(&f->drain, f->fd, NULL, &why), 0);
	assert_int_equal(trace_writer_create(&f->writer, &o), 0);
	assert_int_equal(trace_writer_clock(f->writer, brick_clock_get()), 0);
}

static size_t tell_all(struct fixture *f, size_t at_once)
{
	static struct brick_record records[ROOM];
	size_t n, total = 0;

	for (uint32_t i = 0; i < drain_lanes(f->drain); i++)
		while ((n = drain_consume(f->drain, i, records, at_once))) {
			assert_int_equal(
				drain_emit(f->drain, trace_writer_sink(f->writer), i, records, n),
				0);
			total += n;
		}
	return total;
}

static struct run *finish(struct fixture *f, enum drain_end end)
{
	struct load_error error;
	struct run *run = NULL;

	assert_int_equal(
		drain_finish(f->drain, trace_writer_sink(f->writer), end, brick_ticks()), 0);
	assert_int_equal(trace_writer_finish(f->writer), 0);
	f->writer = NULL;
	if (run_load(&run, f->trace, &error))
		fail_msg("%s at %llu", error.text, (unsigned long long)error.offset);
	return run;
}

static void leaves(uint32_t brick, int count)
{
	for (int i = 0; i < count; i++)
		brick_end(brick_begin(brick));
}

static uint64_t samples_of(const struct run *run, const char *name)
{
	uint32_t brick = run_brick_find(run, name);
	uint64_t count = 0;

	for (size_t l = 0; l < run->lane_count; l++)
		for (size_t i = 0; i < run->lanes[l].sample_count; i++)
			count += run->sites[run->lanes[l].samples[i].site].brick == brick;
	return count;
}

static uint64_t counted(const struct run *run, const char *name)
{
	uint32_t brick = run_brick_find(run, name);
	uint64_t count = 0;

	for (size_t l = 0; l < run->lane_count; l++)
		count += run->lanes[l].stats ? run->lanes[l].stats[brick].count : 0;
	return count;
}

static uint64_t in_histogram(const struct run *run, const char *name)
{
	uint32_t brick = run_brick_find(run, name);
	uint64_t count = 0;

	for (uint32_t i = 0; run->histograms[brick] && i < BRICK_HISTOGRAM_BUCKETS; i++)
		count += run->histograms[brick][i];
	return count;
}

static void assert_all(const struct run *run, const char *name, uint64_t count)
{
	assert_int_equal(samples_of(run, name), count);
	assert_int_equal(counted(run, name), count);
	assert_int_equal(in_histogram(run, name), count);
}

static void every_kind_of_record_is_exact(void **state)
{
	struct fixture *f = *state;
	struct brick_site site = {.size = sizeof(struct brick_site),
		.brick = BRICK_QKV_PROJECTION,
		.layer = 3,
		.elements = 7,
		.flags = BRICK_SITE_HAS_ELEMENTS,
		.label = "Qcur-3"};

	start_session(f, 4096);
	open_drain(f);
	uint32_t index = (uint32_t)brick_site_register(&site);
	leaves(BRICK_RMS_NORM, 100);
	brick_span outer = brick_begin(BRICK_GRAPH_COMPUTE);
	leaves(BRICK_LM_HEAD, 10);
	brick_span inner = brick_begin(BRICK_GRAPH_BUILD);
	leaves(BRICK_LM_HEAD, 1);
	(void)inner; /* left open: ended by its outer one */
	brick_end(outer);
	for (uint64_t at = brick_ticks(), i = 0; i < 20; i++, at += 100) {
		struct brick_sample s = {.begin = at,
			.end = at + 50,
			.site = index,
			.wait = i % 2 * 10,
			.inner = i % 4 == 3 ? 5 : 0,
			.source = BRICK_SOURCE_CALLBACK};
		brick_record_sample(&s);
	}
	brick_record_elapsed(BRICK_SAMPLING, 12345, 1, 0);
	brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
	brick_end(step);
	assert_true(tell_all(f, 7) > 0); /* in pieces that do not fit */
	assert_int_equal(drain_counts(f->drain).steps, 1);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_null(drain_fault(f->drain));
	assert_all(run, "RmsNorm", 100);
	assert_all(run, "LmHead", 11);
	assert_all(run, "GraphCompute", 1);
	assert_all(run, "GraphBuild", 1);
	assert_all(run, "QkvProjection", 20);
	assert_all(run, "Decode", 1);
	assert_int_equal(counted(run, "Sampling"), 1);
	assert_int_equal(run->bad_records, 0);
	assert_int_equal(in_histogram(run, "Sampling"), 1);
	assert_int_equal(counted(run, "BarrierWait"), 15); /* 10 after, 5 inside */
	assert_int_equal(in_histogram(run, "BarrierWait"), 15);
	assert_int_equal(run->step_count, 1);
	assert_int_equal(run->complete, 1);
	run_destroy(run);
}

static void drops_are_counted_and_in_the_histogram(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	open_drain(f);
	leaves(BRICK_RMS_NORM, 5000);
	brick_span outer = brick_begin(BRICK_GRAPH_COMPUTE);
	leaves(BRICK_LM_HEAD, 5000);
	brick_end(outer);
	size_t first = tell_all(f, ROOM);
	assert_true(first > 0 && first < 1024);
	leaves(BRICK_RMS_NORM, 100);
	tell_all(f, ROOM);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	uint64_t dropped = drain_counts(f->drain).dropped;
	assert_true(dropped > 9000);
	assert_int_equal(samples_of(run, "RmsNorm") + samples_of(run, "LmHead") +
				 samples_of(run, "GraphCompute") + dropped,
		5000 + 5000 + 1 + 100);
	assert_int_equal(counted(run, "RmsNorm"), 5100);
	assert_int_equal(in_histogram(run, "RmsNorm"), 5100);
	assert_int_equal(in_histogram(run, "LmHead"), 5000);
	assert_int_equal(in_histogram(run, "GraphCompute"), 1);
	run_destroy(run);
}

static void *one_thread(void *count)
{
	leaves(BRICK_ACTIVATION, *(int *)count);
	return NULL;
}

static void lanes_join_while_it_runs(void **state)
{
	struct fixture *f = *state;
	pthread_t threads[8];
	int count = 50;

	start_session(f, 1024);
	leaves(BRICK_RMS_NORM, 3);
	open_drain(f);
	assert_int_equal(drain_lanes(f->drain), 1);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, one_thread, &count), 0);
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
		tell_all(f, ROOM);
	}
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_int_equal(drain_counts(f->drain).threads, 1 + 3 * 8);
	assert_all(run, "Activation", 3 * 8 * 50);
	run_destroy(run);
}

static void open_frames_of_the_dead_are_told(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	open_drain(f);
	brick_span outer = brick_begin(BRICK_GRAPH_COMPUTE);
	leaves(BRICK_LM_HEAD, 1);
	brick_span inner = brick_begin(BRICK_SAMPLING);
	tell_all(f, ROOM);
	struct run *run = finish(f, DRAIN_END_DEAD);
	assert_int_equal(samples_of(run, "GraphCompute"), 1);
	assert_int_equal(samples_of(run, "Sampling"), 1);
	assert_int_equal(run->open_samples, 2);
	assert_int_equal(run->processes[0].closed, 0);
	assert_string_equal(run_note_find(run, "session.end"), "dead");
	run_destroy(run);
	brick_end(inner);
	brick_end(outer);
}

static void names_are_made_harmless(void **state)
{
	struct fixture *f = *state;
	const char bad[] = "a\x1b[2J\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80 \xc3\xa9";

	start_session(f, 1024);
	int brick = brick_register(bad, BRICK_CATEGORY_OTHER);
	assert_true(brick > 0);
	brick_note("key", "line one\x07 %s", "\xff");
	open_drain(f);
	leaves((uint32_t)brick, 4);
	tell_all(f, ROOM);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	const char clean[] = "a?[2J?????????? \xc3\xa9";
	assert_int_not_equal(run_brick_find(run, clean), RUN_NONE);
	assert_all(run, clean, 4);
	for (size_t i = 0; i < run->brick_count; i++)
		for (const char *p = run->bricks[i].name; *p; p++)
			assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
	assert_string_equal(run_note_find(run, "key"), "line one? ?");
	run_destroy(run);
}

/* A command of a queue, from 20 to 10 us ago. */
static int add_command(struct brick_queue *queue, uint32_t kernel)
{
	struct timespec t;
	struct brick_command c = {.size = sizeof c, .kernel = kernel};

	brick_launch_begin(&c.launch);
	brick_launch_end(&c.launch);
	clock_gettime(CLOCK_MONOTONIC, &t);
	c.end_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - 10000;
	c.begin_ns = c.end_ns - 10000;
	c.source = BRICK_SOURCE_DEVICE_EVENT;
	c.bytes = 4096;
	return brick_queue_record(queue, &c);
}

static struct brick_queue *make_queue(void)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct brick_queue *queue = NULL;

	options.name = "a\x1bqueue";
	options.backend = "null";
	assert_int_equal(brick_queue_create(&queue, &options), 0);
	return queue;
}

static const char source_text[] = "kernel void f()\n{\n}\n";

static uint32_t make_kernel(const char *name)
{
	const struct brick_kernel kernel = {.size = sizeof(struct brick_kernel),
		.name = name,
		.backend = "null",
		.grid = {2, 1, 1},
		.block = {64, 1, 1},
		.code = brick_code_register(source_text, sizeof source_text - 1, "f.cl", NULL)};
	uint32_t index = brick_kernel_register(&kernel);

	assert_true(index > 0);
	return index;
}

static void queues_kernels_and_code(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	open_drain(f);
	struct brick_queue *queue = make_queue();
	uint32_t kernel = make_kernel("f");
	brick_span span = brick_begin_layer(BRICK_RMS_NORM, 5);
	for (int i = 0; i < 10; i++) {
		usleep(30); /* commands must not overlap */
		assert_int_equal(add_command(queue, kernel), 0);
	}
	brick_end(span);
	assert_true(tell_all(f, 7) > 0);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_null(drain_fault(f->drain));
	assert_int_equal(run->command_count, 10);
	assert_int_equal(run->bad_records, 0);
	for (size_t i = 0; i < 10; i++) {
		const struct run_command *c = &run->commands[i];
		const struct run_sample *s = &run->lanes[c->lane].samples[c->sample];
		assert_string_equal(run->kernels[c->kernel].name, "f");
		assert_int_equal(run->kernels[c->kernel].block[0], 64);
		assert_int_equal(run->sites[s->site].layer, 5);
		assert_int_equal(c->bytes, 4096);
		assert_int_not_equal(c->launch_lane, RUN_NONE);
		assert_in_range(s->end_ns - s->begin_ns, 9990, 10010);
	}
	const struct run_lane *lane = &run->lanes[run->commands[0].lane];
	assert_int_equal(lane->kind, BRICK_LANE_QUEUE);
	assert_string_equal(lane->name, "a?queue");
	assert_string_equal(lane->backend, "null");
	assert_int_equal(run->code_count, 1);
	assert_string_equal(run->codes[0].source, source_text);
	assert_true(run->codes[0].hash == run->kernels[run->commands[0].kernel].code);
	/* exact counts of both, and lengths of the host only */
	assert_int_equal(counted(run, "RmsNorm"), 11);
	assert_int_equal(in_histogram(run, "RmsNorm"), 1);
	run_destroy(run);
	brick_queue_destroy(queue);
}

/* What somebody wrote over the tables: the rest comes through. */
static void bad_kernels_and_code(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	struct brick_queue *queue = make_queue();
	uint32_t kernel = make_kernel("f");
	assert_int_equal(add_command(queue, kernel), 0);
	struct brick_session_header h;
	assert_int_equal(pread(f->fd, &h, sizeof h, 0), sizeof h);
	struct brick_session_kernel wild;
	memset(&wild, 0xfe, sizeof wild);
	off_t at = (off_t)(h.kernel_offset + kernel * sizeof wild);
	assert_int_equal(pwrite(f->fd, &wild, sizeof wild, at), sizeof wild);
	struct brick_session_code entry = {.name_bytes = UINT32_MAX, .source_bytes = UINT32_MAX};
	assert_int_equal(pwrite(f->fd, &entry, sizeof entry, (off_t)h.code_offset), sizeof entry);
	open_drain(f);
	tell_all(f, ROOM);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_non_null(drain_fault(f->drain));
	assert_string_equal(run_note_find(run, "session.bad_entries"), "2");
	assert_int_equal(run->command_count, 1);
	assert_int_equal(run->kernels[run->commands[0].kernel].kind, BRICK_KERNEL_OTHER);
	assert_int_equal(run->code_count, 0);
	run_destroy(run);
	brick_queue_destroy(queue);
}

static void looking_says_when_to_look_again(void **state)
{
	struct fixture *f = *state;
	struct drain_pace *pace = calloc(1, sizeof *pace);

	start_session(f, 1024);
	leaves(BRICK_RMS_NORM, 1);
	open_drain(f);
	struct drain_outlook first = drain_look(f->drain, pace, 1000000000, 100);
	assert_int_equal(first.next_ms, 100); /* no rate yet */
	assert_int_equal(first.waiting, 2);   /* its thread, and the sample */
	leaves(BRICK_RMS_NORM, 254);
	/* 254 in 100 ms: the 256 to half of the ring take as long; half of that is slept */
	struct drain_outlook second = drain_look(f->drain, pace, 1100000000, 100);
	assert_in_range(second.next_ms, 48, 52);
	assert_int_equal(second.fullest_percent, 25);
	leaves(BRICK_RMS_NORM, 300);
	assert_int_equal(drain_look(f->drain, pace, 1200000000, 100).next_ms, 2);
	free(pace);
}

static void a_file_that_is_no_session_is_refused(void **state)
{
	struct fixture *f = *state;
	const char *why = NULL;

	f->fd = open(f->trace, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(drain_open(&f->drain, f->fd, NULL, &why), BRICK_ETRUNCATED);
	assert_non_null(why);
	assert_int_equal(ftruncate(f->fd, 1 << 20), 0);
	assert_int_equal(drain_open(&f->drain, f->fd, NULL, &why), BRICK_EFORMAT);
	assert_null(f->drain);
}

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_kind_of_record_is_exact),
		TEST(drops_are_counted_and_in_the_histogram),
		TEST(lanes_join_while_it_runs),
		TEST(open_frames_of_the_dead_are_told),
		TEST(names_are_made_harmless),
		TEST(queues_kernels_and_code),
		TEST(bad_kernels_and_code),
		TEST(looking_says_when_to_look_again),
		TEST(a_file_that_is_no_session_is_refused),
		TEST(the_thread_writes_a_whole_recording),
		TEST(the_thread_gives_up_without_a_trace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
