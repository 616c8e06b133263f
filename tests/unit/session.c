/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions: threads that come and go, fork, statistics by API against what was really done, reset,
 * notes, options of other sizes, no memory left behind.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "tests/unit/peek.h"
#include "trace/load.h"

static void *one_brick(void *argument)
{
	brick_thread_name(argument);
	for (int i = 0; i < 100; i++)
		brick_end(brick_begin(2));
	return NULL;
}

/* F144: none of what a thread did is lost with it. */
static void threads_reuse_lanes(void **state)
{
	struct peek p = {0};
	struct brick_stats stats = BRICK_STATS_INIT;

	peek_start(&p, 1024);
	for (int i = 0; i < 50; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, one_brick, "short-lived");
		pthread_join(thread, NULL);
	}
	assert_int_equal(brick_stats_get(2, &stats), 0);
	assert_int_equal(stats.count, 5000);
	peek_map(&p);
	assert_int_equal(peek_header(&p)->lane_count, 1);
	struct brick_lane *lane = peek_lane(&p, 0);
	assert_int_equal(lane->owners, 50);
	assert_int_equal(lane->state, BRICK_LANE_FREE);
	assert_string_equal(lane->name, "short-lived");
	peek_stop(&p);
}

static pthread_barrier_t together;

static void *busy(void *argument)
{
	pthread_barrier_wait(&together);
	for (int i = 0; i < 20000; i++) {
		brick_span outer = brick_begin(1);
		brick_end_work(brick_begin(2), 3, 4, 5);
		brick_end(outer);
	}
	return NULL;
}

/* F107: safe from many threads; counts are exact. */
static void many_threads(void **state)
{
	enum { THREADS = 8 };
	pthread_t threads[THREADS];
	struct brick_stats stats = BRICK_STATS_INIT;

	pthread_barrier_init(&together, NULL, THREADS);
	assert_int_equal(brick_session_start(NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, busy, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(brick_stats_get(2, &stats), 0);
	assert_int_equal(stats.count, THREADS * 20000);
	assert_int_equal(stats.elements, THREADS * 20000 * 3);
	assert_int_equal(stats.bytes, THREADS * 20000 * 4);
	assert_int_equal(stats.flops, THREADS * 20000 * 5);
	assert_true(stats.min_ns <= stats.p50_ns && stats.p50_ns <= stats.p95_ns);
	assert_true(stats.p95_ns <= stats.p99_ns);
	assert_true(stats.p99_ns * 99 / 100 <= stats.max_ns);
	struct brick_stats outer = BRICK_STATS_INIT, norm = BRICK_STATS_INIT;
	assert_int_equal(brick_stats_get(1, &outer), 0);
	assert_true(outer.self_ns <= outer.total_ns - stats.total_ns + 1000);
	assert_int_equal(brick_category_stats_get(BRICK_CATEGORY_NORM, &norm), 0);
	assert_int_equal(norm.count, outer.count);
	assert_int_equal(brick_session_stop(), 0);
	pthread_barrier_destroy(&together);
}

static void *outlives_session(void *argument)
{
	brick_span span = brick_begin(1);
	pthread_barrier_wait(&together); /* the session is stopped now ... */
	pthread_barrier_wait(&together);
	brick_end(span); /* ... and this must do no harm */
	brick_end(brick_begin(2));
	return NULL;
}

static void stop_while_inside(void **state)
{
	pthread_t thread;

	pthread_barrier_init(&together, NULL, 2);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(brick_session_start(NULL), 0);
		pthread_create(&thread, NULL, outlives_session, NULL);
		pthread_barrier_wait(&together);
		assert_int_equal(brick_session_stop(), 0);
		pthread_barrier_wait(&together);
		pthread_join(thread, NULL);
	}
	pthread_barrier_destroy(&together);
}

/* The child's bricks are not its parent's. */
static void fork_leaves_parent_alone(void **state)
{
	struct peek p = {0};
	int status;

	peek_start(&p, 1024);
	brick_end(brick_begin(1));
	brick_span open = brick_begin(3);
	pid_t child = fork();
	if (!child) {
		brick_end(open);
		for (int i = 0; i < 100; i++)
			brick_end(brick_begin(1));
		struct brick_stats stats = BRICK_STATS_INIT;
		_exit(brick_stats_get(1, &stats) == -ENOENT && !brick_enabled() ? 0 : 1);
	}
	waitpid(child, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 0);
	brick_end(open);
	peek_map(&p);
	assert_int_equal(peek_lane(&p, 0)->stats[1].count, 1);
	assert_int_equal(peek_lane(&p, 0)->stats[3].count, 1);
	peek_stop(&p);
}

static void reset_sets_all_back(void **state)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	assert_int_equal(brick_reset(), -ENOENT);
	assert_int_equal(brick_session_start(NULL), 0);
	brick_end_elements(brick_begin(1), 5);
	brick_end(99);
	brick_span open = brick_begin(2);
	assert_int_equal(brick_reset(), -EBUSY);
	brick_end(open);
	assert_int_equal(brick_reset(), 0);
	assert_int_equal(brick_stats_get(1, &stats), BRICK_ENOTRECORDED);
	struct brick_losses losses = BRICK_LOSSES_INIT;
	assert_int_equal(brick_losses_get(&losses), 0);
	assert_int_equal(losses.unmatched, 0);
	brick_end(brick_begin(1));
	assert_int_equal(brick_stats_get(1, &stats), 0);
	assert_int_equal(stats.count, 1);
	assert_int_equal(stats.elements, 0);
	assert_int_equal(brick_session_stop(), 0);
}

static void elapsed_is_exact(void **state)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	assert_int_equal(brick_session_start(NULL), 0);
	for (uint64_t i = 1; i <= 1000; i++)
		brick_record_elapsed(4, i * 1000, 1, 8);
	assert_int_equal(brick_stats_get(4, &stats), 0);
	assert_int_equal(stats.count, 1000);
	assert_int_equal(stats.bytes, 8000);
	assert_in_range(stats.total_ns, 500500000 - 2000, 500500000);
	assert_in_range(stats.p50_ns, 500000 * 99 / 100, 502000 * 101 / 100);
	assert_in_range(stats.p99_ns, 990000 * 99 / 100, 992000 * 101 / 100);
	assert_in_range(stats.max_ns, 999998, 1000000);
	assert_true(stats.stddev_ns > 288675 * 0.98 && stats.stddev_ns < 288675 * 1.02);
	assert_int_equal(brick_session_stop(), 0);
}

static void few_have_few_percentiles(void **state)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	assert_int_equal(brick_session_start(NULL), 0);
	for (uint64_t i = 1; i <= 100; i++) {
		brick_record_elapsed(4, i * 1001, 0, 0);
		assert_int_equal(brick_stats_get(4, &stats), 0);
		assert_true(stats.p50_ns >= stats.min_ns && stats.p50_ns <= stats.max_ns);
		assert_in_range(stats.p50_ns, (i + 1) / 2 * 990, (i + 1) / 2 * 1012);
		assert_int_equal(stats.p95_ns != 0, i >= 20);
		assert_int_equal(stats.p99_ns != 0, i >= 100);
		assert_true(stats.p95_ns <= stats.max_ns);
	}
	assert_in_range(stats.p95_ns, 95 * 990, 95 * 1012);
	assert_in_range(stats.p99_ns, 99 * 990, 99 * 1012);
	assert_int_equal(brick_session_stop(), 0);
}

static void spin_ticks(uint64_t ticks)
{
	uint64_t end = brick_ticks() + ticks;

	while (brick_ticks() < end)
		;
}

/* F110: own times, over all categories: the time of what holds them, nested bricks once. */
static void categories_add_up(void **state)
{
	struct brick_stats stats = BRICK_STATS_INIT, whole = BRICK_STATS_INIT;
	uint64_t self = 0, count = 0;
	double share = 0;

	assert_int_equal(brick_session_start(NULL), 0);
	for (int i = 0; i < 50; i++) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		brick_span ffn = brick_begin(BRICK_GATE_PROJECTION);
		spin_ticks(20000);
		brick_span norm = brick_begin(BRICK_RMS_NORM);
		spin_ticks(10000);
		brick_end(norm);
		brick_end(ffn);
		brick_span attention = brick_begin(BRICK_ATTENTION_SCORE);
		spin_ticks(5000);
		brick_end(attention);
		brick_end(step);
	}
	for (uint32_t i = 0; i < brick_category_count(); i++)
		if (!brick_category_stats_get(i, &stats)) {
			self += stats.self_ns;
			count += stats.count;
			share += stats.share;
		}
	assert_int_equal(brick_stats_get(BRICK_DECODE, &whole), 0);
	assert_int_equal(count, 50 * 4);
	assert_true(fabs(share - 1) < 1e-9);
	/* each of the sums may have lost a ns when it was turned from ticks */
	assert_true(self <= whole.total_ns + 10 && self + 10 >= whole.total_ns);
	assert_int_equal(brick_category_stats_get(BRICK_CATEGORY_FFN, &stats), 0);
	assert_int_equal(stats.total_ns, stats.self_ns);
	/* an average is of whole executions, with what they held */
	assert_int_equal(brick_stats_get(BRICK_GATE_PROJECTION, &whole), 0);
	assert_int_equal(stats.count, 50);
	assert_true(fabs(stats.mean_ns * 50 - (double)whole.total_ns) < 50);
	assert_int_equal(brick_session_stop(), 0);
}

static size_t samples_of(const char *path)
{
	struct load_error error;
	struct run *run;
	size_t samples = 0;

	assert_int_equal(run_load(&run, path, &error), 0);
	for (size_t i = 0; i < run->lane_count; i++)
		samples += run->lanes[i].sample_count;
	run_destroy(run);
	return samples;
}

/* F104: finishing takes everything, once; nothing of it is in the next session. */
static void finishing_takes_everything_once(void **state)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	struct brick_stats stats = BRICK_STATS_INIT;
	char path[] = "/tmp/brick-session-XXXXXX";

	close(mkstemp(path));
	options.output = path;
	for (size_t count = 1000; count; count /= 1000) {
		assert_int_equal(brick_session_start(&options), 0);
		assert_int_equal(brick_stats_get(BRICK_ACTIVATION, &stats), BRICK_ENOTRECORDED);
		for (size_t i = 0; i < count; i++)
			brick_end(brick_begin(BRICK_ACTIVATION));
		assert_int_equal(brick_session_stop(), 0);
		assert_int_equal(brick_session_stop(), -ENOENT);
		assert_int_equal(samples_of(path), count);
	}
	unlink(path);
}

/* With a writer the histogram is the consumer's: asking for statistics makes it drain first. */
static void percentiles_while_writing(void **state)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	char path[] = "/tmp/brick-session-XXXXXX";
	struct brick_stats stats = BRICK_STATS_INIT;

	close(mkstemp(path));
	options.output = path;
	assert_int_equal(brick_session_start(&options), 0);
	for (int round = 1; round <= 3; round++) {
		for (int i = 0; i < 1000; i++)
			brick_end(brick_begin(5));
		assert_int_equal(brick_stats_get(5, &stats), 0);
		assert_int_equal(stats.count, 1000 * round);
		assert_true(stats.p50_ns >= stats.min_ns * 99 / 100 && stats.p50_ns > 0);
	}
	assert_int_equal(brick_reset(), 0);
	brick_record_elapsed(5, 1, 0, 0); /* or a percentile could be no shorter than the others */
	for (int i = 0; i < 2; i++)
		brick_record_elapsed(5, 1000000, 0, 0);
	assert_int_equal(brick_stats_get(5, &stats), 0);
	assert_in_range(stats.p50_ns, 990000, 1010000); /* nothing of before is left */
	assert_int_equal(brick_session_stop(), 0);
	unlink(path);
}

static void start_and_stop(void **state)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	assert_int_equal(brick_session_stop(), -ENOENT);
	options.directory = "/nowhere/at/all";
	assert_int_equal(brick_session_start(&options), -ENOENT);
	options.directory = NULL;
	options.size = 1 << 20;
	assert_int_equal(brick_session_start(&options), -EINVAL);
	options.size = sizeof options;
	options.mode = BRICK_MODE_NONE;
	assert_int_equal(brick_session_start(&options), 0);
	assert_int_equal(brick_begin(1), 0);
	assert_int_equal(brick_session_start(NULL), -EALREADY);
	assert_int_equal(brick_session_stop(), 0);
	/* what leaks leaks in few of them, too; valgrind takes a quarter of a second for each */
	for (int i = getenv("BRICK_VALGRIND") ? 190 : 0; i < 200; i++) {
		assert_int_equal(brick_session_start(NULL), 0);
		brick_end(brick_begin(1));
		assert_int_equal(brick_session_stop(), 0);
	}
}

static void notes(void **state)
{
	struct peek p = {0};

	assert_int_equal(brick_note("k", "v"), -ENOENT);
	assert_int_equal(brick_zero_copy_set(1), -ENOENT);
	peek_start(&p, 1024);
	assert_int_equal(brick_note("attach", "ggml %d\nhooks", 5), 0);
	assert_int_equal(brick_l2_hit_rate_set(1.01), -EINVAL);
	assert_int_equal(brick_l2_hit_rate_set(-0.01), -EINVAL);
	assert_int_equal(brick_l2_hit_rate_set(NAN), -EINVAL);
	assert_int_equal(brick_l2_hit_rate_set(0.25), 0);
	assert_int_equal(brick_zero_copy_set(5), 0);
	int error = 0;
	for (int i = 0; i < 1000 && !error; i++)
		error = brick_note("filler", "%0100d", i);
	assert_int_equal(error, BRICK_EFULL);
	peek_map(&p);
	struct brick_session_header *h = peek_header(&p);
	assert_true(h->notes_bytes <= BRICK_NOTES_BYTES);
	static const char first[] = "attach=ggml 5 hooks\nl2.hit_rate=0.25\nzero_copy=yes\n";
	assert_memory_equal(p.base + h->notes_offset, first, sizeof(first) - 1);
	assert_int_equal(p.base[h->notes_offset + h->notes_bytes - 1], '\n');
	assert_int_equal(h->ledger.table_full, 1);
	peek_stop(&p);
}

static uint64_t count_of(uint32_t brick)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	return brick_stats_get(brick, &stats) ? 0 : stats.count;
}

static void pause_and_resume(void **state)
{
	assert_int_equal(brick_session_start(NULL), 0);
	brick_end(brick_begin(BRICK_RMS_NORM));
	brick_pause();
	assert_false(brick_enabled());
	brick_end(brick_begin(BRICK_RMS_NORM));
	assert_int_equal(count_of(BRICK_RMS_NORM), 1);
	brick_resume();
	brick_end(brick_begin(BRICK_RMS_NORM));
	assert_int_equal(count_of(BRICK_RMS_NORM), 2);
	brick_pause();
	assert_int_equal(brick_mode_set(BRICK_MODE_NONE), 0);
	brick_resume(); /* it ends the pause, and the mode still records nothing */
	assert_false(brick_enabled());
	assert_int_equal(brick_mode_set(BRICK_MODE_DEFERRED), 0);
	brick_end(brick_begin(BRICK_RMS_NORM));
	assert_int_equal(count_of(BRICK_RMS_NORM), 3);
	assert_int_equal(brick_session_stop(), 0);
}

/* What the kernel says of the CPU. Valgrind's has no AVX-512, whatever the machine's has. */
static void isa_is_the_kernels(void **state)
{
	static const char *const flags[][2] = {
		{"avx512", " avx512vl "}, {"avx2", " avx2 "}, {"sse4.2", " sse4_2 "}};
	const char *isa = brick_cpu_isa(), *best = NULL;
	static char text[16384];
	FILE *in = fopen("/proc/cpuinfo", "re");

	assert_non_null(in);
	text[fread(text, 1, sizeof(text) - 1, in)] = 0;
	fclose(in);
	for (size_t i = 0; i < 3 && !best; i++)
		best = strstr(text, flags[i][1]) ? flags[i][0] : NULL;
	if (best && !getenv("BRICK_VALGRIND"))
		assert_string_equal(isa, best);
	assert_true(*isa != 0);
}

static void errno_is_kept(void **state)
{
	errno = 77;
	assert_int_equal(brick_session_start(NULL), 0);
	brick_end(brick_begin(1));
	struct brick_site site = {.size = sizeof(struct brick_site), .brick = 1};
	brick_site_register(&site);
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(errno, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_reuse_lanes),
		cmocka_unit_test(many_threads),
		cmocka_unit_test(stop_while_inside),
		cmocka_unit_test(fork_leaves_parent_alone),
		cmocka_unit_test(reset_sets_all_back),
		cmocka_unit_test(elapsed_is_exact),
		cmocka_unit_test(few_have_few_percentiles),
		cmocka_unit_test(categories_add_up),
		cmocka_unit_test(finishing_takes_everything_once),
		cmocka_unit_test(percentiles_while_writing),
		cmocka_unit_test(start_and_stop),
		cmocka_unit_test(notes),
		cmocka_unit_test(pause_and_resume),
		cmocka_unit_test(isa_is_the_kernels),
		cmocka_unit_test(errno_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
