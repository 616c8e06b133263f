// SPDX-License-Identifier: Apache-2.0
//
// The team: one barrier, passed by all workers at the begin and the end of each run and wherever
// fn() waits. Whoever arrives last begins the next round; the others look at its number, a moment
// busily, because rounds are microseconds apart, then between yields of the CPU.
#include "team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "brick/brick.h"

enum { LOOKS_BEFORE_YIELD = 20000 };

struct team {
	team_fn *fn; // NULL: the workers leave
	void *context;
	struct worker *workers;
	pthread_t *threads;
	size_t n_workers;
	_Alignas(64) atomic_size_t arrived;
	_Alignas(64) atomic_uint round;
};

static void meet(struct team *team)
{
	unsigned round = atomic_load_explicit(&team->round, memory_order_acquire);

	if (atomic_fetch_add(&team->arrived, 1) + 1 == team->n_workers) {
		atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&team->round, round + 1, memory_order_release);
		return;
	}
	for (int i = 0; atomic_load_explicit(&team->round, memory_order_acquire) == round; i++)
		if (i >= LOOKS_BEFORE_YIELD)
			sched_yield();
}

void team_wait(const struct worker *worker)
{
	brick_span span;

	if (worker->count == 1)
		return;
	span = brick_begin(BRICK_BARRIER_WAIT);
	meet(worker->team);
	brick_end(span);
}

static void *work(void *arg)
{
	const struct worker *worker = arg;
	struct team *team = worker->team;
	char name[32];

	snprintf(name, sizeof(name), "decoder %zu", worker->index);
	brick_thread_name(name);
	for (meet(team); team->fn; meet(team)) {
		team->fn(worker, team->context);
		team_wait(worker);
	}
	return NULL;
}

void team_run(struct team *team, team_fn *fn, void *context)
{
	team->fn = fn;
	team->context = context;
	team_wait(&team->workers[0]);
	fn(&team->workers[0], context);
	team_wait(&team->workers[0]);
}

int team_create(struct team **out, size_t n_workers)
{
	struct team *team = aligned_alloc(64, sizeof(*team));

	if (!team)
		return -1;
	*team = (struct team){.n_workers = 1};
	team->workers = calloc(n_workers, sizeof(*team->workers));
	team->threads = calloc(n_workers, sizeof(*team->threads));
	...
}
