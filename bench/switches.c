/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs a thread that its times off the CPU are recorded, for each of them. Two threads on
 * one CPU hand a byte to and fro through pipes, so that each round is one time off the CPU for
 * either; in every other block of rounds one of them has joined the kernel's records as threads of
 * an embedding program do. CPU time of both, since the kernel books a switch's work to either.
 *
 *   bench-switches [BLOCKS [CPU]]
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "brick/error.h"
#include "lib/sys/switches.h"

enum { ROUNDS = 1000, MAX_BLOCKS = 100000 };

static int to[2], from[2];

static void *answer(void *argument)
{
	char byte;

	while (read(to[0], &byte, 1) == 1 && write(from[1], &byte, 1) == 1)
		;
	return NULL;
}

static int round_trip(void)
{
	char byte = 0;

	return write(to[1], &byte, 1) == 1 && read(from[0], &byte, 1) == 1;
}

static void count(void *context, const struct brick__switch *s)
{
	(void)s;
	++*(uint64_t *)context;
}

/* CPU ns of a round, recorded or not; negative: not allowed here. */
static double block(int recorded, uint64_t *switches)
{
	struct brick__switches *s = NULL;
	int error = recorded ? brick__switches_create(&s) : 0;

	if (!error && recorded)
		error = brick__switches_join(s);
	if (error) {
		fprintf(stderr, "bench-switches: %s\n", brick_strerror(error));
		exit(77);
	}
	round_trip();
	uint64_t begin = process_cpu_ns();
	for (int i = 0; i < ROUNDS; i++)
		round_trip();
	double each = (double)(process_cpu_ns() - begin) / ROUNDS;
	if (recorded)
		brick__switches_read(s, UINT64_MAX, count, switches);
	brick__switches_close(s);
	return each;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const char *name, double *values, int n)
{
	qsort(values, (size_t)n, sizeof *values, by_value);
	printf("%s: %.0f ns at best, %.0f at the lower quartile, %.0f in the middle, %.0f at the "
	       "upper quartile\n",
		name, values[0], values[n / 4], values[n / 2], values[n * 3 / 4]);
}

int main(int argc, char **argv)
{
	int blocks = argc > 1 ? atoi(argv[1]) : 200;
	uint64_t switches = 0;
	pthread_t thread;
	cpu_set_t one;

	blocks = blocks < 4 ? 4 : blocks > MAX_BLOCKS ? MAX_BLOCKS : blocks;
	double *on = calloc((size_t)blocks, sizeof *on), *off = calloc((size_t)blocks, sizeof *off),
	       *more = calloc((size_t)blocks, sizeof *more);
	CPU_ZERO(&one);
	CPU_SET(argc > 2 ? (unsigned)atoi(argv[2]) : 0u, &one);
	if (!on || !off || !more || sched_setaffinity(0, sizeof one, &one) || pipe(to) ||
		pipe(from) || pthread_create(&thread, NULL, answer, NULL))
		return 1;
	for (int i = 0; i < blocks; i++) {
		on[i] = i % 2 ? 0 : block(1, &switches);
		off[i] = block(0, NULL);
		if (i % 2)
			on[i] = block(1, &switches);
		more[i] = on[i] - off[i];
	}
	print("a round, recorded", on, blocks);
	print("a round, not recorded", off, blocks);
	print("recording a time off the CPU", more, blocks);
	printf("%.2f switches a recorded round\n", (double)switches / blocks / (ROUNDS + 1));
	return 0;
}
