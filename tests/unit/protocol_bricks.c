/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the falsification protocols F101 to F110 (docs/PROTOCOLS.md), by number. Those that
 * `brick selftest` times are held here to an order of magnitude only.
 */
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "lib/backends/null/null_device.h"
#include "brick/brick.h"
#include "brick/device.h"
#include "brick/queue.h"
#include "tests/unit/peek.h"
#include "trace/load.h"

static const struct {
	const char *name, *category;
} well_known[BRICK_WELL_KNOWN_COUNT] = {
	{"RmsNorm", "Norm"},
	{"LayerNorm", "Norm"},
	{"QkvProjection", "Attention"},
	{"RopeEmbedding", "Attention"},
	{"AttentionScore", "Attention"},
	{"AttentionSoftmax", "Attention"},
	{"AttentionOutput", "Attention"},
	{"OutputProjection", "Attention"},
	{"GateProjection", "FFN"},
	{"UpProjection", "FFN"},
	{"Activation", "FFN"},
	{"DownProjection", "FFN"},
	{"Embedding", "Other"},
	{"LmHead", "Other"},
	{"Sampling", "Other"},
	{"SpMV", "Sparse"},
	{"SpMM", "Sparse"},
	{"FormatConvert", "Sparse"},
	{"FFT1D", "FFT"},
	{"FFT2D", "FFT"},
	{"LUFactorize", "Solver"},
	{"QRFactorize", "Solver"},
	{"SVDCompute", "Solver"},
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void f101_ids(void **state)
{
	for (int i = 0; i < BRICK_WELL_KNOWN_COUNT; i++) {
		assert_string_equal(brick_name(i), well_known[i].name);
		assert_int_equal(brick_lookup(well_known[i].name), i);
	}
	assert_true(brick_count() >= BRICK_WELL_KNOWN_COUNT);
	assert_int_equal(BRICK_RMS_NORM, 0);
	assert_int_equal(BRICK_SAMPLING, 14);
	assert_int_equal(BRICK_SVD_COMPUTE, 22);
}

static void f102_categories(void **state)
{
	static const char *const order[] = {
		"Norm", "Attention", "FFN", "Other", "Sparse", "FFT", "Solver"};

	for (int i = 0; i < 7; i++)
		assert_string_equal(brick_category_name(i), order[i]);
	for (int i = 0; i < BRICK_WELL_KNOWN_COUNT; i++)
		assert_string_equal(
			brick_category_name(brick_category_of(i)), well_known[i].category);
}

/*
 * Deferred: what was recorded stays where it is, and all of it, until somebody comes for it; and
 * three launches that one synchronisation ends are not each as long as until there.
 */
static void f103_deferred_accumulates(void **state)
{
	struct peek p = {0};
	uint64_t first = 0; /* the lane's own record of its thread, and ours */

	peek_start(&p, 1024);
	for (uint64_t i = 0; i < 100; i++) {
		brick_end(brick_begin(BRICK_ACTIVATION));
		if (i % 33 == 0) {
			peek_map(&p);
			first = i ? first : peek_lane(&p, 0)->head;
			assert_int_equal(peek_lane(&p, 0)->head, first + i);
			assert_int_equal(peek_lane(&p, 0)->tail, 0);
			munmap(p.base, p.bytes);
		}
	}
	peek_map(&p);
	peek_stop(&p);
}

/* T said 870 us of these: each of its launches lasted until the synchronisation. */
static void f103_launches_keep_their_own_times(void **state)
{
	struct brick_backend_options options = {.size = sizeof options};
	struct brick_null *sim;
	struct brick_device *device;
	struct brick_stats stats = BRICK_STATS_INIT;

	assert_int_equal(brick_null_create(&sim, NULL), 0);
	options.native[0] = sim;
	assert_int_equal(brick_session_start(NULL), 0);
	assert_int_equal(
		brick_device_open(&device, brick_backend_find("null"), &options, NULL, 0), 0);
	for (int i = 0; i < 3; i++) {
		brick_device_span span = brick_device_begin(device, NULL, BRICK_LM_HEAD, -1);
		brick_null_submit(sim, NULL, 10000);
		brick_device_end(device, NULL, span, 0, 0, 0);
	}
	nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
	assert_int_equal(brick_device_finish(device), 3);
	assert_int_equal(brick_device_stats_get(BRICK_LM_HEAD, &stats), 0);
	assert_int_equal(stats.count, 3);
	/* and what the host took from a begin to its launch */
	assert_in_range(stats.total_ns, 29900, 290000);
	brick_device_close(device);
	assert_int_equal(brick_session_stop(), 0);
	brick_null_destroy(sim);
}

/* Finishing takes everything, once. */
static void f104_finish_clears(void **state)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	struct load_error error;
	struct run *run;
	char path[64];

	snprintf(path, sizeof path, "brick-f104-%d.pftrace", (int)getpid());
	options.output = path;
	assert_int_equal(brick_session_start(&options), 0);
	for (int i = 0; i < 1000; i++)
		brick_end(brick_begin(BRICK_ACTIVATION));
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(brick_session_stop(), -ENOENT);
	assert_int_equal(run_load(&run, path, &error), 0);
	size_t samples = 0;
	for (size_t i = 0; i < run->lane_count; i++)
		samples += run->lanes[i].sample_count;
	assert_int_equal(samples, 1000);
	run_destroy(run);
	/* and nothing of it is in the next session */
	assert_int_equal(brick_session_start(&options), 0);
	struct brick_stats stats = BRICK_STATS_INIT;
	assert_int_equal(brick_stats_get(BRICK_ACTIVATION, &stats), BRICK_ENOTRECORDED);
	brick_end(brick_begin(BRICK_ACTIVATION));
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(run_load(&run, path, &error), 0);
	samples = 0;
	for (size_t i = 0; i < run->lane_count; i++)
		samples += run->lanes[i].sample_count;
	assert_int_equal(samples, 1);
	run_destroy(run);
	unlink(path);
}

static uint32_t brick_used;

static double fastest_pair_ns(void)
{
	double best = INFINITY;

	for (int round = 0; round < 40; round++) {
		uint64_t begin = now_ns();
		for (int i = 0; i < 2000; i++)
			brick_end(brick_begin(brick_used));
		best = fmin(best, (double)(now_ns() - begin) / 2000);
	}
	return best;
}

/* Off: nothing is begun, nothing counted; and a quarter of the time at most. */
static void f105_off(void **state)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	assert_false(brick_enabled());
	assert_int_equal(brick_begin(BRICK_RMS_NORM), 0);
	assert_int_equal(brick_stats_get(BRICK_RMS_NORM, &stats), -ENOENT);
	brick_used = BRICK_RMS_NORM;
	double off = fastest_pair_ns();
	assert_int_equal(brick_session_start(NULL), 0);
	double on = fastest_pair_ns();
	assert_int_equal(brick_session_stop(), 0);
	print_message("a pair: %.2f ns off, %.2f ns on\n", off, on);
	assert_true(off * 4 < on);
}

static void f106_lookup_is_constant(void **state)
{
	char name[32];
	int last = 0;

	for (int i = 0; i < 900; i++) {
		snprintf(name, sizeof name, "Protocol%d", i);
		last = brick_register(name, BRICK_CATEGORY_OTHER);
		assert_true(last >= BRICK_FIRST_DYNAMIC);
	}
	assert_int_equal(brick_session_start(NULL), 0);
	brick_used = BRICK_RMS_NORM;
	double first = fastest_pair_ns();
	brick_used = (uint32_t)last;
	double dynamic = fastest_pair_ns();
	assert_int_equal(brick_session_stop(), 0);
	print_message("a pair: %.2f ns for brick 0, %.2f ns for brick %d\n", first, dynamic, last);
	assert_true(dynamic < 3 * first);
}

enum { THREADS = 8, EACH = 20000 };
static pthread_barrier_t together;

static void *work(void *argument)
{
	uint32_t own = BRICK_GATE_PROJECTION + (uint32_t)(uintptr_t)argument % 2;

	pthread_barrier_wait(&together);
	for (int i = 0; i < EACH; i++) {
		brick_span outer = brick_begin(BRICK_DOWN_PROJECTION);
		brick_end_work(brick_begin(own), 1, 2, 3);
		brick_end(outer);
	}
	return NULL;
}

static void f107_threads(void **state)
{
	pthread_t threads[THREADS];
	struct brick_stats stats = BRICK_STATS_INIT;

	pthread_barrier_init(&together, NULL, THREADS);
	assert_int_equal(brick_session_start(NULL), 0);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int brick = BRICK_GATE_PROJECTION; brick <= BRICK_UP_PROJECTION; brick++) {
		assert_int_equal(brick_stats_get(brick, &stats), 0);
		assert_int_equal(stats.count, THREADS / 2 * EACH);
		assert_int_equal(stats.elements, THREADS / 2 * EACH);
		assert_int_equal(stats.bytes, 2 * THREADS / 2 * EACH);
		assert_int_equal(stats.flops, 3 * THREADS / 2 * EACH);
	}
	assert_int_equal(brick_stats_get(BRICK_DOWN_PROJECTION, &stats), 0);
	assert_int_equal(stats.count, THREADS * EACH);
	assert_int_equal(brick_session_stop(), 0);
	pthread_barrier_destroy(&together);
}

/* Calls of our own code; the linker leads them here. */
static uint64_t allocations;
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	__atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
	return __real_realloc(old, bytes);
}

static void f108_handle(void **state)
{
	assert_true(sizeof(brick_span) <= 32);
	assert_int_equal(brick_session_start(NULL), 0);
	assert_true(allocations > 0); /* they do come here */
	brick_end(brick_begin(BRICK_RMS_NORM));
	uint64_t allocated = allocations;
	struct mallinfo2 before = mallinfo2();
	for (int i = 0; i < 100000; i++) {
		brick_span outer = brick_begin_layer(BRICK_RMS_NORM, i % 40);
		brick_end_work(brick_begin((uint32_t)(i % 30)), 1, 2, 3);
		brick_end(outer);
	}
	struct mallinfo2 after = mallinfo2();
	assert_int_equal(allocations, allocated);
	assert_int_equal(after.uordblks, before.uordblks);
	assert_int_equal(after.hblks, before.hblks);
	assert_int_equal(brick_session_stop(), 0);
}

static void f109_clock(void **state)
{
	uint64_t last = brick_ticks();

	for (int i = 0; i < 1000000; i++) {
		uint64_t now = brick_ticks();
		assert_true(now >= last);
		last = now;
	}
}

static void spin(uint64_t ns)
{
	uint64_t begin = now_ns();

	while (now_ns() - begin < ns)
		;
}

/* Own times, over all categories: the time of what holds them, nested bricks once. */
static void f110_categories_sum(void **state)
{
	struct brick_stats stats = BRICK_STATS_INIT, whole = BRICK_STATS_INIT;
	uint64_t self = 0, count = 0;
	double share = 0;

	assert_int_equal(brick_session_start(NULL), 0);
	for (int i = 0; i < 50; i++) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		brick_span ffn = brick_begin(BRICK_GATE_PROJECTION);
		spin(20000);
		brick_span norm = brick_begin(BRICK_RMS_NORM);
		spin(10000);
		brick_end(norm);
		brick_end(ffn);
		brick_span attention = brick_begin(BRICK_ATTENTION_SCORE);
		spin(5000);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(f101_ids),
		cmocka_unit_test(f102_categories),
		cmocka_unit_test(f103_deferred_accumulates),
		cmocka_unit_test(f103_launches_keep_their_own_times),
		cmocka_unit_test(f104_finish_clears),
		cmocka_unit_test(f105_off),
		cmocka_unit_test(f106_lookup_is_constant),
		cmocka_unit_test(f107_threads),
		cmocka_unit_test(f108_handle),
		cmocka_unit_test(f109_clock),
		cmocka_unit_test(f110_categories_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
