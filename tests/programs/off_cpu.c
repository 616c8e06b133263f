/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks whose time on the CPU is known, for a test that disturbs them: the kernel's own clock of
 * the thread's CPU time is read just outside and just inside of each brick, and the true time lies
 * between the two. One brick sleeps. Prints one JSON object.
 *
 *   program-off_cpu [CPU]      runs on that CPU only
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "brick/brick.h"

enum { BRICKS = 4, SLEEP = 3 };

static const struct {
	const char *name;
	uint64_t length_ns;
	int repeats;
} plan[BRICKS] = {
	{"spin-200us", 200000, 200},
	{"spin-2ms", 2000000, 40},
	{"spin-20ms", 20000000, 10},
	{"sleep-5ms", 5000000, 10},
};

static uint64_t now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* On the clock of the wall, so that who shares the CPU takes from it. */
static void spin(uint64_t ns)
{
	uint64_t end = now(CLOCK_MONOTONIC) + ns;
	while (now(CLOCK_MONOTONIC) < end)
		;
}

static void run(int which)
{
	const struct timespec sleep = {.tv_nsec = (long)plan[which].length_ns};
	uint32_t brick = (uint32_t)brick_register(plan[which].name, BRICK_CATEGORY_OTHER);
	uint64_t low = 0, high = 0, wall = 0;

	for (int i = 0; i < plan[which].repeats; i++) {
		uint64_t wall_begin = now(CLOCK_MONOTONIC);
		uint64_t outside = now(CLOCK_THREAD_CPUTIME_ID);
		brick_span span = brick_begin(brick);
		uint64_t inside = now(CLOCK_THREAD_CPUTIME_ID);
		if (which == SLEEP)
			nanosleep(&sleep, NULL);
		else
			spin(plan[which].length_ns);
		low += now(CLOCK_THREAD_CPUTIME_ID) - inside;
		brick_end(span);
		high += now(CLOCK_THREAD_CPUTIME_ID) - outside;
		wall += now(CLOCK_MONOTONIC) - wall_begin;
	}
	printf("%s\"%s\": {\"count\": %d, \"low_ns\": %llu, \"high_ns\": %llu, \"wall_ns\": %llu}",
		which ? ", " : "{", plan[which].name, plan[which].repeats, (unsigned long long)low,
		(unsigned long long)high, (unsigned long long)wall);
}

int main(int argc, char **argv)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(argc > 1 ? (unsigned)atoi(argv[1]) : 0u, &one);
	if (sched_setaffinity(0, sizeof one, &one))
		return 1;
	for (int which = 0; which < BRICKS; which++)
		run(which);
	puts("}");
	return 0;
}
