// SPDX-License-Identifier: Apache-2.0
//
// The team: one barrier, passed by all workers at the begin and the end of each run and wherever
// fn() waits. Whoever arrives last begins the next round; the others watch its number, busily for a
// moment because rounds are microseconds apart, then giving way between looks.
#include "decoder_team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "brick/brick.h"
#include "decoder_memory.h"

enum { LOOKS_BEFORE_YIELD = 20000 };

struct team {
	team_fn *fn; // NULL: leave
	void *context;
	struct worker *workers;
	pthread_t *threads;
	size_t n_workers;
	_Alignas(64) atomic_size_t arrived;
	_Alignas(64) atomic_size_t round;
};

static void meet(struct team *team)
{
	size_t round = atomic_load(&team->round);
	if (atomic_fetch_add(&team->arrived, 1) + 1 == team->n_workers) {
		atomic_store(&team->arrived, 0);
		atomic_store(&team->round, round + 1);
	}
	for (size_t i = 0; atomic_load_explicit(&team->round, memory_order_acquire) == round; i++)
		if (i >= LOOKS_BEFORE_YIELD)
			sched_yield();
}

void team_wait(const struct worker *worker)
{
	if (worker->count == 1)
		return;
	brick_span span = brick_begin(BRICK_BARRIER_WAIT);
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

struct team *team_create(size_t n_workers)
{
	struct team *team = allocate(1, sizeof(*team));
	team->workers = allocate(n_workers, sizeof(*team->workers));
	team->threads = allocate(n_workers, sizeof(*team->threads));
	team->n_workers = n_workers;
	for (size_t i = 0; i < n_workers; i++) {
		team->workers[i] = (struct worker){team, i, n_workers};
		if (i && pthread_create(&team->threads[i], NULL, work, &team->workers[i])) {
			fprintf(stderr, "example-decoder: cannot make thread %zu\n", i);
			exit(1);
		}
	}
	return team;
}

void team_destroy(struct team *team)
{
	team->fn = NULL;
	meet(team);
	for (size_t i = 1; i < team->n_workers; i++)
		pthread_join(team->threads[i], NULL);
	free(team->workers);
	free(team->threads);
	free(team);
}

struct part team_part(const struct worker *worker, size_t n, size_t unit)
{
	size_t units = (n + unit - 1) / unit;
	size_t begin = units * worker->index / worker->count * unit;
	size_t end = units * (worker->index + 1) / worker->count * unit;
	return (struct part){begin < n ? begin : n, end < n ? end : n};
}
