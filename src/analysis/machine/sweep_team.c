/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of bound threads. A run wakes them, they meet at a spinning barrier so that all begin at
 * the same time, and each notes when it began and ended.
 */
#include "analysis/machine/sweep_team.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include "base/clock_ns.h"
#include "base/scope.h"
#include "analysis/machine/sweep_kernels.h"

enum {
	SPINS = 20000, /* at a barrier, before a thread yields its CPU */
	LINE = 64,     /* bytes of a cache line */
};

struct barrier {
	unsigned arrived __attribute__((aligned(LINE)));
	unsigned left __attribute__((aligned(LINE))); /* number of times that all have met */
};

struct member {
	struct team *team;
	pthread_t thread;
	unsigned number;
	int cpu;
	uint64_t begin_ns, end_ns;
} __attribute__((aligned(LINE)));

struct team {
	struct member *members;
	unsigned member_count, started;
	bool bound;
	cpu_set_t caller_cpus;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	/* The present run, under the lock; members [1, count) take part, besides the caller. */
	uint64_t generation;
	unsigned count;
	team_fn run;
	void *context;
	struct barrier begin, end;
};

/* Waits for all members. Spins first, then yields: there may be fewer CPUs than members. */
static void sweep_team_meet(struct barrier *barrier, unsigned count)
{
	unsigned met = __atomic_load_n(&barrier->left, __ATOMIC_ACQUIRE);

	if (__atomic_add_fetch(&barrier->arrived, 1, __ATOMIC_ACQ_REL) == count) {
		__atomic_store_n(&barrier->arrived, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&barrier->left, met + 1, __ATOMIC_RELEASE);
		return;
	}
	for (unsigned i = 0; __atomic_load_n(&barrier->left, __ATOMIC_ACQUIRE) == met; i++) {
		if (i < SPINS)
			machine_relax();
		else
			sched_yield();
	}
}

static void bind_to(int cpu)
{
	cpu_set_t set;

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void sweep_team_take_part(struct member *m, unsigned count, team_fn run, void *context)
{
	struct team *team = m->team;

	sweep_team_meet(&team->begin, count);
	m->begin_ns = monotonic_ns();
	run(context, m->number);
	m->end_ns = monotonic_ns();
	sweep_team_meet(&team->end, count);
}

static void *sweep_team_serve(void *argument)
{
	struct member *m = argument;
	struct team *team = m->team;
	uint64_t seen = 0;

	bind_to(m->cpu);
	for (;;) {
		pthread_mutex_lock(&team->lock);
		while (team->generation == seen)
			pthread_cond_wait(&team->wake, &team->lock);
		seen = team->generation;
		unsigned count = team->count;
		team_fn run = team->run;
		void *context = team->context;
		pthread_mutex_unlock(&team->lock);
		if (!run)
			return NULL;
		if (m->number < count)
			sweep_team_take_part(m, count, run, context);
	}
}

static void sweep_team_tell(struct team *team, unsigned count, team_fn run, void *context)
{
	HOLD(&team->lock);
	team->count = count;
	team->run = run;
	team->context = context;
	team->generation++;
	pthread_cond_broadcast(&team->wake);
}

int team_create(struct team **out, unsigned members, const int *cpus)
{
	struct team *team = members ? aligned_alloc(LINE, sizeof(*team)) : NULL;

	if (!team)
		return members ? -ENOMEM : -EINVAL;
	*team = (struct team){.member_count = members, .started = 1};
	team->members = aligned_alloc(LINE, members * sizeof(*team->members));
	if (!team->members) {
		free(team);
		return -ENOMEM;
	}
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->wake, NULL);
	for (unsigned i = 0; i < members; i++)
		team->members[i] =
			(struct member){.team = team, .number = i, .cpu = cpus ? cpus[i] : -1};
	for (; team->started < members; team->started++) {
		struct member *m = &team->members[team->started];
		int error = pthread_create(&m->thread, NULL, sweep_team_serve, m);
		if (error) {
			team_destroy(team);
			return -error;
		}
	}
	if (cpus && !sched_getaffinity(0, sizeof(team->caller_cpus), &team->caller_cpus)) {
		team->bound = true;
		bind_to(cpus[0]);
	}
	*out = team;
	return 0;
}

uint64_t team_run(struct team *team, unsigned count, team_fn run, void *context)
{
	if (count > team->member_count)
		count = team->member_count;
	if (count > 1)
		sweep_team_tell(team, count, run, context);
	sweep_team_take_part(&team->members[0], count, run, context);
	uint64_t begin_ns = UINT64_MAX, end_ns = 0;
	for (unsigned i = 0; i < count; i++) {
		const struct member *m = &team->members[i];
		begin_ns = m->begin_ns < begin_ns ? m->begin_ns : begin_ns;
		end_ns = m->end_ns > end_ns ? m->end_ns : end_ns;
	}
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

struct meetings {
	struct barrier barrier;
	unsigned count, rounds;
};

static void meet_often(void *context, unsigned member)
{
	struct meetings *m = context;

	for (unsigned i = 0; i < m->rounds; i++)
		sweep_team_meet(&m->barrier, m->count);
}

uint64_t team_barrier_ns(struct team *team, unsigned count, unsigned rounds)
{
	struct meetings meetings = {.count = count, .rounds = rounds};

	return team_run(team, count, meet_often, &meetings);
}

void team_destroy(struct team *team)
{
	if (!team)
		return;
	sweep_team_tell(team, 0, NULL, NULL);
	for (unsigned i = 1; i < team->started; i++)
		pthread_join(team->members[i].thread, NULL);
	if (team->bound)
		sched_setaffinity(0, sizeof(team->caller_cpus), &team->caller_cpus);
	pthread_cond_destroy(&team->wake);
	pthread_mutex_destroy(&team->lock);
	free(team->members);
	free(team);
}
