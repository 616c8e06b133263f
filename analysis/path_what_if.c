/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a schedule would be if all activities of an owner took a tenth less, or no time. Where
 * all chains to the end come together, as at a barrier of all threads, it falls into stretches
 * that are as long for themselves as they are in it, and in each only owners that are on the path
 * there can make it shorter. Several trials run side by side through a stretch, as most of the time
 * goes into finding its activities in memory.
 */
#include <stdbool.h>
#include <string.h>

#include "analysis/path_state.h"

/* From one activity that all chains go through to the next one. */
struct stretch {
	struct path_solver *solver;
	const struct schedule *schedule;
	uint32_t before;		  /* RUN_NONE: it begins with the schedule */
	uint32_t first, last;		  /* places in dag.order, behind `before` */
	uint64_t length_ns;		  /* as it is */
	uint32_t owners[PATH_TRIALS / 2]; /* trial 2i: a tenth less; 2i + 1: nothing */
	unsigned count;
};

/*
 * A wait for a device, or for what is not known, has no work of its own: it ends sooner when what
 * it was for does. To leave a barrier takes time that can be less. Off its CPU a thread does no
 * work either.
 */
static bool is_only_a_wait(const struct run *run, const struct schedule_activity *a)
{
	if (a->kind == SCHEDULE_OFF)
		return true;
	return a->kind == SCHEDULE_WAIT && a->owner < run->brick_count &&
	       run->bricks[a->owner].well_known != BRICK_BARRIER_WAIT;
}

static uint64_t tenth_less(uint64_t ns)
{
	return ns - ns / 10 - (ns % 10 >= 5);
}

/* When an activity finishes in each trial: they differ where it is one of the owner's. */
static void finish_activity(uint64_t finish[PATH_TRIALS], uint64_t duration_ns, unsigned trial)
{
	for (int k = 0; k < PATH_TRIALS; k++)
		finish[k] += duration_ns;
	if (!trial)
		return;
	finish[2 * (trial - 1)] -= duration_ns - tenth_less(duration_ns);
	finish[2 * (trial - 1) + 1] -= duration_ns;
}

/* When the last one finishes. Times count from the end of what is before the stretch. */
static const uint64_t *run_trials(const struct stretch *s)
{
	const struct path_solver *solver = s->solver;
	const struct brick__dag *dag = &s->schedule->dag;
	uint64_t(*finish)[PATH_TRIALS] = (void *)solver->trial_ns;

	for (uint32_t i = s->first; i <= s->last; i++) {
		uint32_t v = dag->order[i];
		uint64_t begin[PATH_TRIALS] = {0};
		if (solver->latest_ns[v] == UINT64_MAX)
			continue; /* nothing that it leads to is on the way to the end */
		for (uint32_t p = dag->first[v]; p < dag->first[v + 1]; p++)
			for (int k = 0; dag->before[p] != s->before && k < PATH_TRIALS; k++)
				begin[k] = begin[k] > finish[dag->before[p]][k]
						   ? begin[k]
						   : finish[dag->before[p]][k];
		const struct schedule_activity *a = &s->schedule->activities[v];
		finish_activity(begin, a->duration_ns,
			is_only_a_wait(solver->run, a) ? 0 : solver->sums[a->owner].trial);
		memcpy(finish[v], begin, sizeof(begin));
	}
	return finish[dag->order[s->last]];
}

static void try_owners(struct stretch *s)
{
	struct path_sum *sums = s->solver->sums;

	for (unsigned i = 0; i < s->count; i++)
		sums[s->owners[i]].trial = (uint8_t)(i + 1);
	const uint64_t *finish = run_trials(s);
	for (unsigned i = 0; i < s->count; i++) {
		struct path_sum *sum = &sums[s->owners[i]];
		sum->less_ns -= s->length_ns - finish[2 * i];
		sum->nothing_ns -= s->length_ns - finish[2 * i + 1];
		sum->trial = 0;
	}
	s->count = 0;
}

/* A stretch of one activity needs no trial. */
static void try_alone(const struct stretch *s, const struct schedule_activity *a)
{
	struct path_sum *sum = &s->solver->sums[a->owner];

	if (is_only_a_wait(s->solver->run, a))
		return;
	sum->less_ns -= a->duration_ns - tenth_less(a->duration_ns);
	sum->nothing_ns -= a->duration_ns;
}

/* path: the part of the schedule's path that lies in the stretch; its owners are tried once each.
 */
static void try_stretch(struct stretch *s, const uint32_t *path, size_t count)
{
	struct path_solver *solver = s->solver;
	uint64_t number = ++solver->stretches;

	if (s->first == s->last) {
		try_alone(s, &s->schedule->activities[path[0]]);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct schedule_activity *a = &s->schedule->activities[path[i]];
		struct path_sum *sum = &solver->sums[a->owner];
		if (!a->duration_ns || sum->stretch == number)
			continue;
		sum->stretch = number;
		s->owners[s->count++] = a->owner;
		if (s->count == PATH_TRIALS / 2)
			try_owners(s);
	}
	if (s->count)
		try_owners(s);
}

/*
 * Mark the places in dag.order that all chains to the end go through: what comes later begins after
 * nothing that stands before them.
 */
static void find_joints(struct path_solver *solver, const struct brick__dag *dag)
{
	uint32_t earliest = UINT32_MAX;

	for (uint32_t i = 0; i < dag->count; i++)
		solver->place[dag->order[i]] = i;
	for (uint32_t i = dag->count; i-- > 0;) {
		uint32_t v = dag->order[i];
		bool leads = solver->latest_ns[v] != UINT64_MAX;
		solver->is_joint[i] = leads && earliest >= i;
		if (leads && dag->first[v] == dag->first[v + 1])
			earliest = 0;
		for (uint32_t p = dag->first[v]; leads && p < dag->first[v + 1]; p++)
			if (solver->place[dag->before[p]] < earliest)
				earliest = solver->place[dag->before[p]];
	}
}

void path_try_owners(struct path_solver *solver, const struct schedule *schedule, size_t path_count)
{
	const uint32_t *order = schedule->dag.order;
	struct stretch s = {.solver = solver, .schedule = schedule, .before = RUN_NONE};
	uint64_t begin_ns = 0;
	size_t from = 0;

	for (uint32_t i = 0; i < solver->owner_count; i++) {
		solver->sums[i].less_ns += solver->finish_ns[schedule->end];
		solver->sums[i].nothing_ns += solver->finish_ns[schedule->end];
	}
	find_joints(solver, &schedule->dag);
	for (uint32_t i = 0; i < schedule->dag.count; i++) {
		size_t end = from;
		if (!solver->is_joint[i])
			continue;
		while (end < path_count && solver->place[solver->path[end]] <= i)
			end++;
		s.last = i;
		s.length_ns = solver->finish_ns[order[i]] - begin_ns;
		try_stretch(&s, solver->path + from, end - from);
		s.before = order[i];
		s.first = i + 1;
		begin_ns = solver->finish_ns[order[i]];
		from = end;
	}
}
