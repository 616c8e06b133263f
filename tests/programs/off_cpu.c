/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks whose time on the CPU is known, for a test that disturbs them: the kernel's own clock of
 * the thread's CPU time is read just outside and just inside of each brick, and the true time lies
 * between the two. Each has a step of its own. Two bricks sleep, one of which says that it waits;
 * all tell of bytes. Prints one JSON object.
 *
 * On a virtual machine that clock may leave out what the host stole, and on some kernels what
 * interrupts took, while the thread had its CPU by all that the scheduler knows. A brick that
 * spins is either on its CPU or waits for one, so stolen_ns is the time on the wall less the
 * thread's CPU time and less its time in the run queue (/proc/thread-self/schedstat). The kernel's
 * accounts may book a switch of threads to either side, so the last object, "switches", has its
 * cost: the shortest time in which two threads woke each other in turns.
 *
 *   program-off_cpu [CPU [RECORDING [off]]]      runs on that CPU only; without a recorder it
 *                                                writes the recording itself, with or without
 *                                                times off the CPU
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "brick/brick.h"

enum { BRICKS = 5, SLEEP = 3, WAIT = 4, BYTES = 1000000 };

static const struct {
	const char *name;
	uint64_t length_ns;
	int repeats;
} plan[BRICKS] = {
	{"spin-200us", 200000, 200},
	{"spin-2ms", 2000000, 40},
	{"spin-20ms", 20000000, 10},
	{"sleep-5ms", 5000000, 10},
	{"sleep-as-wait-5ms", 5000000, 10},
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

struct reading {
	uint64_t wall_ns, cpu_ns, queued_ns;
};

struct truth {
	uint64_t low_ns, high_ns, stolen_ns, switches;
};

/* How long the thread could have run and did not: the second number. 0 where nobody counts it. */
static uint64_t queued_ns(void)
{
	static int fd = -1;
	char text[96] = "";

	if (fd < 0)
		fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (pread(fd, text, sizeof text - 1, 0) <= 0)
		return 0;
	char *end;
	strtoull(text, &end, 10);
	return strtoull(end, NULL, 10);
}

/* From `from` on. Between two readings the wall's part is the longest: nothing stolen is missed. */
static uint64_t stolen_since(const struct reading *from)
{
	struct reading d = {.queued_ns = queued_ns() - from->queued_ns};

	d.cpu_ns = now(CLOCK_THREAD_CPUTIME_ID) - from->cpu_ns;
	d.wall_ns = now(CLOCK_MONOTONIC) - from->wall_ns;
	uint64_t known = d.cpu_ns + d.queued_ns;
	return d.wall_ns > known ? d.wall_ns - known : 0;
}

/* Times that the thread left its CPU. */
static uint64_t switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

static int turns[2][2]; /* pipes */

static void *answer(void *unused)
{
	char c;

	while (read(turns[0][0], &c, 1) == 1 && write(turns[1][1], &c, 1) == 1)
		;
	return unused;
}

/* What it takes at least to leave the CPU and to get it back. The thread `answer` runs. */
static uint64_t switch_ns(void)
{
	uint64_t least = UINT64_MAX;
	char c = 0;

	for (int i = 0; i < 200; i++) {
		uint64_t from = now(CLOCK_MONOTONIC);
		if (write(turns[0][1], &c, 1) != 1 || read(turns[1][0], &c, 1) != 1)
			return 0;
		uint64_t took = now(CLOCK_MONOTONIC) - from;
		least = took < least ? took : least;
	}
	return least;
}

static void run_once(int which, uint32_t brick, struct truth *t)
{
	const struct timespec sleep = {.tv_nsec = (long)plan[which].length_ns};
	struct reading from = {.wall_ns = now(CLOCK_MONOTONIC)};
	from.cpu_ns = now(CLOCK_THREAD_CPUTIME_ID);
	from.queued_ns = queued_ns();

	uint64_t outside = now(CLOCK_THREAD_CPUTIME_ID);
	brick_span span = brick_begin(brick);
	uint64_t inside = now(CLOCK_THREAD_CPUTIME_ID);
	if (which >= SLEEP)
		nanosleep(&sleep, NULL);
	else
		spin(plan[which].length_ns);
	t->low_ns += now(CLOCK_THREAD_CPUTIME_ID) - inside;
	brick_end_work(span, 1, BYTES, 0);
	t->high_ns += now(CLOCK_THREAD_CPUTIME_ID) - outside;
	t->stolen_ns += which >= SLEEP ? 0 : stolen_since(&from);
}

static void run(int which)
{
	uint32_t brick = (uint32_t)brick_register(
		plan[which].name, which == WAIT ? BRICK_CATEGORY_WAIT : BRICK_CATEGORY_OTHER);
	struct truth t = {.switches = switches()};

	for (int i = 0; i < plan[which].repeats; i++) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		run_once(which, brick, &t);
		brick_end(step);
	}
	printf("\"%s\": {\"count\": %d, \"low_ns\": %llu, \"high_ns\": %llu, "
	       "\"stolen_ns\": %llu, \"switches\": %llu}, ",
		plan[which].name, plan[which].repeats, (unsigned long long)t.low_ns,
		(unsigned long long)t.high_ns, (unsigned long long)t.stolen_ns,
		(unsigned long long)(switches() - t.switches));
}

static int start(const char *path, int off)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	options.output = path;
	options.off_cpu = off ? BRICK_OFF_CPU_OFF : BRICK_OFF_CPU_ON;
	return brick_session_start(&options);
}

int main(int argc, char **argv)
{
	cpu_set_t one;
	pthread_t other; /* from the start: a recorder outside of a PID namespace asks for its
			    number */

	CPU_ZERO(&one);
	CPU_SET(argc > 1 ? (unsigned)atoi(argv[1]) : 0u, &one);
	if (sched_setaffinity(0, sizeof one, &one))
		return 1;
	if (pipe(turns[0]) || pipe(turns[1]) || pthread_create(&other, NULL, answer, NULL))
		return 3;
	if (argc > 2 && start(argv[2], argc > 3))
		return 2;
	printf("{");
	for (int which = 0; which < BRICKS; which++)
		run(which);
	printf("\"switches\": {\"ns\": %llu}}\n", (unsigned long long)switch_ns());
	return argc > 2 && brick_session_stop();
}
