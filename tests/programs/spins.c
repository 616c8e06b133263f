/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three functions that spin, for known parts of the CPU time, which it reads from its own clock:
 *
 *   program-spins ROUNDS [THREADS [bricks|deep]]
 *
 * A round takes some 70 us, so that a stack every ms finds any part of it. Prints ns of each
 * function, of all threads. With "bricks" spin_half() runs in RmsNorm and spin_third() in
 * RopeEmbedding, spin_fifth() in none; with "deep" they are called from far below. ROUNDS 0: runs
 * itself in a child, with 4000 rounds.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "brick/brick.h"

enum { TURNS = 250, FUNCTIONS = 3 };

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define SPINS(name, parts)                                                  \
	__attribute__((noinline, noclone)) static uint64_t name(uint64_t x) \
	{                                                                   \
		for (uint64_t i = 0; i < (uint64_t)(parts)*TURNS; i++)      \
			__asm__ volatile("" : "+r"(x));                     \
		return x + 1;                                               \
	}

SPINS(spin_half, 500)
SPINS(spin_third, 300)
SPINS(spin_fifth, 200)

static uint64_t all_ns[FUNCTIONS];
static int rounds, bricks;

static void add(int function, uint64_t *since_ns)
{
	uint64_t now_ns = thread_ns();

	__atomic_fetch_add(&all_ns[function], now_ns - *since_ns, __ATOMIC_RELAXED);
	*since_ns = now_ns;
}

enum { NO_BRICK = -1 };

__attribute__((noinline)) static void spin(int function, int brick, uint64_t (*in)(uint64_t))
{
	uint64_t ns = thread_ns();

	if (bricks && brick != NO_BRICK) {
		brick_span span = brick_begin((uint32_t)brick);
		in(1);
		brick_end(span);
	} else {
		in(1);
	}
	add(function, &ns);
}

static void *work(void *argument)
{
	pthread_setname_np(pthread_self(), argument ? "spinner" : "main-spinner");
	for (int i = 0; i < rounds; i++) {
		spin(0, BRICK_RMS_NORM, spin_half);
		spin(1, BRICK_ROPE_EMBEDDING, spin_third);
		spin(2, NO_BRICK, spin_fifth);
	}
	return NULL;
}

/* Calls as deep as a stack is told. */
__attribute__((noinline)) static void *work_below(int calls)
{
	void *result = calls ? work_below(calls - 1) : work(NULL);

	__asm__ volatile("" : "+r"(result)); /* no loop */
	return result;
}

static int run_self(const char *program)
{
	pid_t child = fork();
	int status = 1;

	if (!child) {
		execl(program, program, "4000", (char *)NULL);
		_exit(127);
	}
	return child < 0 || waitpid(child, &status, 0) != child || status;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t *list = calloc((size_t)threads + 1, sizeof(*list));

	rounds = argc > 1 ? atoi(argv[1]) : 1;
	bricks = argc > 3 && !strcmp(argv[3], "bricks");
	if (!rounds)
		return run_self(argv[0]);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&list[i], NULL, work, list))
			return 1;
	work_below(argc > 3 && !strcmp(argv[3], "deep") ? 120 : 0);
	for (int i = 1; i < threads; i++)
		pthread_join(list[i], NULL);
	printf("%llu %llu %llu\n", (unsigned long long)all_ns[0], (unsigned long long)all_ns[1],
		(unsigned long long)all_ns[2]);
	free(list);
	return 0;
}
