/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks of known length, for tests that compare what Brick reports with what was really done.
 * Every thread spins on the OS clock for planned times, in leaf bricks of 2 us to 50 ms and in a
 * nest, and reads that clock just outside and just inside of each brick: the true length lies
 * between the two. Prints one JSON object: per brick its count and the bounds of its total time.
 *
 *   program-truth [THREADS [OUTPUT]]      with OUTPUT it records itself, as an embedding program
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "brick/brick.h"

enum { LEAVES = 6, BRICKS = LEAVES + 2, OUTER = LEAVES, INNER = LEAVES + 1 };

static const struct {
	const char *name;
	uint64_t length_ns;
	int repeats;
} plan[BRICKS] = {
	{"spin-2us", 2000, 2000},
	{"spin-10us", 10000, 800},
	{"spin-50us", 50000, 200},
	{"spin-500us", 500000, 40},
	{"spin-5ms", 5000000, 8},
	{"spin-50ms", 50000000, 2},
	{"nest-outer", 300000, 50},
	{"nest-inner", 100000, 100},
};

struct truth {
	uint64_t count, low_ns, high_ns;
	uint64_t self_low_ns, self_high_ns; /* of OUTER: less its inner bricks */
};

static int ids[BRICKS];
static struct truth truths[16][BRICKS];
static pthread_barrier_t start;

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void spin(uint64_t ns)
{
	uint64_t end = now() + ns;
	while (now() < end)
		;
}

/* The four readings around one execution. */
struct bounds {
	uint64_t outside_begin, inside_begin, inside_end, outside_end;
};

static void add(struct truth *t, const struct bounds *b)
{
	t->count++;
	t->low_ns += b->inside_end - b->inside_begin;
	t->high_ns += b->outside_end - b->outside_begin;
}

static void run_leaf(struct truth *truth, int which)
{
	struct bounds b;

	b.outside_begin = now();
	brick_span span = brick_begin_layer((uint32_t)ids[which], which);
	b.inside_begin = now();
	spin(plan[which].length_ns);
	b.inside_end = now();
	brick_end_elements(span, 10);
	b.outside_end = now();
	add(&truth[which], &b);
}

/* Outer spins, holds two inner bricks, and spins again. */
static void run_nest(struct truth *truth)
{
	struct bounds b;
	struct truth inner = truth[INNER];

	b.outside_begin = now();
	brick_span span = brick_begin((uint32_t)ids[OUTER]);
	b.inside_begin = now();
	spin(50000);
	run_leaf(truth, INNER);
	run_leaf(truth, INNER);
	spin(50000);
	b.inside_end = now();
	brick_end(span);
	b.outside_end = now();
	add(&truth[OUTER], &b);
	truth[OUTER].self_low_ns +=
		b.inside_end - b.inside_begin - (truth[INNER].high_ns - inner.high_ns);
	truth[OUTER].self_high_ns +=
		b.outside_end - b.outside_begin - (truth[INNER].low_ns - inner.low_ns);
}

static void *run(void *argument)
{
	struct truth *truth = argument;

	pthread_barrier_wait(&start);
	for (int which = 0; which < LEAVES; which++)
		for (int i = 0; i < plan[which].repeats; i++)
			run_leaf(truth, which);
	for (int i = 0; i < plan[OUTER].repeats; i++)
		run_nest(truth);
	return NULL;
}

static void print(int threads, uint64_t wall_ns)
{
	printf("{\"threads\": %d, \"wall_ns\": %llu, \"bricks\": {", threads,
		(unsigned long long)wall_ns);
	for (int i = 0; i < BRICKS; i++) {
		struct truth sum = {0};
		for (int k = 0; k < threads; k++) {
			const struct truth *t = &truths[k][i];
			sum.count += t->count;
			sum.low_ns += t->low_ns;
			sum.high_ns += t->high_ns;
			sum.self_low_ns += i == OUTER ? t->self_low_ns : t->low_ns;
			sum.self_high_ns += i == OUTER ? t->self_high_ns : t->high_ns;
		}
		printf("%s\"%s\": {\"count\": %llu, \"low_ns\": %llu, \"high_ns\": %llu, "
		       "\"self_low_ns\": %llu, \"self_high_ns\": %llu}",
			i ? ", " : "", plan[i].name, (unsigned long long)sum.count,
			(unsigned long long)sum.low_ns, (unsigned long long)sum.high_ns,
			(unsigned long long)sum.self_low_ns, (unsigned long long)sum.self_high_ns);
	}
	printf("}}\n");
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t handles[16];
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	if (threads < 1 || threads > 16)
		return 2;
	options.output = argc > 2 ? argv[2] : NULL;
	int error = options.output ? brick_session_start(&options) : 0;
	if (error < 0)
		return fprintf(stderr, "truth: %s\n", brick_strerror(error)), 1;
	for (int i = 0; i < BRICKS; i++)
		ids[i] = brick_register(plan[i].name, BRICK_CATEGORY_OTHER);
	pthread_barrier_init(&start, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		pthread_create(&handles[i], NULL, run, truths[i]);
	uint64_t begin = now();
	pthread_barrier_wait(&start);
	for (int i = 0; i < threads; i++)
		pthread_join(handles[i], NULL);
	print(threads, now() - begin);
	error = options.output ? brick_session_stop() : 0;
	return error < 0 ? fprintf(stderr, "truth: %s\n", brick_strerror(error)), 1 : 0;
}
