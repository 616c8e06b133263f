/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a schedule would be if all activities of an owner took a tenth less, or no time. Only
 * owners on the path are tried: the others cannot make it shorter. Several trials run side by side
 * through the activities, as most of the time goes into finding these in memory.
 */
#include <stdbool.h>
#include <string.h>

#include "analysis/path_state.h"

enum { NOT_TRIED = UINT8_MAX };

struct trials {
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
static void finish_activity(uint64_t finish[PATH_TRIALS], uint64_t duration_ns, unsigned owner)
{
	for (int k = 0; k < PATH_TRIALS; k++)
		finish[k] += duration_ns;
	if (owner == NOT_TRIED)
		return;
	finish[2 * owner] -= duration_ns - tenth_less(duration_ns);
	finish[2 * owner + 1] -= duration_ns;
}

static const uint64_t *run_trials(
	struct path_solver *solver, const struct schedule *schedule, const struct trials *trials)
{
	const struct brick__dag *dag = &schedule->dag;
	uint64_t(*finish)[PATH_TRIALS] = (void *)solver->trial_ns;

	for (unsigned i = 0; i < trials->count; i++)
		solver->sums[trials->owners[i]].trial = (uint8_t)i;
	for (uint32_t i = 0; i < dag->count; i++) {
		uint32_t v = dag->order[i];
		uint64_t begin[PATH_TRIALS] = {0};
		for (uint32_t p = dag->first[v]; p < dag->first[v + 1]; p++)
			for (int k = 0; k < PATH_TRIALS; k++)
				begin[k] = begin[k] > finish[dag->before[p]][k]
						   ? begin[k]
						   : finish[dag->before[p]][k];
		const struct schedule_activity *a = &schedule->activities[v];
		finish_activity(begin, a->duration_ns,
			is_only_a_wait(solver->run, a) ? NOT_TRIED : solver->sums[a->owner].trial);
		memcpy(finish[v], begin, sizeof(begin));
	}
	for (unsigned i = 0; i < trials->count; i++)
		solver->sums[trials->owners[i]].trial = NOT_TRIED;
	return finish[schedule->end];
}

static void add_results(
	struct path_solver *solver, const struct trials *trials, const uint64_t *finish)
{
	for (unsigned i = 0; i < trials->count; i++) {
		solver->sums[trials->owners[i]].less_ns += finish[2 * i];
		solver->sums[trials->owners[i]].nothing_ns += finish[2 * i + 1];
	}
}

void path_try_owners(
	struct path_solver *solver, const struct schedule *schedule, uint64_t length_ns)
{
	struct trials trials = {.count = 0};

	for (uint32_t i = 0; i < solver->owner_count; i++)
		solver->sums[i].trial = NOT_TRIED;
	for (uint32_t i = 0; i < solver->owner_count; i++) {
		if (!solver->sums[i].on_path) {
			solver->sums[i].less_ns += length_ns;
			solver->sums[i].nothing_ns += length_ns;
			continue;
		}
		trials.owners[trials.count++] = i;
		if (trials.count < PATH_TRIALS / 2)
			continue;
		add_results(solver, &trials, run_trials(solver, schedule, &trials));
		trials.count = 0;
	}
	if (trials.count)
		add_results(solver, &trials, run_trials(solver, schedule, &trials));
}
