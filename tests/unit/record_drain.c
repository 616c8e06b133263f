/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer of a session, against a real session of this very process: everything that was
 * produced is emitted once, statistics and histograms are exact, whatever is dropped, and what
 * others wrote into tables is made harmless.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include "lib/drain/drain_pace.h"
#include "lib/drain/drain.c"
#include "tests/unit/drain_fixture.h"
#include "trace/owners.h"

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
	assert_true(emit_all(f, 7) > 0); /* in pieces that do not fit */
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
	size_t first = emit_all(f, AT_ONCE);
	assert_true(first > 0 && first < 1024);
	leaves(BRICK_RMS_NORM, 100);
	emit_all(f, AT_ONCE);
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
		emit_all(f, AT_ONCE);
	}
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_int_equal(drain_counts(f->drain).threads, 1 + 3 * 8);
	assert_all(run, "Activation", 3 * 8 * 50);
	run_destroy(run);
}

static void end_inside_of_bricks(struct fixture *f, enum drain_end end, const char *note)
{
	start_session(f, 1024);
	open_drain(f);
	brick_span outer = brick_begin(BRICK_GRAPH_COMPUTE);
	leaves(BRICK_LM_HEAD, 1);
	brick_span inner = brick_begin(BRICK_SAMPLING);
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, end);
	assert_int_equal(samples_of(run, "GraphCompute"), 1);
	assert_int_equal(samples_of(run, "Sampling"), 1);
	assert_int_equal(run->open_samples, 2);
	assert_int_equal(run->bad_records, 0);
	assert_int_equal(counted(run, "Sampling"), 0);
	assert_string_equal(run_note_find(run, "session.end"), note);
	run_destroy(run);
	brick_end(inner);
	brick_end(outer);
}

/* However it ends, what is open then is shown as open. */
static void closed_inside_of_bricks(void **state)
{
	end_inside_of_bricks(*state, DRAIN_END_CLOSED, "closed");
}

static void dead_inside_of_bricks(void **state)
{
	end_inside_of_bricks(*state, DRAIN_END_DEAD, "dead");
}

static void outlived_inside_of_bricks(void **state)
{
	end_inside_of_bricks(*state, DRAIN_END_OUTLIVED, "outlived");
}

/* It was killed between its place and its time. */
static void dead_where_a_brick_begins(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	open_drain(f);
	leaves(BRICK_LM_HEAD, 1);
	struct brick_frame *frame =
		&f->drain->map.lanes[drain_lanes(f->drain) - 1]->shared->frames[0];
	uint64_t before = frame->begin;
	brick_span span = brick_begin(BRICK_SAMPLING);
	frame->begin = before;
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, DRAIN_END_DEAD);
	assert_int_equal(run->bad_records, 0);
	assert_int_equal(run->open_samples, 0);
	run_destroy(run);
	brick_end(span);
}

/* Where there was no room for the begin of one that holds others, no record ever has it. */
static void open_without_a_record_is_counted(void **state)
{
	struct fixture *f = *state;
	uint64_t unmatched = 0;

	start_session(f, 1024);
	open_drain(f);
	leaves(BRICK_RMS_NORM, 1024);
	brick_span outer = brick_begin(BRICK_GRAPH_COMPUTE);
	leaves(BRICK_LM_HEAD, 1);
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	for (size_t i = 0; i < run->lane_count; i++)
		unmatched += run->lanes[i].ledger.unmatched;
	assert_int_equal(unmatched, 1);
	assert_int_equal(run->open_samples, 0);
	run_destroy(run);
	brick_end(outer);
}

/* What is open at the last look, and ends before the statistics are copied, is no less there. */
static void what_ends_meanwhile_is_there(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	open_drain(f);
	brick_span outer = brick_begin(BRICK_GRAPH_COMPUTE);
	emit_all(f, AT_ONCE);
	leaves(BRICK_LM_HEAD, 200);
	brick_end(outer);
	brick_span open = brick_begin(BRICK_SAMPLING);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_all(run, "LmHead", 200);
	assert_all(run, "GraphCompute", 1);
	assert_int_equal(run->open_samples, 1);
	assert_int_equal(run->bad_records, 0);
	run_destroy(run);
	brick_end(open);
}

static void *ends_inside_of_a_brick(void *unused)
{
	(void)unused;
	brick_begin(BRICK_SAMPLING);
	usleep(1000);
	return NULL;
}

/* It goes on to where its thread ended, not to where the lane's next one began. */
static void a_thread_ends_inside_of_a_brick(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;
	uint64_t ended_ns = 0;
	int count = 1;

	start_session(f, 1024);
	open_drain(f);
	assert_int_equal(pthread_create(&thread, NULL, ends_inside_of_a_brick, NULL), 0);
	pthread_join(thread, NULL);
	ended_ns = brick_clock_ns(brick_clock_get(), brick_ticks());
	usleep(1000);
	assert_int_equal(pthread_create(&thread, NULL, one_thread, &count), 0);
	pthread_join(thread, NULL);
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	assert_int_equal(run->open_samples, 1);
	const struct run_sample *first = run->lanes[0].samples;
	assert_int_equal(first[0].flags, RUN_SAMPLE_OPEN);
	assert_true(first[0].end_ns - first[0].begin_ns >= 1000000);
	assert_true(first[0].end_ns <= ended_ns);
	assert_all(run, "Activation", 1);
	run_destroy(run);
}

static void *named(void *name)
{
	const char *text = name;

	if (text[0] == '+')
		brick_thread_name(text + 1);
	leaves(BRICK_ACTIVATION, 1);
	if (text[0] != '+')
		pthread_setname_np(pthread_self(), text);
	return NULL;
}

/* One thread after the other has a lane, each under its own name, however it came by that. */
static void each_owner_has_its_name(void **state)
{
	static const char *const names[] = {"alpha", "+a name that takes more than one record",
		"b\x1b"},
				 *const wanted[] = {
					 "alpha", "a name that takes more than one record", "b?"};
	struct fixture *f = *state;
	pthread_t thread;

	start_session(f, 1024);
	open_drain(f);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pthread_create(&thread, NULL, named, (void *)names[i]), 0);
		pthread_join(thread, NULL);
	}
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, DRAIN_END_CLOSED);
	struct owners owners;
	assert_int_equal(owners_init(&owners, run), 0);
	size_t first = owners_first(&owners, run, 0);
	assert_int_equal(owners.lanes[1] - first, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(owners.all[first + i].name, wanted[i]);
	owners_fini(&owners);
	assert_int_equal(run->bad_records, 0);
	run_destroy(run);
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
	emit_all(f, AT_ONCE);
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

/* What a killed consumer had read and not written is in no file, and in the statistics all the
 * same. */
static void a_successor_counts_what_nobody_wrote(void **state)
{
	enum { WRITTEN = 10, READ = 20, WAITING = 5, LATER = 3 };
	static struct brick_record lost[AT_ONCE];
	struct fixture *f = *state;

	start_session(f, 4096);
	leaves(BRICK_RMS_NORM, WRITTEN);
	open_drain(f);
	emit_all(f, AT_ONCE);
	leaves(BRICK_RMS_NORM, READ);
	assert_int_equal(drain_consume(f->drain, 0, lost, AT_ONCE), READ);
	drain_close(f->drain);
	trace_writer_abandon(f->writer);
	leaves(BRICK_RMS_NORM, WAITING);
	open_drain(f);
	drain_go_on(f->drain);
	leaves(BRICK_RMS_NORM, LATER);
	emit_all(f, AT_ONCE);
	struct run *run = finish(f, DRAIN_END_OUTLIVED);
	assert_int_equal(samples_of(run, "RmsNorm"), WAITING + LATER);
	assert_int_equal(counted(run, "RmsNorm"), WRITTEN + READ + WAITING + LATER);
	assert_int_equal(in_histogram(run, "RmsNorm"), WRITTEN + WAITING + LATER);
	run_destroy(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_kind_of_record_is_exact),
		TEST(drops_are_counted_and_in_the_histogram),
		TEST(lanes_join_while_it_runs),
		TEST(closed_inside_of_bricks),
		TEST(dead_inside_of_bricks),
		TEST(outlived_inside_of_bricks),
		TEST(dead_where_a_brick_begins),
		TEST(open_without_a_record_is_counted),
		TEST(what_ends_meanwhile_is_there),
		TEST(a_thread_ends_inside_of_a_brick),
		TEST(each_owner_has_its_name),
		TEST(names_are_made_harmless),
		TEST(looking_says_when_to_look_again),
		TEST(a_file_that_is_no_session_is_refused),
		TEST(a_successor_counts_what_nobody_wrote),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
