/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 16 000 names made at run time: each is counted exactly on each thread that uses it, whatever way
 * it is recorded in and whatever becomes of its records; a lane has memory for those alone that
 * were used on it; what is beyond the limit, or finds no memory, is refused and counted.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "drain_fixture.h"

enum { NAMES = 16000, THREADS = 3, ALIKE = 500 };

static uint32_t ids[NAMES];
static uint32_t every; /* of which names one is used */
static pthread_barrier_t all_done;

static const char *name_of(uint32_t i)
{
	static __thread char name[32];

	snprintf(name, sizeof name, "name %u", i);
	return name;
}

static int register_all(void **state)
{
	for (uint32_t i = 0; i < NAMES; i++) {
		int id = brick_register(name_of(i), BRICK_CATEGORY_FFN);
		if (id < 0)
			return -1;
		ids[i] = (uint32_t)id;
	}
	return 0;
}

static void names_are_found(void **state)
{
	for (uint32_t i = 0; i < NAMES; i++) {
		assert_string_equal(brick_name(ids[i]), name_of(i));
		assert_int_equal(brick_lookup(name_of(i)), ids[i]);
		assert_int_equal(brick_register(name_of(i), BRICK_CATEGORY_FFN), ids[i]);
		assert_int_equal(brick_category_of(ids[i]), BRICK_CATEGORY_FFN);
	}
	assert_int_equal(brick_count(), ids[0] + NAMES);
	assert_int_equal(brick_lookup("name 16000"), -ENOENT);
}

/* How often name i is recorded by a thread. */
static uint64_t times(uint32_t i)
{
	return 5 + (i % ALIKE == 0);
}

/* Each way that a name can be recorded in. */
static void record(uint32_t i)
{
	uint32_t brick = ids[i];
	brick_span span = brick_begin(brick);

	brick_end(span);
	span = brick_begin_layer(brick, 3);
	brick_end_work(span, 1, 2, 3);
	span = brick_begin(BRICK_LM_HEAD);
	brick_end(brick_lap(span, brick));
	brick_record_elapsed(brick, 1000, 1, 0);
	uint64_t begin = brick_ticks(), end = begin;
	while (end == begin) /* an end in the future would lie in the next sample */
		end = brick_ticks();
	brick_record_sample(
		&(struct brick_sample){.begin = begin, .end = end, .brick = brick, .layer = -1});
	if (i % ALIKE)
		return;
	span = brick_begin(brick); /* holds another one of its name */
	brick_end(brick_begin(BRICK_SAMPLING));
	brick_end(span);
}

/*
 * Threads use parts of the names that overlap: thread t those from t * 1000 on. None ends before
 * all are done, or the next one would have its lane, and a ring that is full.
 */
static void *use_names(void *argument)
{
	for (uint32_t i = 1000 * *(uint32_t *)argument; i < NAMES; i += every)
		record(i);
	pthread_barrier_wait(&all_done);
	return NULL;
}

static uint64_t expected(uint32_t i)
{
	uint32_t threads = i / 1000 + 1;

	return times(i) * (threads < THREADS ? threads : THREADS);
}

static void use_each(uint32_t nth)
{
	every = nth;
	pthread_t threads[THREADS];
	uint32_t numbers[THREADS];

	assert_int_equal(pthread_barrier_init(&all_done, NULL, THREADS), 0);
	for (uint32_t t = 0; t < THREADS; t++) {
		numbers[t] = t;
		assert_int_equal(pthread_create(&threads[t], NULL, use_names, &numbers[t]), 0);
	}
	for (uint32_t t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	pthread_barrier_destroy(&all_done);
}

static uint64_t count_of(uint32_t brick)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	return brick_stats_get(brick, &stats) ? 0 : stats.count;
}

/* Some of them: each call adds up all. */
static void assert_counts(void)
{
	static const uint32_t some[] = {0, 970, 1000, 1010, 2000, 7770, 15990};

	for (size_t i = 0; i < sizeof some / sizeof *some; i++)
		assert_int_equal(count_of(ids[some[i]]), expected(some[i]));
}

static void assert_nothing_lost(void)
{
	struct brick_losses losses = BRICK_LOSSES_INIT;

	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.unmatched + losses.dropped + losses.unsupported, 0);
}

/* Statistics, histograms, and, where none was dropped, samples. */
static void assert_run(struct run *run, bool is_whole)
{
	uint64_t *samples = calloc(run->brick_count, sizeof *samples);

	for (size_t l = 0; l < run->lane_count; l++)
		for (size_t i = 0; i < run->lanes[l].sample_count; i++)
			samples[run->sites[run->lanes[l].samples[i].site].brick]++;
	for (uint32_t i = 0; i < NAMES; i += every) {
		uint32_t brick = run_brick_find(run, name_of(i));
		uint64_t in_rows = 0;
		assert_int_not_equal(brick, RUN_NONE);
		assert_int_equal(counted(run, name_of(i)), expected(i));
		assert_non_null(run->histograms[brick]);
		for (uint32_t k = 0; k < BRICK_HISTOGRAM_BUCKETS; k++)
			in_rows += ticks_lengths_at(run->histograms[brick], k);
		assert_int_equal(in_rows, expected(i));
		if (is_whole) /* what was reported is none */
			assert_int_equal(samples[brick], expected(i) - expected(i) / times(i));
	}
	free(samples);
	run_destroy(run);
}

static void in_a_recording(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1 << 17);
	open_drain(f);
	use_each(1);
	assert_nothing_lost();
	assert_counts();
	emit_all(f, AT_ONCE);
	assert_counts();
	assert_run(finish(f, DRAIN_END_CLOSED), true);
}

/* Rings that are full at once: what they drop their owners count, and enter into histograms. */
static void in_full_rings(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	open_drain(f);
	use_each(10);
	assert_counts();
	emit_all(f, AT_ONCE);
	assert_run(finish(f, DRAIN_END_CLOSED), false);
}

/* Sessions of this test, in memory: they have hundreds of megabytes of histograms. */
static int set_up_in_memory(void **state)
{
	int error = set_up(state);
	struct fixture *f = *state;

	if (error)
		return error;
	rmdir(f->directory);
	strcpy(f->directory, "/dev/shm/brick-unit-XXXXXX");
	if (!mkdtemp(f->directory))
		return -1;
	snprintf(f->session, sizeof f->session, "%s/%d.session", f->directory, (int)getpid());
	snprintf(f->trace, sizeof f->trace, "%s/run.pftrace", f->directory);
	return 0;
}

/* No consumer: all is in the lanes. A later session begins with nothing. */
static void in_statistics(void **state)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(brick_session_start(NULL), 0);
		use_each(10);
		assert_nothing_lost();
		assert_counts();
		if (i) {
			struct brick_stats stats = BRICK_STATS_INIT;
			assert_int_equal(brick_stats_get(ids[7770], &stats), 0);
			assert_int_not_equal(stats.p50_ns, 0);
			assert_int_equal(brick_reset(), 0);
			assert_int_equal(count_of(ids[7770]), 0);
			assert_int_equal(count_of(ids[0]), 0);
		}
		assert_int_equal(brick_session_stop(), 0);
	}
}

/* Bytes of memory that the session has. */
static uint64_t memory_of(const struct fixture *f)
{
	struct stat st;

	assert_int_equal(fstat(f->fd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

/* A name costs a lane nothing that it is not used on, however many there are. */
static void memory_comes_with_use(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1 << 12);
	brick_end(brick_begin(BRICK_RMS_NORM));
	uint64_t before = memory_of(f);
	brick_end(brick_begin(ids[0]));
	assert_int_equal(memory_of(f), before);
	brick_end(brick_begin(ids[NAMES - 1]));
	brick_end(brick_begin(ids[NAMES - 2]));
	/* two arrays get as much as 64 of their rows take, in whole pages */
	assert_in_range(memory_of(f) - before, 1, 64 * (128 + 64) + 2 * 65536);
}

static uint64_t unmatched(void)
{
	struct brick_losses losses = BRICK_LOSSES_INIT;

	assert_int_equal(brick_losses_get(&losses), 0);
	return losses.unmatched;
}

/* Where the program's files may not grow, a histogram is missing, which is said. */
static void no_histogram(void **state)
{
	struct rlimit before, less;

	assert_int_equal(brick_session_start(NULL), 0);
	brick_end(brick_begin(ids[1]));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	less = before;
	less.rlim_cur = 1;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	brick_end(brick_begin(ids[5000]));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(count_of(ids[5000]), 1);
	assert_int_equal(unmatched(), 1);
	brick_end(brick_begin(ids[5000]));
	assert_int_equal(count_of(ids[5000]), 2);
	assert_int_equal(unmatched(), 1);
	assert_int_equal(brick_session_stop(), 0);
}

/* Where the file cannot be had any more, what has no rows is not counted, which is said. */
static void no_rows(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	brick_end(brick_begin(ids[1]));
	assert_int_equal(unlink(f->session), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(brick_begin(ids[9000]), 0);
	assert_int_equal(count_of(ids[9000]), 0);
	assert_int_equal(unmatched(), 10);
	brick_end(brick_begin(ids[1]));
	assert_int_equal(count_of(ids[1]), 2);
}

static void no_such_brick(void **state)
{
	struct fixture *f = *state;

	start_session(f, 1024);
	brick_end(brick_begin(ids[NAMES - 1]));
	assert_int_equal(brick_begin(brick_count() + BRICK_ROW_GROUP), 0);
	assert_int_equal(brick_begin(BRICK_MAX_BRICKS - 1), 0);
	assert_int_equal(brick_begin(BRICK_MAX_BRICKS), 0);
	assert_int_equal(brick_begin(BRICK_MAX_BRICKS + 1), 0);
	assert_int_equal(brick_begin(BRICK_NONE), 0);
	assert_int_equal(unmatched(), 5);
	assert_int_equal(count_of(ids[NAMES - 1]), 1);
	/* nor does it stand in the way of another one that has no rows yet */
	brick_end(brick_begin(ids[8000]));
	assert_int_equal(count_of(ids[8000]), 1);
	assert_int_equal(unmatched(), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found),
		cmocka_unit_test(in_statistics),
		cmocka_unit_test_setup_teardown(memory_comes_with_use, set_up_in_memory, tear_down),
		cmocka_unit_test(no_histogram),
		cmocka_unit_test_setup_teardown(no_rows, set_up_in_memory, tear_down),
		cmocka_unit_test_setup_teardown(no_such_brick, set_up_in_memory, tear_down),
		cmocka_unit_test_setup_teardown(in_a_recording, set_up_in_memory, tear_down),
		cmocka_unit_test_setup_teardown(in_full_rings, set_up_in_memory, tear_down),
	};
	return cmocka_run_group_tests(tests, register_all, NULL);
}
