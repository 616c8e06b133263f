/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: a run whose samples do not fit into the memory that they may have is the same as one
 * whose samples do: with steps that end long after they were spilled, with lanes that take turns,
 * without a file, and with a file that may not grow any more.
 */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include "bench/trace_demo.h"
#include "tests/unit/trace_same.h"
#include "tests/unit/trace_scene.h"

static struct run *load(const char *path, size_t sample_bytes)
{
	struct run *run = NULL;
	struct load_error error;

	assert_int_equal(run_load_within(&run, path, sample_bytes, &error), 0);
	return run;
}

static size_t spilled(const struct run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->lane_count; i++)
		count += run->lanes[i].spilled;
	return count;
}

static void check_same(const struct run *a, const struct run *b)
{
	const char *wrong = same_run(a, b);

	if (wrong)
		fail_msg("%s", wrong);
}

/* Loads it with and without memory for its samples. Returns how many were spilled. */
static size_t check_file(const char *path, size_t sample_bytes)
{
	struct run *all = load(path, SIZE_MAX), *some = load(path, sample_bytes);
	size_t count = spilled(some);

	assert_int_equal(spilled(all), 0);
	check_same(all, some);
	run_release(some);
	check_same(all, some);
	run_destroy(all);
	run_destroy(some);
	return count;
}

enum { INNER = 5000 };

/* One step of many bricks; what its end says is said when its begin has long been spilled. */
static uint64_t write_step(struct scene *s, uint64_t at)
{
	static struct brick_record records[INNER];
	const struct brick_record begin[] = {
		fake_at(BRICK_RECORD_OPEN, at, BRICK_PREFILL, 256),
		fake_at(BRICK_RECORD_OPEN, at + 1, BRICK_GRAPH_COMPUTE, 0),
	};

	write_records(s, begin, 2);
	for (uint32_t i = 0; i < INNER; i++)
		records[i] = fake_sample(at + 2 + i * 10, 7, BRICK_RMS_NORM, (int16_t)(i % 9));
	at += 2 + INNER * 10;
	write_records(s, records, INNER);
	struct brick_record close = fake_at(BRICK_RECORD_CLOSE, at, BRICK_GRAPH_COMPUTE, 77);
	struct brick_record last = fake_at(BRICK_RECORD_CLOSE, at + 30, BRICK_PREFILL, 300);
	close.flags = BRICK_FLAG_ELEMENTS;
	last.flags = BRICK_FLAG_ELEMENTS | BRICK_FLAG_CLAMPED;
	const struct brick_record end[] = {
		close,
		fake_at(BRICK_RECORD_WAIT, at, BRICK_BARRIER_WAIT, FAKE_TICKS * 20),
		last,
	};
	write_records(s, end, 3);
	return at + 100;
}

static void late_ends(void **state)
{
	struct scene s;
	uint64_t at = 10;
	(void)state;

	open_scene(&s, 1);
	for (int i = 0; i < 4; i++)
		at = write_step(&s, at);
	/* and one that never ends */
	const struct brick_record open = fake_at(BRICK_RECORD_OPEN, at, BRICK_PREFILL, 1);
	write_records(&s, &open, 1);
	write_step(&s, at + 1);
	assert_int_equal(sink_process_end(s.writer, 0, fake_ticks(at * 3), 0), 0);
	read_back(&s);
	assert_int_equal(s.run->step_count, 6);
	assert_int_equal(s.run->open_samples, 1);
	assert_true(s.run->steps[0].tokens == 300);
	check_sample(&s, 0, "Prefill", 10, 10 + 2 + INNER * 10 + 30, 0);
	assert_int_equal(sample_of(&s, 0)->flags, RUN_SAMPLE_CLAMPED);
	size_t all = s.run->lanes[0].sample_count;
	assert_in_range(check_file(s.path, 0), all - 2048, all);
	assert_in_range(check_file(s.path, 400000), 1, all);
	close_scene(&s);
}

/* Lanes by turns, so that their samples alternate in the file, and extents of all sizes. */
static void write_lanes(char *path, size_t size, uint64_t samples)
{
	static struct demo demo;
	struct demo_result result;

	snprintf(path, size, "trace-spill-%d.pftrace", (int)getpid());
	demo_init(&demo, 3);
	assert_int_equal(demo_write(&demo, path, 3, samples, 1, 1, &result), 0);
}

static void many_lanes(void **state)
{
	char path[64];
	(void)state;

	write_lanes(path, sizeof path, 300000);
	assert_in_range(check_file(path, 0), 290000, 300000 + DEMO_BATCH);
	assert_in_range(check_file(path, 1 << 20), 200000, 300000 + DEMO_BATCH);
	unlink(path);
}

/* Beyond it no file may grow; what would be written raises SIGXFSZ, which ends the program. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void no_space(void **state)
{
	char path[64];
	(void)state;

	write_lanes(path, sizeof path, 300000);
	limit_files(0);
	assert_int_equal(check_file(path, 0), 0);
	limit_files(5 << 20);
	assert_in_range(check_file(path, 0), 32768, 200000);
	limit_files(RLIM_INFINITY);
	unlink(path);
}

/* A directory that is none is passed over for one that is always there. */
static void no_directory(void **state)
{
	char path[64];
	(void)state;

	write_lanes(path, sizeof path, 50000);
	setenv("TMPDIR", "/nowhere", 1);
	assert_in_range(check_file(path, 0), 40000, 60000);
	setenv("TMPDIR", "", 1);
	assert_in_range(check_file(path, 0), 40000, 60000);
	unsetenv("TMPDIR");
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_ends),
		cmocka_unit_test(many_lanes),
		cmocka_unit_test(no_space),
		cmocka_unit_test(no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
