/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the recorder with every allocation failing in turn: the consumer of a session, the
 * encoder, the watcher, and a look at a live session. Nothing leaks, nothing crashes; either all of
 * the records are there, or what is missing is said. Needs an allocator that can be replaced:
 * skipped with sanitizers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/failing_memory.h"

#include "record/live/live_snapshot.h"
#include "record/encoder.h"
#include "record/watch.h"
#include "tests/unit/drain_fixture.h"

enum { LEAVES = 30 };

/* What a try came to. */
struct outcome {
	int error;	   /* the first */
	const char *fault; /* of a session; static text */
	uint64_t records;  /* that were emitted, or are in the run */
};

typedef struct outcome (*try_fn)(struct fixture *f);

static void produce(void)
{
	static const char source[] = "kernel void f() {}";
	struct brick_site site = {.size = sizeof(struct brick_site),
		.brick = BRICK_QKV_PROJECTION,
		.layer = 3,
		.label = "Qcur-3"};
	struct brick_kernel kernel = {.size = sizeof kernel,
		.name = "f",
		.backend = "null",
		.code = brick_code_register(source, sizeof source - 1, "f.cl", NULL)};

	brick_site_register(&site);
	brick_kernel_register(&kernel);
	brick_note("a", "b");
	leaves(BRICK_RMS_NORM, LEAVES);
}

static void keep(struct outcome *outcome, int error)
{
	if (!outcome->error)
		outcome->error = error;
}

/* Was it said that something is missing, by this error or fault? */
static int is_said(const struct outcome *outcome)
{
	return outcome->error == -ENOMEM ||
	       (outcome->fault && strstr(outcome->fault, "out of memory")) ||
	       (outcome->fault && strstr(outcome->fault, "cannot be"));
}

/* Until an attempt needs no more allocations than were allowed. */
static void fail_each(struct fixture *f, try_fn attempt, long at_least)
{
	long n = 0;
	int failed;

	if (!MEMORY_CAN_FAIL)
		skip();
	start_session(f, 4096);
	produce();
	attempt(f); /* what libc keeps for good, stacks of threads for one, it has from here on */
	do {
		leaves(BRICK_RMS_NORM, LEAVES);
		memory_fail_at(n++);
		struct outcome outcome = attempt(f);
		long blocks = memory_blocks;
		failed = memory_stop_failing();
		if (blocks)
			fail_msg("allocation %ld failed, and %ld are left", n, blocks);
		if (!is_said(&outcome) && outcome.records < LEAVES)
			fail_msg("allocation %ld failed: %d, %s, %llu records", n, outcome.error,
				outcome.fault ? outcome.fault : "no fault",
				(unsigned long long)outcome.records);
		if (!failed)
			assert_int_equal(outcome.error, 0);
	} while (failed);
	assert_true(n > at_least);
}

static int create_writer(struct fixture *f)
{
	struct trace_writer_options o = {.path = f->trace, .start_unix_ns = 1, .start_ns = 1};

	return trace_writer_create(&f->writer, &o);
}

static void finish_writer(struct fixture *f, struct outcome *outcome)
{
	if (f->writer)
		keep(outcome, trace_writer_finish(f->writer));
	f->writer = NULL;
}

static void take_counts(struct fixture *f, struct outcome *outcome)
{
	outcome->records = drain_counts(f->drain).records;
	outcome->fault = drain_fault(f->drain);
	drain_close(f->drain);
	f->drain = NULL;
}

static void consume_and_emit(struct fixture *f, struct outcome *outcome)
{
	static struct brick_record records[AT_ONCE];
	struct trace_writer *writer = f->writer;
	size_t n;

	keep(outcome, sink_clock(f->writer, brick_clock_get()));
	for (uint32_t i = 0; i < drain_lanes(f->drain); i++)
		while ((n = drain_consume(f->drain, i, records, AT_ONCE)))
			keep(outcome, drain_emit(f->drain, writer, i, records, n));
	keep(outcome, drain_finish(f->drain, writer, DRAIN_END_OUTLIVED, brick_ticks()));
}

static struct outcome try_drain(struct fixture *f)
{
	struct outcome outcome = {0};
	const char *why;

	outcome.error = drain_open(&f->drain, f->fd, NULL, &why);
	if (outcome.error)
		return outcome;
	outcome.error = create_writer(f);
	if (!outcome.error)
		consume_and_emit(f, &outcome);
	finish_writer(f, &outcome);
	take_counts(f, &outcome);
	return outcome;
}

static void the_consumer(void **state)
{
	fail_each(*state, try_drain, 15);
}

static void session_done(void *context, struct drain *drain)
{
	(void)drain;
	++*(int *)context;
}

static void encode(struct fixture *f, struct outcome *outcome)
{
	struct encoder *encoder;
	int done = 0;

	outcome->error = encoder_create(&encoder, f->writer, session_done, &done);
	if (outcome->error)
		return;
	f->writer = NULL;
	keep(outcome, encoder_clock(encoder, brick_clock_get()));
	if (!outcome->error)
		for (uint32_t i = 0; i < drain_lanes(f->drain); i++)
			if (encoder_consume(encoder, f->drain, i))
				keep(outcome, -ENOMEM);
	keep(outcome, encoder_end(encoder, f->drain, DRAIN_END_OUTLIVED, brick_ticks()));
	encoder_finish(encoder, &f->writer);
	keep(outcome, encoder_error(encoder));
	encoder_destroy(encoder);
}

static struct outcome try_encoder(struct fixture *f)
{
	struct outcome outcome = {0};
	const char *why;

	outcome.error = drain_open(&f->drain, f->fd, NULL, &why);
	if (outcome.error)
		return outcome;
	outcome.error = create_writer(f);
	if (!outcome.error)
		encode(f, &outcome);
	finish_writer(f, &outcome);
	take_counts(f, &outcome);
	return outcome;
}

static void the_encoder(void **state)
{
	fail_each(*state, try_encoder, 18);
}

static void watch_sessions(struct fixture *f, struct session_dir *dir, struct outcome *outcome)
{
	struct drain_clock clock;
	struct watch_options options = {dir, &clock, 1000};
	struct encoder *encoder;
	struct watch *watch;

	drain_clock_start(&clock);
	outcome->error = watch_create(&watch, &options);
	if (outcome->error)
		return;
	outcome->error = encoder_create(&encoder, f->writer, watch_session_done, watch);
	if (!outcome->error) {
		f->writer = NULL;
		watch_encoder_set(watch, encoder);
		watch_turn(watch, 1, 0);
		watch_end_all(watch);
		watch_turn(watch, 2, 0); /* the encoder may still have records of the session */
		encoder_finish(encoder, &f->writer);
		keep(outcome, encoder_error(encoder));
		struct watch_totals totals = watch_totals(watch);
		outcome->records = totals.records;
		outcome->fault = totals.lost ? totals.fault : NULL;
		encoder_destroy(encoder);
	}
	watch_destroy(watch);
}

static struct outcome try_watch(struct fixture *f)
{
	struct outcome outcome = {0};
	struct session_dir dir = {.lock_fd = -1};
	char name[sizeof f->session + 16];

	snprintf(dir.path, sizeof dir.path, "%s", f->directory);
	dir.fd = open(f->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(name, sizeof name, "%s/%d-1.session", f->directory, (int)getpid());
	unlink(name);
	assert_int_equal(link(f->session, name), 0);
	outcome.error = create_writer(f);
	if (!outcome.error)
		watch_sessions(f, &dir, &outcome);
	finish_writer(f, &outcome);
	close(dir.fd);
	unlink(name);
	return outcome;
}

static void the_watcher(void **state)
{
	fail_each(*state, try_watch, 20);
}

static struct outcome try_look(struct fixture *f)
{
	struct outcome outcome = {0};
	struct drain *view = NULL;
	struct run *run = NULL;
	const char *why;
	int whole;

	outcome.error = drain_open_view(&view, f->fd, NULL, &why);
	if (outcome.error)
		return outcome;
	struct snapshot_part part = {view, DRAIN_END_OUTLIVED, brick_ticks()};
	outcome.error = live_snapshot(&run, &part, 1, 64, &whole);
	if (!outcome.error)
		outcome.records = run->lane_count ? run->lanes[0].sample_count : 0;
	outcome.fault = drain_fault(view);
	run_destroy(run);
	drain_close(view);
	return outcome;
}

static void a_live_look(void **state)
{
	fail_each(*state, try_look, 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_consumer),
		TEST(the_encoder),
		TEST(the_watcher),
		TEST(a_live_look),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
