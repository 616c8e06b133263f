/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads on one CPU that hand a byte to and fro, so often a second as it is told, or as fast
 * as they can: for tests of what is done about programs whose threads are off their CPUs all the
 * time. Each time is a step with a brick, which computes for a while if the threads are not to
 * hurry. Prints how often all threads left their CPUs, by the kernel's own count, in each part.
 *
 *   program-hand_over CPU MS:PER_S...      parts, one after the other; PER_S 0: as often as they
 * can; "load:N" is N times without steps and bricks
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "brick/brick.h"

enum { COMPUTE_NS = 300000 };

static int to[2], from[2];

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void *answer(void *brick)
{
	char byte;

	while (read(to[0], &byte, 1) == 1) {
		if (byte) {
			brick_span span = brick_begin(*(const uint32_t *)brick);
			brick_end(span);
		}
		if (write(from[1], &byte, 1) != 1)
			break;
	}
	return NULL;
}

static void load(unsigned long times)
{
	char byte = 0;

	while (times-- && write(to[1], &byte, 1) == 1 && read(from[0], &byte, 1) == 1)
		;
}

static void hand_over(uint32_t brick, int hurries)
{
	char byte = 1;
	brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
	brick_span span = brick_begin(brick);

	for (uint64_t end = now_ns() + COMPUTE_NS; !hurries && now_ns() < end;)
		;
	if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
		exit(1);
	brick_end(span);
	brick_end(step);
}

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void run_part(unsigned number, const char *plan)
{
	char *rest, name[16];
	uint64_t length = strtoull(plan, &rest, 10), end = now_ns() + length * 1000000;
	long per_s = *rest == ':' ? strtol(rest + 1, NULL, 10) : 0, before = switches();
	const struct timespec pause = {.tv_nsec = per_s ? 1000000000 / per_s : 0};
	unsigned rounds = 0;

	snprintf(name, sizeof name, "part-%u", number);
	uint32_t brick = (uint32_t)brick_register(name, BRICK_CATEGORY_OTHER);
	while (per_s ? now_ns() < end : rounds < length) {
		hand_over(brick, !per_s);
		rounds++;
		if (per_s)
			nanosleep(&pause, NULL);
	}
	printf("%s\"%s\": {\"rounds\": %u, \"off\": %ld}", number ? ", " : "{", name, rounds,
		switches() - before);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(argc > 1 ? (unsigned)atoi(argv[1]) : 0u, &one);
	if (argc < 3 || sched_setaffinity(0, sizeof one, &one) || pipe(to) || pipe(from))
		return 1;
	uint32_t brick = (uint32_t)brick_register("answer", BRICK_CATEGORY_OTHER);
	if (pthread_create(&thread, NULL, answer, &brick))
		return 1;
	unsigned part = 0;
	for (int i = 2; i < argc; i++)
		if (!strncmp(argv[i], "load:", 5))
			load(strtoul(argv[i] + 5, NULL, 10));
		else
			run_part(part++, argv[i]);
	puts("}");
	close(to[1]);
	pthread_join(thread, NULL);
	return 0;
}
