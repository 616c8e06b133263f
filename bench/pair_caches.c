/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a begin/end pair after 0 to 256 MB of other data, against the interval that reports
 * state for pairs that lie as far apart. It times single pairs between fences, after data that were
 * read or written, all sizes in turns in one process, on 1 and on 2 pinned threads at the same
 * time. usage: bench-pair_caches [ROUNDS]
 */
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "brick/brick.h"
#include "lib/sys/ticks.h"

enum { SIZES = 8, MAX_ROUNDS = 1000, THREADS = 2, BATCH = 64, PREEMPTED_NS = 20000 };
enum { READ, WRITE, WAYS };
static const size_t kilobytes[SIZES] = {
	0, 32, 1 << 10, 2 << 10, 8 << 10, 32 << 10, 64 << 10, 256 << 10};
static const char *const way_names[WAYS] = {"read", "written"};

struct times {
	uint64_t pair[MAX_ROUNDS], between[MAX_ROUNDS];
};

static struct job {
	int cpu, rounds;
	char *bytes;
	struct times times[WAYS][SIZES];
} jobs[THREADS];

static pthread_barrier_t barrier;

/* The program's own counter: the library's choice is not visible from here. */
static uint64_t ticks(void)
{
	brick__counter_order();
	uint64_t now = brick__counter();
	brick__counter_order();
	return now;
}

static __attribute__((noinline)) uint64_t time_pair(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	uint64_t begin = ticks();
	brick_end(brick_begin(BRICK_RMS_NORM));
	uint64_t end = ticks(), none = ticks() - end;
	return end - begin > none ? end - begin - none : 0;
}

/* With nothing between: a mean, as one is shorter than the counter may tell. */
static uint64_t time_batch(void)
{
	uint64_t begin = ticks();
	for (int i = 0; i < BATCH; i++)
		brick_end(brick_begin(BRICK_RMS_NORM));
	return (ticks() - begin + BATCH / 2) / BATCH;
}

static void go_through(char *bytes, size_t n, int way, int value)
{
	uint64_t sum = 0;

	if (way == WRITE)
		memset(bytes, value, n);
	else
		for (size_t i = 0; i < n; i += 64)
			sum += *(volatile uint64_t *)(bytes + i);
	__asm__ volatile("" : : "r"(bytes), "r"(sum) : "memory");
}

static void run_one(struct job *job, int round, int way, int size)
{
	struct times *t = &job->times[way][size];
	uint64_t begin = ticks();

	go_through(job->bytes, kilobytes[size] << 10, way, round);
	t->between[round] = kilobytes[size] ? ticks() - begin : 0;
	t->pair[round] = kilobytes[size] ? time_pair() : time_batch();
}

static void *run_job(void *argument)
{
	struct job *job = argument;
	unsigned seed = (unsigned)job->cpu + 1;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(job->cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
	time_batch();
	for (int round = 0; round < job->rounds; round++) {
		pthread_barrier_wait(&barrier);
		unsigned first = (unsigned)rand_r(&seed);
		for (unsigned k = 0; k < SIZES * WAYS; k++) {
			unsigned which = (first + k * 5) % (SIZES * WAYS); /* 5 and 16 */
			run_one(job, round, (int)(which % WAYS), (int)(which / WAYS));
		}
	}
	return NULL;
}

static char room[] = "/dev/shm/brick-bench-XXXXXX", session[64];

static void start(struct brick_session_header *header)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	options.directory = room;
	options.ring_records = 1 << 18;
	if (!mkdtemp(room) || brick_session_start(&options) < 0)
		exit(4);
	snprintf(session, sizeof session, "%s/%d.session", room, (int)getpid());
	int fd = open(session, O_RDONLY);
	if (fd < 0 || read(fd, header, sizeof *header) != (ssize_t)sizeof *header)
		exit(4);
	close(fd);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Of those up to `most`. */
static double mean(const uint64_t *values, int n, double most)
{
	double sum = 0;
	int kept = 0;
	for (int i = 0; i < n; i++)
		if ((double)values[i] <= most) {
			sum += (double)values[i];
			kept++;
		}
	return kept ? sum / kept : 0;
}

static double quantile(uint64_t *values, int n, int percent)
{
	qsort(values, (size_t)n, sizeof *values, by_value);
	return (double)values[(n - 1) * percent / 100];
}

/* Pairs that were preempted are in no mean: what else ran then is no cost of theirs. */
static void print_row(struct times *t, int rounds, const struct brick_session_header *h)
{
	double ns = 1e9 / (double)h->clock.frequency, cost = ns / 256;
	double between = mean(t->between, rounds, INFINITY) * ns;
	double high = 2 * (double)h->pair_cost * cost +
		      h->pair_cost_streamed * cost / (h->pair_stream_ticks * ns) * between;

	printf("%12.1f %8.0f %6.0f %8.0f   %.1f .. %.0f\n", between / 1e3,
		quantile(t->pair, rounds, 50) * ns, quantile(t->pair, rounds, 95) * ns,
		mean(t->pair, rounds, PREEMPTED_NS / ns) * ns, (double)h->pair_cost_low * cost,
		fmin(high, h->pair_cost_cold * cost));
}

static void print_job(struct job *job, const struct brick_session_header *h)
{
	printf("  behind               takes, us   median   95 %%     mean   stated, ns\n");
	for (int way = 0; way < WAYS; way++)
		for (int size = 0; size < SIZES; size++) {
			printf("  %6zu KB %-8s ", kilobytes[size], way_names[way]);
			print_row(&job->times[way][size], job->rounds, h);
		}
}

static void run(int threads, int rounds, const struct brick_session_header *header)
{
	pthread_t ids[THREADS];

	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		jobs[i].cpu = i;
		jobs[i].rounds = rounds;
		pthread_create(&ids[i], NULL, run_job, &jobs[i]);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	for (int i = 0; i < threads; i++) {
		printf("%d thread%s, thread %d\n", threads, threads > 1 ? "s" : "", i);
		print_job(&jobs[i], header);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 101;
	size_t most = kilobytes[SIZES - 1] << 10;
	struct brick_session_header h;

	if (rounds < 1 || rounds > MAX_ROUNDS)
		return 2;
	for (int i = 0; i < THREADS; i++) {
		jobs[i].bytes = mmap(
			NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (jobs[i].bytes == MAP_FAILED)
			return 4;
		memset(jobs[i].bytes, 1, most);
	}
	start(&h);
	double cost = 1e9 / (double)h.clock.frequency / 256;
	printf("timed at the start: %.1f (lower quartile %.1f) warm, %.1f and alone %.1f behind 2 "
	       "MB "
	       "(%.0f us), at most %.0f cold, ns\n",
		(double)h.pair_cost * cost, (double)h.pair_cost_low * cost,
		(double)h.pair_cost_high * cost, h.pair_cost_streamed * cost,
		h.pair_stream_ticks * cost * 256 / 1e3, h.pair_cost_cold * cost);
	for (int threads = 1; threads <= THREADS; threads++)
		run(threads, rounds, &h);
	brick_session_stop();
	remove(session);
	remove(room);
	return 0;
}
