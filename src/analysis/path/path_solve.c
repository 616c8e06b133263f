/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Solves one schedule: its path, the slack of its activities, and how long it would be if an
 * owner's activities took less. Only owners on the path are tried: the others cannot make it
 * shorter.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/path_state.h"
#include "base/members.h"

int path_solver_init(struct path_solver *solver, const struct run *run)
{
	*solver = (struct path_solver){
		.run = run, .owner_count = (uint32_t)run->brick_count + SCHEDULE_OWNERS};
	solver->sums = calloc(solver->owner_count, sizeof(*solver->sums));
	solver->lanes = calloc(run->lane_count + 1, sizeof(*solver->lanes));
	if (solver->sums && solver->lanes)
		return 0;
	path_solver_fini(solver);
	return -ENOMEM;
}

static void free_scratch(struct path_solver *solver)
{
	members_free(solver, duration_ns, finish_ns, latest_ns, path, sample_on_path, trial_ns,
		followers, chain_of, chains, savings);
	solver->capacity = 0;
}

void path_solver_fini(struct path_solver *solver)
{
	free_scratch(solver);
	free(solver->sums);
	free(solver->lanes);
	memset(solver, 0, sizeof(*solver));
}

static int reserve(struct path_solver *solver, size_t count)
{
	if (count <= solver->capacity)
		return 0;
	count += count / 4;
	free_scratch(solver);
	solver->duration_ns = malloc(count * sizeof(uint64_t));
	solver->finish_ns = malloc(count * sizeof(uint64_t));
	solver->latest_ns = malloc(count * sizeof(uint64_t));
	solver->path = malloc(count * sizeof(uint32_t));
	solver->sample_on_path = malloc(count);
	solver->trial_ns = malloc(count * sizeof(*solver->trial_ns));
	solver->followers = malloc(count * sizeof(*solver->followers));
	solver->chain_of = malloc(count * sizeof(*solver->chain_of));
	solver->chains = malloc(count * sizeof(*solver->chains));
	solver->savings = malloc(count * sizeof(*solver->savings));
	if (!solver->duration_ns || !solver->finish_ns || !solver->latest_ns || !solver->path ||
		!solver->sample_on_path || !solver->trial_ns || !solver->followers ||
		!solver->chain_of || !solver->chains || !solver->savings)
		return -ENOMEM;
	solver->capacity = count;
	return 0;
}

/* Path activities without time there say nothing. */
static int is_hop(const struct schedule_activity *a)
{
	return a->duration_ns != 0;
}

static int add_hops(struct path_solver *solver, const struct schedule *schedule, size_t length,
	struct path_section *section)
{
	section->hops = malloc((length + 1) * sizeof(*section->hops));
	if (!section->hops)
		return -ENOMEM;
	for (size_t i = 0; i < length; i++) {
		const struct schedule_activity *a = &schedule->activities.items[solver->path[i]];
		if (!is_hop(a))
			continue;
		section->hops[section->hop_count++] =
			(struct path_hop){solver->finish_ns[solver->path[i]] - a->duration_ns,
				a->duration_ns, a->owner, a->lane, a->sample};
	}
	return 0;
}

static void add_path(struct path_solver *solver, const struct schedule *schedule, size_t length,
	struct path_section *section)
{
	uint32_t lane = RUN_NONE;

	memset(solver->sample_on_path, 0, schedule->activities.count);
	for (size_t i = 0; i < length; i++) {
		const struct schedule_activity *a = &schedule->activities.items[solver->path[i]];
		if (!is_hop(a))
			continue;
		struct path_sum *sum = &solver->sums[a->owner];
		sum->on_path_ns += a->duration_ns;
		solver->lanes[a->lane].on_path_ns += a->duration_ns;
		solver->sample_on_path[solver->path[i]] = 1;
		section->switches += lane != RUN_NONE && lane != a->lane;
		lane = a->lane;
	}
}

static void add_slack(struct path_sum *sum, uint64_t slack_ns)
{
	if (!sum->slack_count || slack_ns < sum->slack_min_ns)
		sum->slack_min_ns = slack_ns;
	if (!sum->slack_count || slack_ns > sum->slack_max_ns)
		sum->slack_max_ns = slack_ns;
	sum->slack_ns += slack_ns;
	sum->slack_count++;
}

/* An execution may have several parts; its last one stands for it. */
static void add_activities(struct path_solver *solver, const struct schedule *schedule)
{
	for (size_t i = 0; i < schedule->activities.count; i++) {
		const struct schedule_activity *a = &schedule->activities.items[i];
		if (a->kind == SCHEDULE_POINT)
			continue;
		struct path_sum *sum = &solver->sums[a->owner];
		struct path_lane *lane = &solver->lanes[a->lane];
		sum->seen = 1;
		sum->own_ns += a->duration_ns;
		sum->count += a->is_last;
		sum->on_path_count += a->is_last && solver->sample_on_path[i];
		if (a->is_last && solver->latest_ns[i] != UINT64_MAX)
			add_slack(sum, solver->latest_ns[i] > solver->finish_ns[i]
					       ? solver->latest_ns[i] - solver->finish_ns[i]
					       : 0);
		if (a->kind == SCHEDULE_WORK)
			lane->work_ns += a->duration_ns;
		if (a->kind == SCHEDULE_WAIT)
			lane->waited_ns += a->end_ns - a->begin_ns - a->duration_ns;
	}
}

int path_solve(struct path_solver *solver, const struct schedule *schedule,
	struct path_section *section, int keep_hops)
{
	if (reserve(solver, schedule->activities.count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < schedule->activities.count; i++)
		solver->duration_ns[i] = schedule->activities.items[i].duration_ns;
	brick__dag_forward(&schedule->dag, solver->duration_ns, solver->finish_ns);
	uint64_t length_ns = solver->finish_ns[schedule->end];
	brick__dag_backward(
		&schedule->dag, solver->duration_ns, length_ns, schedule->end, solver->latest_ns);
	size_t length =
		brick__dag_path(&schedule->dag, solver->finish_ns, schedule->end, solver->path);
	section->length_ns += length_ns;
	add_path(solver, schedule, length, section);
	add_activities(solver, schedule);
	if (keep_hops && add_hops(solver, schedule, length, section) < 0)
		return -ENOMEM;
	path_try_owners(solver, schedule, length);
	return 0;
}
