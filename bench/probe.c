/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hot path costs, as ratios to two back-to-back readings of the counter, all in one run:
 * begin+end with statistics and ring event, with statistics only, and switched off; around an empty
 * loop, a throughput-bound and a latency-bound body; on 1 and 2 pinned threads. Rounds are
 * interleaved and shuffled; the bench prints medians. Nobody reads the ring of "event", so that is
 * the cost of begin and end themselves. A "lap" is an end and the next begin with one reading of
 * the counter; "inline" and "local" are compiled into the loop (BRICK_INLINE), the latter with its
 * begin in registers. For "recorded", the library's consumer reads the ring every 5 ms and writes a
 * file, on the same CPUs.
 */
#define BRICK_INLINE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "brick/brick.h"
#include "lib/sys/ticks.h"

enum { PAIRS = 20000, ROUNDS = 41, BODIES = 3, THREADS = 2 };

enum variant { PLAIN, FLOOR, OFF, STATS, EVENT, LAP, INLINE, LOCAL, RECORDED, VARIANTS };
static const char *const variant_names[VARIANTS] = {"body alone", "two TSC reads", "off",
	"statistics", "statistics + event", "lap", "inline", "local", "recorded"};
static const char *const body_names[BODIES] = {"empty", "throughput-bound", "latency-bound"};

struct numbers {
	float a[64];
	uint64_t chain;
};

/* Independent multiply-adds. */
static inline void body_throughput(struct numbers *n)
{
	float sum[8] = {0};
	for (int i = 0; i < 64; i += 8)
		for (int k = 0; k < 8; k++)
			sum[k] += n->a[i + k] * 1.0001f;
	for (int k = 0; k < 8; k++)
		n->a[k] = sum[k];
	__asm__ __volatile__("" : : "r"(n) : "memory");
}

/* Multiplications that wait for each other. */
static inline void body_latency(struct numbers *n)
{
	uint64_t x = n->chain;
	for (int i = 0; i < 32; i++) {
		x = x * 6364136223846793005ull + 1;
		__asm__ __volatile__("" : "+r"(x));
	}
	n->chain = x;
}

static inline void body(int which, struct numbers *n)
{
	if (which == 1)
		body_throughput(n);
	else if (which == 2)
		body_latency(n);
	else
		__asm__ __volatile__("" : : : "memory");
}

/* As in programs without BRICK_INLINE. */
static inline brick_span library_begin(uint32_t brick)
{
	return BRICK_UNLIKELY(brick_enabled()) ? brick__begin(brick) : 0;
}

static inline void library_end(brick_span span)
{
	if (BRICK_UNLIKELY(span))
		brick__end(span);
}

#define LOOP(before, after)               \
	for (int i = 0; i < PAIRS; i++) { \
		before;                   \
		body(which, n);           \
		after;                    \
	}

/* One specialised loop for each body, so that choosing it costs nothing inside. */
static inline __attribute__((always_inline)) double time_body(
	enum variant v, const int which, struct numbers *n)
{
	volatile uint64_t sink;
	brick_span lap = v == LAP ? brick_begin(BRICK_RMS_NORM) : 0;
	uint64_t begin = brick__monotonic_ns();

	switch (v) {
	case PLAIN:
		LOOP((void)0, (void)0);
		break;
	case FLOOR:
		LOOP(uint64_t t = brick__counter(), sink = brick__counter() - t);
		break;
	case LAP:
		LOOP((void)0, lap = brick_lap(lap, BRICK_RMS_NORM));
		break;
	case INLINE:
		LOOP(brick_span s = brick_begin(BRICK_RMS_NORM), brick_end(s));
		break;
	case LOCAL:
		LOOP(struct brick_local s = brick_local_begin(BRICK_RMS_NORM), brick_local_end(s));
		break;
	default:
		LOOP(brick_span s = library_begin(BRICK_RMS_NORM), library_end(s));
	}
	(void)sink;
	double ns = (double)(brick__monotonic_ns() - begin) / PAIRS;
	brick_end(lap);
	return ns;
}

static __attribute__((noinline)) double time_loop(enum variant v, int which, struct numbers *n)
{
	if (which == 1)
		return time_body(v, 1, n);
	if (which == 2)
		return time_body(v, 2, n);
	return time_body(v, 0, n);
}

static double results[THREADS][VARIANTS][BODIES][ROUNDS];
static pthread_barrier_t barrier;
static int active_threads;

static void pin(int cpu)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
}

struct job {
	int index, round, which;
	enum variant variant;
};

static void *run_job(void *argument)
{
	struct job *job = argument;
	struct numbers numbers = {.chain = 1};

	pin(job->index);
	for (int i = 0; i < 64; i++)
		numbers.a[i] = 1;
	time_loop(job->variant, job->which, &numbers); /* warm up, and get a lane */
	pthread_barrier_wait(&barrier);
	results[job->index][job->variant][job->which][job->round] =
		time_loop(job->variant, job->which, &numbers);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static char room[] = "/dev/shm/brick-bench-XXXXXX", recording[64];

/* A session of the variant's kind, with a ring that holds all that one loop records. */
static void prepare(enum variant v)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	if (v >= EVENT) {
		options.directory = room;
		options.ring_records = 1 << 16;
	}
	if (v == RECORDED) {
		options.output = recording;
		options.interval_ms = 5;
	}
	if (v >= STATS)
		if (brick_session_start(&options) < 0)
			exit(4);
}

static void finish(enum variant v)
{
	char path[64];

	if (v < STATS)
		return;
	struct brick_losses losses = BRICK_LOSSES_INIT;
	if (!brick_losses_get(&losses) && losses.dropped)
		printf("  (%llu dropped)\n", (unsigned long long)losses.dropped);
	brick_session_stop();
	snprintf(path, sizeof path, "%s/%d.session", room, (int)getpid());
	remove(path);
}

static void run_round(int round, enum variant v, int which)
{
	pthread_t threads[THREADS];
	struct job jobs[THREADS];

	prepare(v);
	pthread_barrier_init(&barrier, NULL, (unsigned)active_threads);
	for (int i = 0; i < active_threads; i++) {
		jobs[i] = (struct job){i, round, which, v};
		pthread_create(&threads[i], NULL, run_job, &jobs[i]);
	}
	for (int i = 0; i < active_threads; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	finish(v);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(int thread, enum variant v, int which)
{
	double sorted[ROUNDS];
	memcpy(sorted, results[thread][v][which], sizeof sorted);
	qsort(sorted, ROUNDS, sizeof *sorted, by_value);
	return sorted[ROUNDS / 2];
}

static void run_all(void)
{
	enum { ALL = VARIANTS * BODIES };
	unsigned seed = 1, order[ALL];

	for (unsigned k = 0; k < ALL; k++)
		order[k] = k;
	for (int round = 0; round < ROUNDS; round++) {
		for (unsigned k = ALL - 1; k > 0; k--) {
			unsigned other = (unsigned)rand_r(&seed) % (k + 1), kept = order[k];
			order[k] = order[other];
			order[other] = kept;
		}
		for (unsigned k = 0; k < ALL; k++)
			run_round(round, order[k] % VARIANTS, (int)(order[k] / VARIANTS));
	}
}

static void print_table(void)
{
	for (int thread = 0; thread < active_threads; thread++) {
		double floor = median(thread, FLOOR, 0) - median(thread, PLAIN, 0);
		printf("%d thread%s, thread %d; floor = two TSC reads = %.1f ns\n", active_threads,
			active_threads > 1 ? "s" : "", thread, floor);
		for (int which = 0; which < BODIES; which++) {
			double alone = median(thread, PLAIN, which);
			printf("  %-17s body %5.1f ns;", body_names[which], alone);
			for (int v = FLOOR; v < VARIANTS; v++) {
				double cost = median(thread, v, which) - alone;
				printf("  %s %+.1f ns (%.2f)", variant_names[v], cost,
					cost / floor);
			}
			printf("\n");
		}
	}
}

int main(void)
{
	brick_clock_get();
	if (!mkdtemp(room))
		return 4;
	snprintf(recording, sizeof recording, "%s/bench.pftrace", room);
	for (active_threads = 1; active_threads <= THREADS; active_threads++) {
		run_all();
		print_table();
	}
	remove(recording);
	remove(room);
	return 0;
}
