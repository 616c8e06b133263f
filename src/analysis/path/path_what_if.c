/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a schedule would be if all activities of an owner took a tenth less, or no time. Where
 * all ways to the end come together, as at a barrier of all threads, it falls into stretches that
 * are as long for themselves as they are in it, and in each only owners that are on the path there
 * can make it shorter. Several trials run side by side through a stretch, as most of the time goes
 * into finding its chains in memory.
 */
#include <string.h>

#include "analysis/path/path_state.h"

/* From one chain that all ways go through to the next one. */
struct stretch {
	struct path_solver *solver;
	const struct brick__dag *dag;
	uint32_t first, last;		  /* chains */
	uint64_t length_ns;		  /* as it is */
	uint32_t owners[PATH_TRIALS / 2]; /* trial 2i: a tenth less; 2i + 1: nothing */
	unsigned count;
};

/* When a chain can begin in each trial. Times count from where the stretch begins. */
static inline void begin_chain(const struct stretch *s, uint32_t chain, trial_times begin)
{
	const struct path_solver *solver = s->solver;
	uint32_t head = solver->chains[chain].head;

	memset(begin, 0, sizeof(trial_times));
	for (uint32_t p = s->dag->first[head]; p < s->dag->first[head + 1]; p++) {
		uint32_t before = solver->chain_of[s->dag->before[p]];
		const uint64_t *finish = solver->trial_ns[before];
		for (int k = 0; before >= s->first && k < PATH_TRIALS; k++)
			begin[k] = begin[k] > finish[k] ? begin[k] : finish[k];
	}
}

/* When the last one finishes. */
static const uint64_t *run_trials(const struct stretch *s)
{
	const struct path_solver *solver = s->solver;

	for (uint32_t i = s->first; i <= s->last; i++) {
		const struct path_chain *chain = &solver->chains[i];
		const struct path_saving *saving = &solver->savings[chain->saving_first];
		uint64_t *finish = solver->trial_ns[i];
		begin_chain(s, i, finish);
		for (int k = 0; k < PATH_TRIALS; k++)
			finish[k] += chain->duration_ns;
		for (uint32_t n = chain->saving_count; n; n--, saving++) {
			unsigned trial = solver->sums[saving->owner].trial;
			if (!trial)
				continue;
			finish[2 * trial - 2] -= saving->less_ns;
			finish[2 * trial - 1] -= saving->nothing_ns;
		}
	}
	return solver->trial_ns[s->last];
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

/* A stretch of one chain gets shorter by what that saves. */
static void save_all(const struct stretch *s)
{
	const struct path_solver *solver = s->solver;
	const struct path_chain *chain = &solver->chains[s->last];
	const struct path_saving *saving = &solver->savings[chain->saving_first];

	for (uint32_t n = chain->saving_count; n; n--, saving++) {
		solver->sums[saving->owner].less_ns -= saving->less_ns;
		solver->sums[saving->owner].nothing_ns -= saving->nothing_ns;
	}
}

/* path: the part of the schedule's path that lies in the stretch; its owners are tried once each.
 */
static void try_stretch(
	struct stretch *s, const struct schedule *schedule, const uint32_t *path, size_t count)
{
	struct path_solver *solver = s->solver;
	uint64_t number = ++solver->stretches;

	if (s->first == s->last) {
		save_all(s);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct schedule_activity *a = &schedule->activities.items[path[i]];
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

/* Mark the chains that all ways go through: what comes later begins after none before them. */
static void find_joints(struct path_solver *solver, const struct brick__dag *dag)
{
	uint32_t earliest = UINT32_MAX;

	for (uint32_t i = solver->chain_count; i-- > 0;) {
		struct path_chain *chain = &solver->chains[i];
		uint32_t first = dag->first[chain->head], end = dag->first[chain->head + 1];
		chain->is_joint = earliest >= i;
		if (first == end)
			earliest = 0;
		for (uint32_t p = first; p < end; p++)
			if (solver->chain_of[dag->before[p]] < earliest)
				earliest = solver->chain_of[dag->before[p]];
	}
}

void path_try_owners(struct path_solver *solver, const struct schedule *schedule, size_t path_count)
{
	struct stretch s = {.solver = solver, .dag = &schedule->dag};
	uint64_t begin_ns = 0;
	size_t from = 0;

	for (uint32_t i = 0; i < solver->owner_count; i++) {
		solver->sums[i].less_ns += solver->finish_ns[schedule->end];
		solver->sums[i].nothing_ns += solver->finish_ns[schedule->end];
	}
	path_find_chains(solver, schedule);
	find_joints(solver, &schedule->dag);
	for (uint32_t i = 0; i < solver->chain_count; i++) {
		size_t end = from;
		if (!solver->chains[i].is_joint)
			continue;
		while (end < path_count && solver->chain_of[solver->path[end]] <= i)
			end++;
		uint64_t end_ns = solver->finish_ns[solver->chains[i].tail];
		s.last = i;
		s.length_ns = end_ns - begin_ns;
		try_stretch(&s, schedule, solver->path + from, end - from);
		s.first = i + 1;
		begin_ns = end_ns;
		from = end;
	}
}
