/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine of two threads and three barriers in which any brick can really be made shorter or
 * longer, to see whether what `brick path` says of another length is what happens. Bricks spin on
 * the clock for their lengths. Prints one JSON object: the median length of a step as the program
 * saw it.
 *
 *   program-whatif [--record OUTPUT] [--steps N] [BRICK=PERCENT ...]
 *
 *   thread 0  |B|  QkvProjection 60 us |B| DownProjection 120 us |B| LmHead 30 us
 *   thread 1  |B| AttentionScore 100 us |B|  UpProjection  80 us |B|
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "brick/brick.h"

enum { PHASES = 3, THREADS = 2, MOST_STEPS = 100000 };

struct work {
	uint32_t brick;
	uint64_t length_ns;
};

static struct work plan[PHASES][THREADS] = {
	{{BRICK_QKV_PROJECTION, 60000}, {BRICK_ATTENTION_SCORE, 100000}},
	{{BRICK_DOWN_PROJECTION, 120000}, {BRICK_UP_PROJECTION, 80000}},
	{{BRICK_LM_HEAD, 30000}, {0, 0}},
};

static unsigned steps = 200;
static unsigned arrived, generation; /* of the barrier */

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void run_work(const struct work *work)
{
	if (!work->length_ns)
		return;
	brick_span span = brick_begin_layer(work->brick, 0);
	uint64_t end = now() + work->length_ns;
	while (now() < end)
		;
	brick_end(span);
}

/* Spins, and gives way now and then: there may be fewer cores than threads. */
static void barrier(void)
{
	brick_span span = brick_begin(BRICK_BARRIER_WAIT);
	unsigned mine = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);

	if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == THREADS) {
		__atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&generation, mine + 1, __ATOMIC_RELEASE);
	} else {
		for (unsigned spins = 0; __atomic_load_n(&generation, __ATOMIC_ACQUIRE) == mine;)
			if (++spins % 4096 == 0)
				sched_yield();
	}
	brick_end(span);
}

static void run_phases(int thread)
{
	for (int phase = 0; phase < PHASES; phase++) {
		run_work(&plan[phase][thread]);
		if (phase + 1 < PHASES)
			barrier();
	}
}

static void *run_thread(void *unused)
{
	for (unsigned i = 0; i < steps; i++) {
		barrier(); /* the step has begun */
		run_phases(1);
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static uint64_t run_steps(void)
{
	uint64_t *ns = calloc(steps, sizeof(*ns));
	pthread_t thread;

	pthread_create(&thread, NULL, run_thread, NULL);
	for (unsigned i = 0; i < steps; i++) {
		uint64_t begin = now();
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		barrier();
		run_phases(0);
		brick_end(step);
		ns[i] = now() - begin;
	}
	pthread_join(thread, NULL);
	qsort(ns, steps, sizeof(*ns), compare);
	uint64_t median = ns[steps / 2];
	free(ns);
	return median;
}

/* "UpProjection=90": ninety hundredths of its length. */
static int change(const char *argument)
{
	const char *equals = strchr(argument, '=');
	char name[64];

	if (!equals || equals - argument >= (long)sizeof(name))
		return -1;
	snprintf(name, sizeof(name), "%.*s", (int)(equals - argument), argument);
	int brick = brick_lookup(name);
	for (int i = 0; i < PHASES * THREADS; i++) {
		struct work *work = &plan[i / THREADS][i % THREADS];
		if (work->length_ns && (int)work->brick == brick) {
			work->length_ns = work->length_ns * strtoul(equals + 1, NULL, 10) / 100;
			return 0;
		}
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--record") && i + 1 < argc)
			options.output = argv[++i];
		else if (!strcmp(argv[i], "--steps") && i + 1 < argc)
			steps = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (change(argv[i]) < 0)
			return fprintf(stderr, "whatif: %s: not understood\n", argv[i]), 2;
	}
	if (steps < 1 || steps > MOST_STEPS)
		return fprintf(stderr, "whatif: 1 to %d steps\n", MOST_STEPS), 2;
	int error = options.output ? brick_session_start(&options) : 0;
	if (error < 0)
		return fprintf(stderr, "whatif: %s\n", brick_strerror(error)), 1;
	uint64_t median = run_steps();
	error = options.output ? brick_session_stop() : 0;
	if (error < 0)
		return fprintf(stderr, "whatif: %s\n", brick_strerror(error)), 1;
	printf("{\"steps\": %u, \"step_ns\": %llu}\n", steps, (unsigned long long)median);
	return 0;
}
