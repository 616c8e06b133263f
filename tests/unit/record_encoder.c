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
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "brick/brick.h"
#include "format/mark.h"
#include "lib/keep/exemplars.h"
#include "lib/keep/file_ring.h"
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

/* Several files: the next one after each flush. */

struct files {
	struct fixture *f;
	unsigned ended;
};

static bool always_due(void *context, uint64_t bytes, bool between)
{
	(void)context;
	(void)bytes;
	return between;
}

static void name_file(const struct files *files, unsigned number, char name[160])
{
	snprintf(name, 160, "%s.%u", files->f->trace, number);
}

static int next_file(void *context, uint64_t ns, struct trace_writer **writer)
{
	struct files *files = context;
	struct sink_mark mark = {.ns = 2, .kind = MARK_NEXT, .text = ""};
	struct trace_writer_options options = {
		.path = files->f->trace, .start_unix_ns = 1, .start_ns = 1};
	char name[160];

	(void)ns;
	assert_int_equal(sink_mark(*writer, &mark), 0);
	assert_int_equal(trace_writer_finish(*writer), 0);
	name_file(files, ++files->ended, name);
	assert_int_equal(rename(files->f->trace, name), 0);
	assert_int_equal(trace_writer_create(writer, &options), 0);
	mark.kind = MARK_PART;
	return sink_mark(*writer, &mark);
}

static void end_file(struct fixture *f)
{
	const struct sink_account account = {.end_ns = 1, .exit_code = -1};

	produce_and_take(f, 0);
	assert_int_equal(encoder_flush(f->encoder, &account), 0);
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

static void leaves(int count)
{
	for (int i = 0; i < count; i++)
		brick_end(brick_begin(BRICK_RMS_NORM));
}

/* Steps that a process makes until its session is ended are in no record that was handed in. */
static void an_ended_session_is_not_known_again(void **state)
{
	struct fixture *f = *state;
	struct cost_limit cost;
	uint32_t blocks = 0;

	cost_limit_init(&cost, 0.01);
	encoder_cost_set(f->encoder, &cost, &blocks);
	for (int i = 0; i < 2; i++) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		leaves(1);
		brick_end(step);
		if (!i)
			produce_and_take(f, 0);
	}
	assert_int_equal(encoder_end(f->encoder, f->drain, DRAIN_END_OUTLIVED, brick_ticks()), 0);
	finish_encoder(f);
	assert_int_equal(encoder_error(f->encoder), 0);
	assert_int_equal(cost.with_bricks, 2);
	assert_int_equal(cost.session_count, 0);
}

/*
 * Each file is whole by itself: bricks that stay open begin anew, a step that a file's end has cut
 * is in neither, with all that ran in it, and nothing counts as lost. The last one has the
 * statistics of all.
 */
static void files_follow_each_other(void **state)
{
	enum { FILES = 5 };
	struct fixture *f = *state;
	struct files files = {.f = f};
	const struct encoder_files calls = {&files, always_due, next_file, NULL};
	struct load_error error;
	struct run *run;
	char name[160];

	encoder_files_set(f->encoder, &calls);
	brick_span outer = brick_begin(BRICK_ATTENTION_OUTPUT);
	for (int i = 0; i < FILES; i++) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1); /* a whole one */
		leaves(7);
		brick_end(step);
		leaves(1);					/* in no step */
		step = brick_step_begin(BRICK_PHASE_DECODE, 1); /* a cut one */
		leaves(3);
		end_file(f);
		leaves(4);
		brick_end(step);
		leaves(2);
	}
	brick_end(outer);
	produce_and_take(f, 0);
	assert_int_equal(encoder_end(f->encoder, f->drain, DRAIN_END_CLOSED, brick_ticks()), 0);
	finish_encoder(f);
	assert_int_equal(encoder_error(f->encoder), 0);
	assert_int_equal(trace_writer_finish(f->writer), 0);
	f->writer = NULL;
	assert_int_equal(files.ended, FILES);
	for (unsigned i = 1; i <= FILES + 1; i++) {
		name_file(&files, i, name);
		if (i == FILES + 1)
			snprintf(name, sizeof name, "%s", f->trace);
		assert_int_equal(run_load(&run, name, &error), 0);
		assert_true(run->complete);
		assert_int_equal(run->bad_records, 0);
		assert_int_equal(run->open_samples, 0);
		assert_null(run->lanes[0].stats);
		/* of the first file the begin is whole, of the last the end */
		assert_int_equal(samples_of(run, "RmsNorm"), i == 1	  ? 7 + 1
							     : i <= FILES ? 2 + 7 + 1
									  : 2);
		assert_int_equal(samples_of(run, "AttentionOutput"), 1);
		run_destroy(run);
		if (i <= FILES)
			assert_int_equal(unlink(name), 0);
	}
	assert_int_equal(run_load_totals(&run, f->trace, &error), 0);
	assert_true(run->has_statistics_only);
	assert_int_equal(samples_of(run, "RmsNorm"), 0);
	assert_int_equal(run->lanes[0].stats[run_brick_find(run, "RmsNorm")].count,
		FILES * (7 + 1 + 3 + 4 + 2));
	assert_int_equal(run->lanes[0].stats[run_brick_find(run, "Decode")].count, 2 * FILES);
	run_destroy(run);
}

/*
 * Two threads compute each step, and the recorder looks at one after the other: whole steps go by
 * between the two looks. Each file has the steps that it has with what both threads did in them,
 * and only a step that was open when the file ended is in none.
 */

enum { NODES = 8 };

static struct helper {
	pthread_t thread;
	sem_t go, done;
	bool ends;
} helper;

static void *help(void *argument)
{
	(void)argument;
	for (;;) {
		sem_wait(&helper.go);
		if (helper.ends)
			return NULL;
		for (int i = 0; i < NODES; i++)
			brick_end(brick_begin(BRICK_DOWN_PROJECTION));
		sem_post(&helper.done);
	}
}

static void begin_help(void)
{
	helper.ends = false;
	sem_init(&helper.go, 0, 0);
	sem_init(&helper.done, 0, 0);
	assert_int_equal(pthread_create(&helper.thread, NULL, help, NULL), 0);
}

static void end_help(void)
{
	helper.ends = true;
	sem_post(&helper.go);
	pthread_join(helper.thread, NULL);
}

static void have_help(void)
{
	sem_post(&helper.go);
	sem_wait(&helper.done);
}

static void steps_of_two(int count)
{
	for (int i = 0; i < count; i++) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		brick_end(brick_begin(BRICK_LM_HEAD));
		have_help();
		brick_end(step);
	}
}

static void look(struct fixture *f, uint32_t lane)
{
	drain_lanes(f->drain);
	assert_int_equal(encoder_consume(f->encoder, f->drain, lane), 0);
}

static void end_round(struct fixture *f)
{
	/* by the recording's clock: another one's time may be that of a later step */
	const struct sink_account account = {
		.end_ns = brick_clock_ns(brick_clock_get(), brick_ticks()), .exit_code = -1};

	assert_int_equal(encoder_flush(f->encoder, &account), 0);
}

/* Steps of the files that follow each other; in each both threads' nodes of all its steps. */
static uint64_t steps_in_files(struct fixture *f, const struct files *files)
{
	struct load_error error;
	struct run *run;
	char name[160];
	uint64_t steps = 0;

	for (unsigned i = 1; i <= files->ended + 1; i++) {
		name_file(files, i, name);
		if (i > files->ended)
			snprintf(name, sizeof name, "%s", f->trace);
		assert_int_equal(run_load(&run, name, &error), 0);
		assert_int_equal(run->bad_records, 0);
		assert_int_equal(run->open_samples, 0);
		assert_int_equal(samples_of(run, "LmHead"), samples_of(run, "Decode"));
		assert_int_equal(
			samples_of(run, "DownProjection"), NODES * samples_of(run, "Decode"));
		steps += samples_of(run, "Decode");
		run_destroy(run);
		if (i <= files->ended)
			assert_int_equal(unlink(name), 0);
	}
	return steps;
}

static void two_threads(struct fixture *f, bool backwards, bool cuts)
{
	enum { FILES = 6 };
	struct files files = {.f = f};
	const struct encoder_files calls = {&files, always_due, next_file, NULL};

	encoder_files_set(f->encoder, &calls);
	begin_help();
	steps_of_two(1);
	for (int i = 0; i < FILES; i++) {
		steps_of_two(3);
		look(f, backwards);
		steps_of_two(4);
		brick_span step = cuts ? brick_step_begin(BRICK_PHASE_DECODE, 1) : 0;
		if (cuts) {
			brick_end(brick_begin(BRICK_LM_HEAD));
			have_help();
		}
		look(f, !backwards);
		end_round(f);
		if (cuts)
			brick_end(step);
	}
	end_help();
	look(f, 0);
	look(f, 1);
	assert_int_equal(encoder_end(f->encoder, f->drain, DRAIN_END_CLOSED, brick_ticks()), 0);
	finish_encoder(f);
	assert_int_equal(encoder_error(f->encoder), 0);
	assert_int_equal(trace_writer_finish(f->writer), 0);
	f->writer = NULL;
	assert_int_equal(files.ended, FILES - 1); /* the last one goes on to the end */
	uint64_t made = 1 + FILES * (3 + 4 + cuts), kept = steps_in_files(f, &files);
	assert_int_equal(made - kept, cuts ? files.ended : 0);
}

static void threads_are_cut_at_one_time(void **state)
{
	for (int i = 0; i < 4; i++) {
		two_threads(*state, i & 1, i & 2);
		tear_down(state);
		set_up(state);
	}
}

static int slow_file(
	void *context, const struct file_ring *ring, uint64_t start_ns, struct trace_writer **out)
{
	const struct trace_writer_options options = {
		.path = ring->path, .ring = ring->id, .start_unix_ns = 1, .start_ns = start_ns};

	(void)context;
	return trace_writer_create(out, &options);
}

/*
 * A session ends while a file ends, for which one thread is behind: the seconds around a slow step
 * have what was held for the next file, too.
 */
static void a_slow_steps_file_has_what_a_border_holds(void **state)
{
	enum { BEHIND = 2, BEFORE = 3, HELD = 4, ALL = BEHIND + BEFORE + HELD };
	struct fixture *f = *state;
	struct files files = {.f = f};
	const struct encoder_files calls = {&files, always_due, next_file, NULL};
	struct exemplars_options slow = {
		.path = f->trace, .bytes = 64 << 20, .per_hour = 1, .open = slow_file};
	struct exemplars *exemplars;
	struct load_error error;
	char name[PATH_MAX];
	struct run *run;

	slow.slow.phase[BRICK_PHASE_DECODE].ns = 1;
	assert_int_equal(
		exemplars_create(&exemplars, &slow,
			brick_clock_ns(brick_clock_get(), brick_ticks()), name, sizeof name),
		0);
	encoder_files_set(f->encoder, &calls);
	encoder_exemplars_set(f->encoder, exemplars);
	begin_help();
	steps_of_two(BEHIND);
	look(f, 1);
	steps_of_two(BEFORE);
	look(f, 0);
	end_round(f);
	steps_of_two(HELD);
	look(f, 0);
	end_help();
	look(f, 1);
	assert_int_equal(encoder_end(f->encoder, f->drain, DRAIN_END_CLOSED, brick_ticks()), 0);
	finish_encoder(f);
	assert_int_equal(encoder_error(f->encoder), 0);
	assert_int_equal(files.ended, 0);
	assert_int_equal(exemplars_count(exemplars).kept, 1);
	assert_int_equal(exemplars_count(exemplars).failed, 0);
	exemplars_destroy(exemplars);
	assert_int_equal(trace_writer_finish(f->writer), 0);
	f->writer = NULL;
	assert_int_equal(steps_in_files(f, &files), ALL);
	assert_true(exemplars_name(f->trace, 0, name));
	assert_int_equal(run_load(&run, name, &error), 0);
	assert_int_equal(samples_of(run, "Decode"), ALL);
	assert_int_equal(samples_of(run, "LmHead"), ALL);
	assert_int_equal(samples_of(run, "DownProjection"), NODES * ALL);
	run_destroy(run);
	assert_int_equal(unlink(name), 0);
}

/* A file that is lost, and one that follows. */

struct losing {
	struct fixture *f;
	int lost, back; /* atomic */
};

static bool lost_due(void *context, uint64_t bytes, bool between)
{
	struct losing *l = context;

	(void)bytes;
	return between && __atomic_load_n(&l->lost, __ATOMIC_ACQUIRE) > l->back;
}

static int nowhere(void *context, const void *data, size_t bytes)
{
	(void)context;
	(void)data;
	(void)bytes;
	return 0;
}

static int lose_file(void *context, int error, struct trace_writer **writer)
{
	struct losing *l = context;
	struct trace_writer_options options = {
		.start_unix_ns = 1, .start_ns = 1, .output = nowhere};

	assert_int_equal(error, -ESTALE);
	trace_writer_leave(*writer);
	__atomic_add_fetch(&l->lost, 1, __ATOMIC_RELEASE);
	return trace_writer_create(writer, &options);
}

static int file_again(void *context, uint64_t ns, struct trace_writer **writer)
{
	struct losing *l = context;
	struct sink_mark mark = {.ns = 2, .kind = MARK_PART, .text = ""};
	struct trace_writer_options options = {
		.path = l->f->trace, .start_unix_ns = 1, .start_ns = 1};

	(void)ns;
	trace_writer_abandon(*writer);
	assert_int_equal(trace_writer_create(writer, &options), 0);
	__atomic_add_fetch(&l->back, 1, __ATOMIC_RELEASE);
	return sink_mark(*writer, &mark);
}

/* Sessions go on in the file that follows a lost one: nothing is broken in it, and statistics are
 * of all. */
static void a_lost_file_is_followed(void **state)
{
	struct fixture *f = *state;
	struct losing losing = {.f = f};
	const struct encoder_files calls = {&losing, lost_due, file_again, lose_file};
	struct load_error error;
	struct run *run;

	encoder_files_set(f->encoder, &calls);
	brick_span outer = brick_begin(BRICK_ATTENTION_OUTPUT);
	brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
	leaves(7);
	assert_int_equal(truncate(f->part, 0), 0);
	leaves(5);
	while (!__atomic_load_n(&losing.back, __ATOMIC_ACQUIRE)) {
		end_file(f);
		encoder_assist(f->encoder);
	}
	brick_end(step); /* it was cut */
	step = brick_step_begin(BRICK_PHASE_DECODE, 1);
	leaves(3);
	brick_end(step);
	brick_end(outer);
	produce_and_take(f, 0);
	assert_int_equal(encoder_end(f->encoder, f->drain, DRAIN_END_CLOSED, brick_ticks()), 0);
	finish_encoder(f);
	assert_int_equal(encoder_error(f->encoder), 0);
	assert_int_equal(trace_writer_finish(f->writer), 0);
	f->writer = NULL;
	assert_int_equal(losing.lost, 1);
	assert_int_equal(run_load(&run, f->trace, &error), 0);
	assert_true(run->complete);
	assert_int_equal(run->bad_records, 0);
	assert_int_equal(run->open_samples, 0);
	assert_int_equal(samples_of(run, "RmsNorm"), 3);
	assert_int_equal(samples_of(run, "AttentionOutput"), 1);
	run_destroy(run);
	assert_int_equal(run_load_totals(&run, f->trace, &error), 0);
	assert_int_equal(run->lanes[0].stats[run_brick_find(run, "RmsNorm")].count, 7 + 5 + 3);
	run_destroy(run);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(everything_arrives),
		TEST(a_starved_thread_is_helped),
		TEST(an_ended_session_is_not_known_again),
		TEST(files_follow_each_other),
		TEST(threads_are_cut_at_one_time),
		TEST(a_slow_steps_file_has_what_a_border_holds),
		TEST(a_lost_file_is_followed),
		TEST(an_error_is_final),
	};
	cpu_set_t one;

	int cpu = sched_getcpu();
	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
