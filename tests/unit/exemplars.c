/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which moments get a file of their own, by a clock that the test makes: steps slower than a limit,
 * or than the p99 of their own phase; requests past their budget; so many in an hour. In a week of
 * hours, bytes in memory and on disk stay as they are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <pthread.h>
#include <sys/stat.h>
#include "lib/keep/exemplars.h"
#include "lib/keep/file_ring.h"
#include "tests/unit/drain_fixture.h"

#define MS 1000000ull
#define SECOND (1000 * MS)
#define HOUR (3600 * SECOND)

struct kept {
	struct fixture *f;
	struct exemplars *exemplars;
	uint64_t from_ticks, passed_ns; /* the test's time */
};

static uint64_t now_ticks(const struct kept *k)
{
	double per_ns = (double)brick_clock_get()->frequency / 1e9;

	return k->from_ticks + (uint64_t)((double)k->passed_ns * per_ns);
}

static uint64_t now_ns(const struct kept *k)
{
	return brick_clock_ns(brick_clock_get(), now_ticks(k));
}

static int open_file(
	void *context, const struct file_ring *ring, uint64_t start_ns, struct trace_writer **out)
{
	struct trace_writer_options o = {
		.path = ring->path, .ring = ring->id, .start_unix_ns = 1, .start_ns = start_ns};

	(void)context;
	return trace_writer_create(out, &o);
}

static void begin(struct kept *k, struct fixture *f, struct exemplars_options *options)
{
	char wrong[256];

	start_session(f, 4096);
	leaves(BRICK_SAMPLING, 1); /* the lane */
	open_drain(f);
	emit_all(f, AT_ONCE);
	*k = (struct kept){.f = f, .from_ticks = brick_ticks()};
	options->path = f->trace;
	options->bytes = options->bytes ? options->bytes : 64 << 20;
	options->open = open_file;
	options->context = k;
	assert_int_equal(
		exemplars_create(&k->exemplars, options, now_ns(k), wrong, sizeof wrong), 0);
}

static void emit_of(struct kept *k, uint32_t lane, const struct brick_record *records, size_t count)
{
	struct fixture *f = k->f;

	assert_int_equal(
		exemplars_records(k->exemplars, brick_clock_get(), f->drain, lane, records, count),
		0);
	assert_int_equal(drain_emit(f->drain, f->writer, lane, records, count), 0);
}

static void emit(struct kept *k, const struct brick_record *records, size_t count)
{
	emit_of(k, 0, records, count);
}

/* A step of that phase, so long, and a millisecond after it. */
static void step(struct kept *k, uint16_t brick, uint64_t ns)
{
	struct brick_record records[3] = {
		{.kind = BRICK_RECORD_OPEN, .brick = brick, .elements = 1, .layer = -1},
		{.kind = BRICK_RECORD_SAMPLE, .brick = BRICK_LM_HEAD, .ticks = 10, .layer = -1},
		{.kind = BRICK_RECORD_CLOSE, .brick = brick, .layer = -1}};

	records[0].begin = records[1].begin = now_ticks(k);
	k->passed_ns += ns;
	records[2].begin = now_ticks(k);
	emit(k, records, 3);
	k->passed_ns += MS;
}

/* A round of the recorder, and what is due after it. */
static void end_round(struct kept *k)
{
	const struct sink_account account = {.end_ns = now_ns(k), .exit_code = -1};

	k->passed_ns += SECOND;
	exemplars_round(k->exemplars, &account);
	while (exemplars_step(k->exemplars, false))
		;
}

/* The seconds after a moment go by. */
static uint64_t files(struct kept *k)
{
	for (int i = 0; i < 4; i++)
		end_round(k);
	return exemplars_count(k->exemplars).kept;
}

/* Bytes of all files; they are removed if so wanted. */
static uint64_t disk_bytes(const struct kept *k, bool remove)
{
	char name[PATH_MAX];
	struct stat info;
	uint64_t bytes = 0;

	for (unsigned i = 0; i <= FILE_RING_EARLIER && exemplars_name(k->f->trace, i, name); i++) {
		bytes += stat(name, &info) ? 0 : (uint64_t)info.st_size;
		if (remove)
			unlink(name);
	}
	return bytes;
}

static void end(struct kept *k)
{
	exemplars_destroy(k->exemplars);
	disk_bytes(k, true);
}

static void each_phase_has_its_own_p99(void **state)
{
	struct exemplars_options o = {.per_hour = 1000};
	struct kept k;

	o.slow.phase[BRICK_PHASE_DECODE].is_tail = o.slow.phase[BRICK_PHASE_PREFILL].is_tail = true;
	begin(&k, *state, &o);
	step(&k, BRICK_DECODE, 900 * MS); /* nothing to hold it against yet */
	for (int i = 0; i < 3 * SLOW_TAIL_STEPS; i++) {
		step(&k, BRICK_DECODE, 10 * MS);
		step(&k, BRICK_PREFILL, 200 * MS);
	}
	assert_int_equal(files(&k), 0);
	step(&k, BRICK_PREFILL, 210 * MS); /* long for decoding, and within twice the median */
	step(&k, BRICK_DECODE, 19 * MS);   /* the same */
	assert_int_equal(files(&k), 0);
	step(&k, BRICK_DECODE, 30 * MS); /* short for a prompt */
	assert_int_equal(files(&k), 1);
	step(&k, BRICK_PREFILL, 500 * MS);
	assert_int_equal(files(&k), 2);
	step(&k, BRICK_WARM_UP, 5 * SECOND); /* nobody asked for it */
	assert_int_equal(files(&k), 2);
	end(&k);
}

/* What a session that ends does last is emitted after it was forgotten, and can be in no file. */
static void an_ended_session_has_none(void **state)
{
	struct exemplars_options o = {.per_hour = 1000};
	struct kept k;

	o.slow.phase[BRICK_PHASE_DECODE].ns = 50 * MS;
	o.slow.phase[BRICK_PHASE_DECODE].is_tail = true;
	begin(&k, *state, &o);
	step(&k, BRICK_DECODE, 10 * MS);
	struct brick_record records[] = {
		{.kind = BRICK_RECORD_OPEN, .brick = BRICK_DECODE, .elements = 1, .layer = -1},
		{.kind = BRICK_RECORD_CLOSE, .brick = BRICK_DECODE, .layer = -1}};
	records[0].begin = now_ticks(&k);
	k.passed_ns += SECOND;
	records[1].begin = now_ticks(&k);
	exemplars_forget(k.exemplars, k.f->drain);
	assert_int_equal(drain_emit(k.f->drain, k.f->writer, 0, records, 2), 0);
	assert_int_equal(files(&k), 0);
	end(&k);
}

static void an_hour_has_so_many_files(void **state)
{
	struct exemplars_options o = {.per_hour = 2};
	struct kept k;

	o.slow.phase[BRICK_PHASE_DECODE].ns = 50 * MS;
	begin(&k, *state, &o);
	for (int i = 0; i < 5; i++) {
		step(&k, BRICK_DECODE, 60 * MS);
		files(&k);
	}
	assert_int_equal(exemplars_count(k.exemplars).kept, 2);
	assert_int_equal(exemplars_count(k.exemplars).left, 3);
	k.passed_ns += HOUR;
	step(&k, BRICK_DECODE, 60 * MS);
	step(&k, BRICK_DECODE, 70 * MS); /* the same file has it */
	assert_int_equal(files(&k), 3);
	assert_int_equal(exemplars_count(k.exemplars).left, 3);
	end(&k);
}

/* Others collect the files, and put files of their own there. */
static void a_file_that_is_gone_is_no_loss(void **state)
{
	struct exemplars_options o = {.per_hour = 1000};
	char name[PATH_MAX], away[PATH_MAX + 8];
	struct stat info;
	struct kept k;

	o.slow.phase[BRICK_PHASE_DECODE].ns = 50 * MS;
	begin(&k, *state, &o);
	assert_true(exemplars_name(k.f->trace, 0, name));
	step(&k, BRICK_DECODE, 60 * MS);
	assert_int_equal(files(&k), 1);
	assert_int_equal(unlink(name), 0);
	for (uint64_t i = 2; i < 4; i++) {
		step(&k, BRICK_DECODE, 60 * MS);
		assert_int_equal(files(&k), i);
	}
	snprintf(away, sizeof(away), "%s.away", name);
	assert_int_equal(rename(name, away), 0);
	FILE *foreign = fopen(name, "w");
	assert_non_null(foreign);
	fclose(foreign);
	step(&k, BRICK_DECODE, 60 * MS);
	assert_int_equal(files(&k), 3);
	assert_int_equal(exemplars_count(k.exemplars).error, -EEXIST);
	assert_true(!stat(name, &info) && !info.st_size);
	unlink(away);
	end(&k);
}

static void a_step_beyond_no_limit_has_none(void **state)
{
	struct exemplars_options o = {.per_hour = 1000};
	struct kept k;

	o.slow.phase[BRICK_PHASE_DECODE].ns = 50 * MS;
	begin(&k, *state, &o);
	step(&k, BRICK_DECODE, 49 * MS);
	step(&k, BRICK_PREFILL, 10 * SECOND);
	assert_int_equal(files(&k), 0);
	end(&k);
}

/* Tokens of a sequence: of a prompt, or made. */
static void tokens(struct kept *k, int32_t sequence, uint32_t prompt)
{
	struct brick_sequence_record event = {.begin = now_ticks(k),
		.kind = BRICK_RECORD_SEQUENCE,
		.event = BRICK_SEQUENCE_TOKENS,
		.sequence = sequence,
		.tokens = 1,
		.prompt = prompt};
	struct brick_record record;

	memcpy(&record, &event, sizeof record);
	emit(k, &record, 1);
	k->passed_ns += 100 * MS;
}

/* Last tokens of a request are read behind the begin of the next, which another thread says. */
static void tokens_of_the_request_before_are_not_late(void **state)
{
	struct exemplars_options o = {.per_hour = 1000, .slow.request_ns = 2 * SECOND};
	struct brick_sequence_record event = {
		.kind = BRICK_RECORD_SEQUENCE, .event = BRICK_SEQUENCE_BEGIN, .sequence = 7};
	struct brick_record record;
	struct kept k;

	begin(&k, *state, &o);
	tokens(&k, 7, 1);
	k.passed_ns += 50 * MS;
	event.begin = now_ticks(&k);
	memcpy(&record, &event, sizeof record);
	emit(&k, &record, 1);
	k.passed_ns -= 50 * MS;
	tokens(&k, 7, 0);
	for (int i = 0; i < 15; i++)
		tokens(&k, 7, i == 0);
	assert_int_equal(files(&k), 0);
	for (int i = 0; i < 10; i++)
		tokens(&k, 7, 0);
	assert_int_equal(files(&k), 1);
	end(&k);
}

static void a_request_past_its_budget_has_one(void **state)
{
	struct exemplars_options o = {.per_hour = 1000, .slow.request_ns = 2 * SECOND};
	struct load_error error;
	char name[PATH_MAX];
	struct kept k;
	struct run *run;

	begin(&k, *state, &o);
	for (int request = 0; request < 3; request++)
		for (int i = 0; i < 15; i++) /* 1.5 s each, one behind the other */
			tokens(&k, 7, i == 0);
	assert_int_equal(files(&k), 0);
	k.passed_ns += SECOND;
	for (int i = 0; i < 30; i++) {
		tokens(&k, 8, i == 0);
		if (i % 10 == 0)
			tokens(&k, 100 + i, 1); /* short ones beside it */
	}
	assert_int_equal(files(&k), 1); /* told once */
	assert_true(exemplars_name(k.f->trace, 0, name));
	assert_int_equal(run_load(&run, name, &error), 0);
	unsigned found = 0;
	for (size_t i = 0; i < run->mark_count; i++)
		if (run->marks[i].kind == MARK_EXEMPLAR) {
			assert_string_equal(run->marks[i].text, "slow request");
			found++;
		}
	assert_int_equal(found, 1);
	run_destroy(run);
	end(&k);
}

static size_t memory_bytes(void)
{
	struct mallinfo2 now = mallinfo2();

	return now.uordblks + now.hblkhd;
}

static void a_week_takes_no_more_than_a_day(void **state)
{
	enum { HOURS = 7 * 24, FIRST = 24, BYTES = 200000 };
	struct exemplars_options o = {.per_hour = 3, .bytes = BYTES};
	struct kept k;
	size_t memory = 0;

	o.slow.phase[BRICK_PHASE_DECODE].ns = 50 * MS;
	begin(&k, *state, &o);
	for (int hour = 0; hour < HOURS; hour++) {
		for (int i = 0; i < 5; i++) {
			for (int n = 0; n < 100; n++)
				step(&k, BRICK_DECODE, 10 * MS);
			step(&k, BRICK_DECODE, 60 * MS);
			files(&k);
			k.passed_ns += HOUR / 5;
		}
		assert_true(disk_bytes(&k, false) <= BYTES + BYTES / 8);
		if (hour == FIRST)
			memory = memory_bytes();
	}
	/* its own files of the recording take some more each, and none does for long */
	assert_true(memory_bytes() <= memory + memory / 20);
	assert_in_range(exemplars_count(k.exemplars).kept, 2 * HOURS, 3 * (HOURS + 1));
	assert_true(exemplars_count(k.exemplars).left > 0);
	assert_int_equal(exemplars_count(k.exemplars).failed, 0);
	end(&k);
}

/*
 * Two threads compute each step, and the recorder looks at one of them when the other is some steps
 * further, now at this one first and now at that. The file has whole steps of both.
 */

enum { NODES = 8, SLOW_STEP = 157 };

static void *leave_a_lane(void *argument)
{
	(void)argument;
	leaves(BRICK_SAMPLING, 1);
	return NULL;
}

static void step_of(struct kept *k, uint32_t lane, unsigned number)
{
	uint64_t ns = (uint64_t)number * 100 * MS, took = number == SLOW_STEP ? 60 * MS : 10 * MS;
	struct brick_record step[3] = {
		{.kind = BRICK_RECORD_OPEN, .brick = BRICK_DECODE, .elements = 1, .layer = -1},
		{.kind = BRICK_RECORD_SAMPLE, .brick = BRICK_LM_HEAD, .ticks = 10, .layer = -1},
		{.kind = BRICK_RECORD_CLOSE, .brick = BRICK_DECODE, .layer = -1}};

	if (!lane) {
		k->passed_ns = ns;
		step[0].begin = step[1].begin = now_ticks(k);
		k->passed_ns = ns + took;
		step[2].begin = now_ticks(k);
		emit_of(k, lane, step, 3);
		return;
	}
	for (int i = 0; i < NODES; i++) {
		k->passed_ns = ns + (uint64_t)(i + 1) * MS;
		emit_of(k, lane,
			&(struct brick_record){.kind = BRICK_RECORD_SAMPLE,
				.brick = BRICK_DOWN_PROJECTION,
				.begin = now_ticks(k),
				.ticks = 10,
				.layer = -1},
			1);
	}
}

static void steps_are_whole_on_both_threads(void **state)
{
	enum { EACH = 10, ROUNDS = 24, AHEAD = 3 };
	struct exemplars_options o = {.per_hour = 1};
	unsigned done[2] = {0, 0};
	struct load_error error;
	char name[PATH_MAX];
	pthread_t thread;
	struct kept k;
	struct run *run;

	o.slow.phase[BRICK_PHASE_DECODE].ns = 50 * MS;
	begin(&k, *state, &o);
	assert_int_equal(pthread_create(&thread, NULL, leave_a_lane, NULL), 0);
	pthread_join(thread, NULL);
	emit_all(k.f, AT_ONCE);
	k.from_ticks = brick_ticks();
	for (unsigned round = 0; round < ROUNDS && !exemplars_count(k.exemplars).kept; round++) {
		uint32_t first = round & 1;
		for (; done[first] < EACH * (round + 1); done[first]++)
			step_of(&k, first, done[first]);
		for (; done[!first] < EACH * (round + 1) + AHEAD; done[!first]++)
			step_of(&k, !first, done[!first]);
		k.passed_ns = (uint64_t)(EACH * (round + 1) + AHEAD) * 100 * MS - MS;
		end_round(&k);
	}
	assert_int_equal(exemplars_count(k.exemplars).kept, 1);
	assert_true(exemplars_name(k.f->trace, 0, name));
	assert_int_equal(run_load(&run, name, &error), 0);
	assert_int_equal(run->bad_records, 0);
	assert_int_equal(run->open_samples, 0);
	assert_in_range(samples_of(run, "Decode"), 100, 140);
	assert_int_equal(samples_of(run, "LmHead"), samples_of(run, "Decode"));
	assert_int_equal(samples_of(run, "DownProjection"), NODES * samples_of(run, "Decode"));
	run_destroy(run);
	end(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_phase_has_its_own_p99),
		TEST(an_hour_has_so_many_files),
		TEST(a_step_beyond_no_limit_has_none),
		TEST(a_file_that_is_gone_is_no_loss),
		TEST(an_ended_session_has_none),
		TEST(a_request_past_its_budget_has_one),
		TEST(tokens_of_the_request_before_are_not_late),
		TEST(a_week_takes_no_more_than_a_day),
		TEST(steps_are_whole_on_both_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
