/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where one file ends and the next goes on within a step: the step is in neither, with what other
 * threads did until its end, in whichever order the lanes are emitted. Whole steps of any thread
 * stay whole, other open bricks go on, and a step that never ends keeps nothing else out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <semaphore.h>
#include "tests/unit/drain_fixture.h"

enum { LANES = 2 };

/* A thread beside this one that does what it is told to. */
static struct helper {
	pthread_t thread;
	sem_t go, done;
	void (*work)(int count); /* NULL: it ends */
	int count;
} helper;

static void *helper_run(void *argument)
{
	(void)argument;
	for (;;) {
		sem_wait(&helper.go);
		if (!helper.work)
			return NULL;
		helper.work(helper.count);
		sem_post(&helper.done);
	}
}

static void beside(void (*work)(int), int count)
{
	helper.work = work;
	helper.count = count;
	sem_post(&helper.go);
	if (work)
		sem_wait(&helper.done);
	else
		pthread_join(helper.thread, NULL);
}

static void norms(int count)
{
	leaves(BRICK_RMS_NORM, count);
}

static void steps(int count)
{
	for (int i = 0; i < count; i++) {
		brick_span step = brick_step_begin(BRICK_PHASE_PREFILL, 1);
		leaves(BRICK_LM_HEAD, 1);
		brick_end(step);
	}
}

static brick_span outer;

static void begin_outer(int count)
{
	outer = brick_begin(BRICK_SAMPLING);
	leaves(BRICK_RMS_NORM, count);
}

static void end_outer(int count)
{
	leaves(BRICK_RMS_NORM, count);
	brick_end(outer);
}

static void open_step(int count)
{
	brick_step_begin(BRICK_PHASE_PREFILL, 1);
	leaves(BRICK_LM_HEAD, count);
}

/* One step of this thread, with so much done beside it and after it. */
static void whole_step(int during, int after)
{
	brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);

	leaves(BRICK_QKV_PROJECTION, 1);
	beside(norms, during);
	leaves(BRICK_QKV_PROJECTION, 1);
	brick_end(step);
	beside(norms, after);
}

static void begin(struct fixture *f)
{
	start_session(f, 4096);
	open_drain(f);
	sem_init(&helper.go, 0, 0);
	sem_init(&helper.done, 0, 0);
	assert_int_equal(pthread_create(&helper.thread, NULL, helper_run, NULL), 0);
	whole_step(2, 1);
}

static void emit(struct fixture *f, bool backwards)
{
	static struct brick_record records[AT_ONCE];
	size_t n;

	assert_int_equal(drain_lanes(f->drain), LANES);
	for (uint32_t k = 0; k < LANES; k++) {
		uint32_t i = backwards ? LANES - 1 - k : k;
		while ((n = drain_consume(f->drain, i, records, 3)))
			assert_int_equal(drain_emit(f->drain, f->writer, i, records, n), 0);
	}
}

static void mark(struct fixture *f, enum mark_kind kind)
{
	assert_int_equal(sink_mark(f->writer, &(struct sink_mark){.kind = kind, .text = ""}), 0);
}

static struct run *load(struct fixture *f)
{
	struct load_error error;
	struct run *run = NULL;

	assert_int_equal(trace_writer_finish(f->writer), 0);
	f->writer = NULL;
	if (run_load(&run, f->trace, &error))
		fail_msg("%s at %llu", error.text, (unsigned long long)error.offset);
	assert_int_equal(run->bad_records, 0);
	return run;
}

/* The file that ends here; the next one begins. */
static struct run *turn(struct fixture *f)
{
	struct trace_writer_options o = {.path = f->trace, .start_unix_ns = 1, .start_ns = 1};

	assert_int_equal(drain_part(f->drain, f->writer), 0);
	mark(f, MARK_NEXT);
	struct run *run = load(f);
	assert_int_equal(trace_writer_create(&f->writer, &o), 0);
	assert_int_equal(sink_clock(f->writer, brick_clock_get()), 0);
	mark(f, MARK_PART);
	return run;
}

static struct run *last(struct fixture *f)
{
	assert_int_equal(drain_finish(f->drain, f->writer, DRAIN_END_CLOSED, brick_ticks()), 0);
	return load(f);
}

static void expect(struct run *run, uint64_t decode, uint64_t projections, uint64_t norms_there,
	uint64_t prefill)
{
	assert_int_equal(samples_of(run, "Decode"), decode);
	assert_int_equal(samples_of(run, "QkvProjection"), projections);
	assert_int_equal(samples_of(run, "RmsNorm"), norms_there);
	assert_int_equal(samples_of(run, "Prefill"), prefill);
	assert_int_equal(samples_of(run, "LmHead"), prefill);
	run_destroy(run);
}

static void cut(struct fixture *f, bool backwards)
{
	begin(f);
	brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
	leaves(BRICK_QKV_PROJECTION, 1);
	beside(norms, 40);
	emit(f, backwards);
	expect(turn(f), 1, 2, 2 + 1, 0);
	beside(norms, 50);
	emit(f, backwards); /* its end is not known yet */
	leaves(BRICK_QKV_PROJECTION, 1);
	beside(norms, 60);
	brick_end(step);
	beside(norms, 3);
	whole_step(4, 5);
	emit(f, backwards);
	whole_step(6, 7);
	emit(f, backwards);
	beside(NULL, 0);
	expect(last(f), 2, 4, 3 + 4 + 5 + 6 + 7, 0);
}

static void what_is_beside_a_cut_step_goes_with_it(void **state)
{
	cut(*state, false);
}

static void the_order_of_lanes_is_nothing(void **state)
{
	cut(*state, true);
}

static void other_steps_stay_whole(void **state)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		struct fixture *f = *state;
		begin(f);
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		leaves(BRICK_QKV_PROJECTION, 1);
		beside(norms, 40);
		beside(steps, 1);
		beside(norms, 40);
		emit(f, backwards);
		/* the lane has a step of its own since: nothing of it goes */
		expect(turn(f), 1, 2, 2 + 1 + 40 + 40, 1);
		leaves(BRICK_QKV_PROJECTION, 1);
		beside(norms, 50);
		beside(steps, 2);
		beside(norms, 8);
		brick_end(step);
		whole_step(4, 5);
		emit(f, backwards);
		beside(NULL, 0);
		expect(last(f), 1, 2, 8 + 4 + 5, 2);
		tear_down(state);
		set_up(state);
	}
}

static void other_open_bricks_go_on(void **state)
{
	struct fixture *f = *state;

	begin(f);
	beside(begin_outer, 9);
	brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
	leaves(BRICK_QKV_PROJECTION, 1);
	emit(f, true);
	struct run *run = turn(f);
	assert_int_equal(samples_of(run, "Sampling"), 1);
	expect(run, 1, 2, 2 + 1 + 9, 0);
	beside(norms, 50);
	leaves(BRICK_QKV_PROJECTION, 1);
	brick_end(step);
	beside(end_outer, 3);
	emit(f, true);
	beside(NULL, 0);
	run = last(f);
	assert_int_equal(samples_of(run, "Sampling"), 1);
	expect(run, 0, 0, 3, 0);
}

static void a_step_without_an_end_keeps_nothing_else_out(void **state)
{
	struct fixture *f = *state;

	begin(f);
	beside(open_step, 1);
	emit(f, false);
	expect(turn(f), 1, 2, 2 + 1, 0);
	whole_step(0, 0);
	emit(f, false);
	expect(turn(f), 1, 2, 0, 0);
	whole_step(0, 0);
	emit(f, false);
	beside(NULL, 0);
	expect(last(f), 1, 2, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_beside_a_cut_step_goes_with_it),
		TEST(the_order_of_lanes_is_nothing),
		TEST(other_steps_stay_whole),
		TEST(other_open_bricks_go_on),
		TEST(a_step_without_an_end_keeps_nothing_else_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
