/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that measures and its partner are new ones: only they go to one CPU, and nobody else's
 * CPU time counts. Only the first is ever recorded, so that a round is one time off the CPU more.
 */
#include "record/switch_timing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "base/order.h"
#include "lib/sys/switches.h"

struct pair {
	int to[2], from[2];
	pthread_t partner;
	clockid_t partners_clock;
	double *more_ns;
	int blocks, error;
};

static void *answer(void *context)
{
	const struct pair *p = context;
	char byte;

	while (read(p->to[0], &byte, 1) == 1 && write(p->from[1], &byte, 1) == 1)
		;
	return NULL;
}

/* CPU ns of a round. */
static double rounds(const struct pair *p)
{
	char byte = 0;
	uint64_t begin = 0;

	for (int i = -1; i < SWITCH_COST_ROUNDS; i++) { /* the first is not timed */
		if (write(p->to[1], &byte, 1) != 1 || read(p->from[0], &byte, 1) != 1)
			return 0;
		if (i < 0)
			begin = thread_cpu_ns() + clock_ns(p->partners_clock);
	}
	uint64_t end = thread_cpu_ns() + clock_ns(p->partners_clock);
	return (double)(end - begin) / SWITCH_COST_ROUNDS;
}

static int block(struct pair *p, double *more_ns)
{
	struct brick__switches *s = NULL;
	double plain = rounds(p);
	int error = brick__switches_create(&s);

	if (!error)
		error = brick__switches_join(s);
	if (!error)
		*more_ns = rounds(p) - plain;
	brick__switches_close(s);
	return error;
}

static void measure_pinned(struct pair *p)
{
	int cpu = sched_getcpu();
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu < 0 || cpu >= CPU_SETSIZE ? 0 : (size_t)cpu, &one);
	p->error = -EAGAIN;
	if (sched_setaffinity(0, sizeof one, &one) || pthread_create(&p->partner, NULL, answer, p))
		return;
	p->error = pthread_getcpuclockid(p->partner, &p->partners_clock) ? -EAGAIN : 0;
	for (int i = 0; i < p->blocks && !p->error; i++)
		p->error = block(p, &p->more_ns[i]);
	close(p->to[1]); /* the partner reads its end */
	p->to[1] = -1;
	pthread_join(p->partner, NULL);
}

static void *measure(void *context)
{
	measure_pinned(context);
	return NULL;
}

static void close_ends(const int *ends)
{
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
}

int switch_cost_measure(double *more_ns, int blocks)
{
	struct pair p = {
		{-1, -1}, {-1, -1}, .more_ns = more_ns, .blocks = blocks, .error = -EAGAIN};
	pthread_t thread;

	if (!pipe2(p.to, O_CLOEXEC) && !pipe2(p.from, O_CLOEXEC) &&
		!pthread_create(&thread, NULL, measure, &p))
		pthread_join(thread, NULL);
	close_ends(p.to);
	close_ends(p.from);
	if (!p.error)
		qsort(more_ns, (size_t)blocks, sizeof *more_ns, order_doubles);
	return p.error;
}

static uint64_t whole(double ns)
{
	return ns > 1 ? (uint64_t)ns : 1;
}

void switch_cost_account(struct off_cpu_account *account, int blocks)
{
	double more_ns[SWITCH_COST_BLOCKS];

	if (account->source != OFF_CPU_SWITCHES || switch_cost_measure(more_ns, blocks))
		return;
	account->cost_low_ns = whole(more_ns[blocks / 4]);
	account->cost_ns = whole(more_ns[blocks / 2]);
	account->cost_high_ns = whole(more_ns[blocks * 3 / 4]);
}
