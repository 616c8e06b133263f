/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up schedules: one for each step, solved forward for the path, backward for the slack, and
 * forward again with other times for each brick on the path. Called by `brick path`.
 */
#include "analysis/path/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/path/path_state.h"
#include "analysis/accounts/unknown.h"
#include "base/members.h"
#include "base/order.h"
#include "brick/error.h"
#include "brick/registry.h"

const char *path_owner_name(const struct run *run, uint32_t owner)
{
	static const char *const names[SCHEDULE_OWNERS] = {
		[SCHEDULE_OWNER_BARRIER] = "BarrierWait",
		[SCHEDULE_OWNER_REST] = "unattributed",
		[SCHEDULE_OWNER_START] = "thread start",
		[SCHEDULE_OWNER_LAUNCH] = "launch latency",
		[SCHEDULE_OWNER_PREEMPTED] = "preempted",
		[SCHEDULE_OWNER_BLOCKED] = "blocked",
		[SCHEDULE_OWNER_LEFT_OUT] = "left out",
	};

	return owner < run->brick_count ? run->bricks[owner].name : names[owner - run->brick_count];
}

double path_tokens_per_s(const struct path_section *section, uint64_t ns)
{
	if (section->phase == STEP_PHASES || section->phase == STEP_WARM_UP || !section->tokens ||
		!ns)
		return -1;
	double at_once =
		section->union_ns ? (double)section->measured_ns / (double)section->union_ns : 1;
	return (double)section->tokens * at_once * 1e9 / (double)ns;
}

COMPARATOR(compare_rows, struct path_row,
	ORDER(x->rank, y->rank) ?: ORDER(x->less_ns, y->less_ns)
		?: ORDER(x->nothing_ns, y->nothing_ns) ?: ORDER(y->own_ns, x->own_ns)
		?: strcmp(x->name, y->name))

static enum path_rank rank_of(const struct run *run, uint32_t owner)
{
	const char *wait = brick_category_name(BRICK_CATEGORY_WAIT);
	if (owner < run->brick_count) {
		const char *category = run->categories[run->bricks[owner].category].name;
		return strcmp(category, wait) ? PATH_WORK : PATH_WAIT;
	}
	switch (owner - run->brick_count) {
	case SCHEDULE_OWNER_LEFT_OUT:
		return PATH_LEFT_OUT;
	case SCHEDULE_OWNER_REST:
		return PATH_WORK;
	default:
		return PATH_WAIT;
	}
}

static void fill_row(
	struct path_row *row, const struct path_sum *sum, const struct run *run, uint32_t owner)
{
	*row = (struct path_row){.name = path_owner_name(run, owner),
		.owner = owner,
		.rank = rank_of(run, owner),
		.count = sum->count,
		.own_ns = sum->own_ns,
		.on_path_ns = sum->on_path_ns,
		.on_path_count = sum->on_path_count,
		.slack_mean_ns =
			sum->slack_count ? sum->slack_ns / sum->slack_count : ANALYSIS_UNKNOWN,
		.slack_min_ns = sum->slack_count ? sum->slack_min_ns : ANALYSIS_UNKNOWN,
		.slack_max_ns = sum->slack_count ? sum->slack_max_ns : ANALYSIS_UNKNOWN,
		.less_ns = sum->less_ns,
		.nothing_ns = sum->nothing_ns};
	if (owner < run->brick_count)
		row->category = run->categories[run->bricks[owner].category].name;
}

/* Turn what was summed up into rows and lanes, and forget it. */
static int finish_section(struct path *path, struct path_solver *solver)
{
	struct path_section *section = &path->sections[path->section_count];
	uint32_t owners = (uint32_t)path->run->brick_count + SCHEDULE_OWNERS;

	section->rows = calloc(owners, sizeof(*section->rows));
	section->lanes = calloc(path->run->lane_count + 1, sizeof(*section->lanes));
	if (!section->rows || !section->lanes)
		return -ENOMEM;
	for (uint32_t i = 0; i < owners; i++)
		if (solver->sums[i].seen)
			fill_row(&section->rows[section->row_count++], &solver->sums[i], path->run,
				i);
	qsort(section->rows, section->row_count, sizeof(*section->rows), compare_rows);
	for (uint32_t i = 0; i < path->run->lane_count; i++)
		if (solver->lanes[i].work_ns || solver->lanes[i].on_path_ns ||
			solver->lanes[i].waited_ns) {
			section->lanes[section->lane_count] = solver->lanes[i];
			section->lanes[section->lane_count++].lane = i;
		}
	memset(solver->sums, 0, owners * sizeof(*solver->sums));
	memset(solver->lanes, 0, path->run->lane_count * sizeof(*solver->lanes));
	path->section_count++;
	return 0;
}

static void add_counts(struct schedule_counts *to, const struct schedule_counts *from)
{
	members_add(to, from, barriers, waits, unknown_waits, unknown_wait_ns, idle, idle_ns,
		starts, launches, contradictions);
}

static int add_schedule(struct path_section *section, struct path_solver *solver,
	struct schedule *schedule, int keep_hops)
{
	section->steps++;
	section->measured_ns += schedule->measured_ns;
	add_counts(&section->counts, &schedule->counts);
	int rc = path_solve(solver, schedule, section, keep_hops);
	schedule_fini(schedule);
	return rc;
}

/* Steps come in the order of their begins; last_ns: end of what is in the union so far. */
static void unite(
	struct path_section *section, uint64_t begin_ns, uint64_t length_ns, uint64_t *last_ns)
{
	uint64_t end_ns = begin_ns + length_ns;

	if (end_ns <= *last_ns)
		return;
	section->union_ns += end_ns - (begin_ns > *last_ns ? begin_ns : *last_ns);
	*last_ns = end_ns;
}

static int measure_phase(struct path *path, struct path_solver *solver,
	const struct step_index *index, const struct schedule_source *source, uint32_t phase)
{
	const struct run *run = path->run;
	struct path_section *section = &path->sections[path->section_count];
	struct schedule schedule;
	uint64_t last_ns = 0;
	int rc = 0;

	*section = (struct path_section){.phase = (int)phase, .step = RUN_NONE};
	for (uint32_t i = 0; i < run->step_count && rc == 0; i++) {
		if (!step_index_is_evaluated(index, run, i) || run->steps[i].phase != phase)
			continue;
		section->tokens += run->steps[i].tokens;
		rc = schedule_of_step(&schedule, run, index, source, i);
		if (rc < 0)
			break;
		unite(section, schedule.begin_ns, schedule.measured_ns, &last_ns);
		rc = add_schedule(section, solver, &schedule, 0);
	}
	return rc == 0 && section->steps ? finish_section(path, solver) : rc;
}

static int measure_step(struct path *path, struct path_solver *solver,
	const struct step_index *index, const struct schedule_source *source, uint32_t step)
{
	const struct run_step *s = &path->run->steps[step];
	struct path_section *section = &path->sections[path->section_count];
	struct schedule schedule;

	*section = (struct path_section){.phase = (int)s->phase, .step = step, .tokens = s->tokens};
	int rc = schedule_of_step(&schedule, path->run, index, source, step);
	if (rc == 0)
		rc = add_schedule(section, solver, &schedule, 1);
	return rc == 0 ? finish_section(path, solver) : rc;
}

static uint32_t largest_process(struct path *path)
{
	const struct run *run = path->run;
	size_t most = 0;
	uint32_t largest = 0;

	for (uint32_t process = 0; process < run->process_count; process++) {
		size_t samples = 0;
		for (size_t i = 0; i < run->lane_count; i++)
			if (run->lanes[i].process == process)
				samples += run->lanes[i].sample_count;
		path->other_processes += samples != 0;
		if (samples > most) {
			most = samples;
			largest = process;
		}
	}
	path->other_processes -= most != 0;
	return largest;
}

static int measure_process(struct path *path, struct path_solver *solver,
	const struct step_index *index, const struct schedule_source *source)
{
	struct path_section *section = &path->sections[path->section_count];
	struct schedule schedule;

	*section = (struct path_section){.phase = STEP_PHASES, .step = RUN_NONE};
	int rc = schedule_of_process(&schedule, path->run, index, source, largest_process(path));
	if (rc == 0)
		rc = add_schedule(section, solver, &schedule, 1);
	section->steps = 0;
	return rc == 0 ? finish_section(path, solver) : rc;
}

static int measure(struct path *path, const struct step_index *index,
	const struct schedule_source *source, uint32_t step)
{
	struct path_solver solver;
	int rc = path_solver_init(&solver, path->run);

	if (rc < 0)
		return rc;
	if (step != RUN_NONE) {
		rc = measure_step(path, &solver, index, source, step);
	} else if (path->run->step_count) {
		static const enum step_phase order[] = {
			STEP_DECODE, STEP_MIXED, STEP_PREFILL, STEP_WARM_UP};
		for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && rc == 0; i++)
			rc = measure_phase(path, &solver, index, source, order[i]);
	} else {
		rc = measure_process(path, &solver, index, source);
	}
	path_solver_fini(&solver);
	return rc == 0 && !path->section_count ? BRICK_ENOTRECORDED : rc;
}

int path_create_from(struct path **out, const struct schedule_source *source, const struct run *run,
	const struct step_index *index, uint32_t step)
{
	struct path *path = calloc(1, sizeof(*path));
	int rc = -ENOMEM;

	if (path)
		path->sections = calloc(STEP_PHASES + 1, sizeof(*path->sections));
	if (path && path->sections) {
		path->run = run;
		rc = measure(path, index, source, step);
	}
	if (rc < 0)
		path_destroy(path);
	else
		*out = path;
	return rc;
}

int path_create(
	struct path **out, const struct run *run, const struct step_index *index, uint32_t step)
{
	struct schedule_source source;
	int rc = schedule_source_find(&source, run, index);
	if (rc < 0)
		return rc;
	rc = path_create_from(out, &source, run, index, step);
	schedule_source_fini(&source);
	return rc;
}

void path_destroy(struct path *path)
{
	if (!path)
		return;
	/* one more than there are: the one that failed may hold some, too */
	for (size_t i = 0; path->sections && i <= path->section_count && i <= STEP_PHASES; i++) {
		free(path->sections[i].rows);
		free(path->sections[i].lanes);
		free(path->sections[i].hops);
	}
	free(path->sections);
	free(path);
}
