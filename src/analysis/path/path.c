/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up schedules: one for each step, solved forward for the path, backward for the slack, and
 * forward again with other times for each brick on the path: its length if all activities of an
 * owner took a tenth less, or no time. Only owners on the path are tried: the others cannot make it
 * shorter. Trials go from chain to chain: a chain is activities that come one after the other and
 * have no part in anything else. Where all ways to the end come together, as at a barrier of all
 * threads, a schedule falls into stretches that are as long for themselves as they are in it.
 * Several trials run side by side through a stretch, as most of the time goes into finding its
 * chains in memory.
 */
#include "analysis/path/path.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/unknown.h"
#include "base/members.h"
#include "base/order.h"
#include "brick/error.h"
#include "brick/registry.h"

/* Sums of an owner over the schedules of a section, and its state in the trials of one schedule. */
struct path_sum {
	uint64_t count, own_ns, on_path_ns, on_path_count;
	uint64_t slack_count, slack_ns, slack_min_ns, slack_max_ns;
	uint64_t less_ns, nothing_ns;
	uint64_t estimated; /* part of count */
	bool seen;	    /* it has activities in the section */
	uint8_t trial;	    /* number of its trial from 1, while it is tried */
	uint64_t stretch;   /* the stretch in which it was tried last */
	uint64_t chain;	    /* the chain in which it was found last ... */
	uint32_t saving;    /* ... and its place in the solver's savings there */
};

/* Trials that run side by side through a stretch: their times fill one cache line. */
enum { TRIALS = 8 };
typedef uint64_t trial_times[TRIALS];

/* Activities one after the other: others come only before the first, and after the last. */
struct path_chain {
	uint64_t duration_ns;
	uint32_t head, tail; /* activities */
	uint32_t saving_first, saving_count;
	bool is_joint; /* all ways to the end go through it */
};

/* The time that a chain saves if an owner takes a tenth less time in it, or no time. */
struct path_saving {
	uint64_t less_ns, nothing_ns;
	uint32_t owner;
};

struct solver {
	const struct run *run;
	struct path_sum *sums;	 /* [brick_count + SCHEDULE_OWNERS] */
	struct path_lane *lanes; /* [lane_count] */
	uint32_t owner_count;
	/* Scratch for one schedule, [capacity] by activity. */
	size_t capacity;
	uint64_t *duration_ns, *finish_ns;
	uint64_t *latest_ns;	 /* UINT64_MAX: the activity does not lead to the end */
	uint32_t *path;		 /* the activities on the path */
	uint8_t *sample_on_path; /* its sample has time on the path, in this or an earlier activity
				  */
	/* For trials, of activities that lead to the end: */
	uint32_t *followers; /* by activity: how many come right after it */
	uint32_t *chain_of;  /* by activity: index in `chains` */
	struct path_chain *chains;
	struct path_saving *savings;
	uint32_t chain_count, saving_count;
	trial_times *trial_ns;		 /* by chain: when it finishes in each trial */
	uint64_t stretches, chains_made; /* in all schedules so far */
};

/* ns less a tenth, rounded. */
static uint64_t tenth_less(uint64_t ns)
{
	return ns - ns / 10 - (ns % 10 >= 5);
}

/*
 * True for time off the CPU, and for waits for a device or something unknown: they have no work of
 * their own, and end sooner only if their cause does. Leaving a barrier does take time that could
 * be less.
 */
static bool is_only_a_wait(const struct run *run, const struct schedule_activity *a)
{
	if (a->kind == SCHEDULE_OFF)
		return true;
	return a->kind == SCHEDULE_WAIT && a->owner < run->brick_count &&
	       run->bricks[a->owner].well_known != BRICK_BARRIER_WAIT;
}

/* Adds an activity to the last chain, and the time that the chain saves if its owner takes less. */
static void path_add_activity(struct solver *s, const struct schedule_activity *a)
{
	struct path_chain *chain = &s->chains[s->chain_count - 1];
	struct path_sum *sum = &s->sums[a->owner];

	chain->duration_ns += a->duration_ns;
	if (!a->duration_ns || is_only_a_wait(s->run, a))
		return;
	if (sum->chain != s->chains_made) {
		sum->chain = s->chains_made;
		sum->saving = s->saving_count;
		s->savings[s->saving_count++] = (struct path_saving){.owner = a->owner};
		chain->saving_count++;
	}
	struct path_saving *saving = &s->savings[sum->saving];
	saving->less_ns += a->duration_ns - tenth_less(a->duration_ns);
	saving->nothing_ns += a->duration_ns;
}

/*
 * Finds chains in a schedule that has been solved backward. An activity that does not lead to its
 * end is in no chain.
 */
static void find_chains(struct solver *s, const struct schedule *schedule)
{
	const struct brick__dag *dag = &schedule->dag;
	uint32_t last = RUN_NONE;

	s->chain_count = s->saving_count = 0;
	memset(s->followers, 0, dag->count * sizeof(*s->followers));
	for (uint32_t v = 0; v < dag->count; v++)
		for (uint32_t p = dag->first[v];
			s->latest_ns[v] != UINT64_MAX && p < dag->first[v + 1]; p++)
			s->followers[dag->before[p]]++;
	for (uint32_t i = 0; i < dag->count; i++) {
		uint32_t v = dag->order[i], first = dag->first[v];
		if (s->latest_ns[v] == UINT64_MAX)
			continue;
		if (last == RUN_NONE || dag->first[v + 1] - first != 1 ||
			dag->before[first] != last || s->followers[last] != 1) {
			s->chains[s->chain_count++] =
				(struct path_chain){.head = v, .saving_first = s->saving_count};
			s->chains_made++;
		}
		s->chain_of[v] = s->chain_count - 1;
		s->chains[s->chain_count - 1].tail = v;
		path_add_activity(s, &schedule->activities.items[v]);
		last = v;
	}
}

/* Chains from one that all ways go through to the next such one. */
struct stretch {
	struct solver *solver;
	const struct brick__dag *dag;
	uint32_t first, last;	     /* chains */
	uint64_t length_ns;	     /* as it is */
	uint32_t owners[TRIALS / 2]; /* trial 2i: a tenth less; 2i + 1: nothing */
	unsigned count;
};

/* The begin of a chain in each trial, counted from the begin of the stretch. */
static inline void begin_chain(const struct stretch *s, uint32_t chain, trial_times begin)
{
	const struct solver *solver = s->solver;
	uint32_t head = solver->chains[chain].head;

	memset(begin, 0, sizeof(trial_times));
	for (uint32_t p = s->dag->first[head]; p < s->dag->first[head + 1]; p++) {
		uint32_t before = solver->chain_of[s->dag->before[p]];
		const uint64_t *finish = solver->trial_ns[before];
		for (int k = 0; before >= s->first && k < TRIALS; k++)
			begin[k] = begin[k] > finish[k] ? begin[k] : finish[k];
	}
}

/* Runs the trials over a stretch; returns the end of its last chain in each. */
static const uint64_t *run_trials(const struct stretch *s)
{
	const struct solver *solver = s->solver;

	for (uint32_t i = s->first; i <= s->last; i++) {
		const struct path_chain *chain = &solver->chains[i];
		const struct path_saving *saving = &solver->savings[chain->saving_first];
		uint64_t *finish = solver->trial_ns[i];
		begin_chain(s, i, finish);
		for (int k = 0; k < TRIALS; k++)
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

/* Shortens a stretch of one chain by the saving. */
static void save_all(const struct stretch *s)
{
	const struct solver *solver = s->solver;
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
	struct solver *solver = s->solver;
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
		if (s->count == TRIALS / 2)
			try_owners(s);
	}
	if (s->count)
		try_owners(s);
}

/* Marks the chains that all ways go through: no later chain begins after one before them. */
static void find_joints(struct solver *solver, const struct brick__dag *dag)
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

/* Finds what each owner could save in a schedule that has been solved. */
static void try_all_owners(
	struct solver *solver, const struct schedule *schedule, size_t path_count)
{
	struct stretch s = {.solver = solver, .dag = &schedule->dag};
	uint64_t begin_ns = 0;
	size_t from = 0;

	for (uint32_t i = 0; i < solver->owner_count; i++) {
		solver->sums[i].less_ns += solver->finish_ns[schedule->end];
		solver->sums[i].nothing_ns += solver->finish_ns[schedule->end];
	}
	find_chains(solver, schedule);
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

static void free_scratch(struct solver *solver)
{
	members_free(solver, duration_ns, finish_ns, latest_ns, path, sample_on_path, trial_ns,
		followers, chain_of, chains, savings);
	solver->capacity = 0;
}

static void solver_fini(struct solver *solver)
{
	free_scratch(solver);
	free(solver->sums);
	free(solver->lanes);
	memset(solver, 0, sizeof(*solver));
}

/* -ENOMEM; *solver is then empty. */
static int solver_init(struct solver *solver, const struct run *run)
{
	*solver = (struct solver){
		.run = run, .owner_count = (uint32_t)run->brick_count + SCHEDULE_OWNERS};
	solver->sums = calloc(solver->owner_count, sizeof(*solver->sums));
	solver->lanes = calloc(run->lane_count + 1, sizeof(*solver->lanes));
	if (solver->sums && solver->lanes)
		return 0;
	solver_fini(solver);
	return -ENOMEM;
}

static int path_reserve(struct solver *solver, size_t count)
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
static bool is_hop(const struct schedule_activity *a)
{
	return a->duration_ns != 0;
}

static int add_hops(struct solver *solver, const struct schedule *schedule, size_t length,
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

static void add_path(struct solver *solver, const struct schedule *schedule, size_t length,
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

/* An execution may have several parts; its last one stands for it. */
static void add_activities(struct solver *solver, const struct schedule *schedule)
{
	for (size_t i = 0; i < schedule->activities.count; i++) {
		const struct schedule_activity *a = &schedule->activities.items[i];
		if (a->kind == SCHEDULE_POINT)
			continue;
		struct path_sum *sum = &solver->sums[a->owner];
		struct path_lane *lane = &solver->lanes[a->lane];
		sum->seen = true;
		sum->own_ns += a->duration_ns;
		sum->count += a->is_last;
		sum->estimated += a->is_last && path_is_estimated(solver->run, a->lane, a->sample);
		sum->on_path_count += a->is_last && solver->sample_on_path[i];
		if (a->is_last && solver->latest_ns[i] != UINT64_MAX) {
			uint64_t slack_ns = solver->latest_ns[i] > solver->finish_ns[i]
						    ? solver->latest_ns[i] - solver->finish_ns[i]
						    : 0;
			if (!sum->slack_count || slack_ns < sum->slack_min_ns)
				sum->slack_min_ns = slack_ns;
			if (!sum->slack_count || slack_ns > sum->slack_max_ns)
				sum->slack_max_ns = slack_ns;
			sum->slack_ns += slack_ns;
			sum->slack_count++;
		}
		if (a->kind == SCHEDULE_WORK)
			lane->work_ns += a->duration_ns;
		if (a->kind == SCHEDULE_WAIT || a->kind == SCHEDULE_OFF)
			lane->waited_ns += a->end_ns - a->begin_ns - a->duration_ns;
	}
}

/* Solve one schedule and add it to the sums and the section. -ENOMEM. */
static int solve(struct solver *solver, const struct schedule *schedule,
	struct path_section *section, bool keep_hops)
{
	if (path_reserve(solver, schedule->activities.count) < 0)
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
	try_all_owners(solver, schedule, length);
	return 0;
}

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

COMPARATOR(path_compare_rows, struct path_row,
	ORDER(x->rank, y->rank) ?: ORDER(x->less_ns, y->less_ns)
		?: ORDER(x->nothing_ns, y->nothing_ns) ?: ORDER(y->own_ns, x->own_ns)
		?: strcmp(x->name, y->name))

static enum path_rank path_rank_of(const struct run *run, uint32_t owner)
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

static void path_fill_row(
	struct path_row *row, const struct path_sum *sum, const struct run *run, uint32_t owner)
{
	*row = (struct path_row){.name = path_owner_name(run, owner),
		.owner = owner,
		.rank = path_rank_of(run, owner),
		.count = sum->count,
		.own_ns = sum->own_ns,
		.on_path_ns = sum->on_path_ns,
		.on_path_count = sum->on_path_count,
		.estimated = sum->estimated,
		.slack_mean_ns =
			sum->slack_count ? sum->slack_ns / sum->slack_count : ANALYSIS_UNKNOWN,
		.slack_min_ns = sum->slack_count ? sum->slack_min_ns : ANALYSIS_UNKNOWN,
		.slack_max_ns = sum->slack_count ? sum->slack_max_ns : ANALYSIS_UNKNOWN,
		.less_ns = sum->less_ns,
		.nothing_ns = sum->nothing_ns};
	if (owner < run->brick_count)
		row->category = run->categories[run->bricks[owner].category].name;
}

/* Turns the sums into rows and lanes, and clears them. */
static int finish_section(struct path *path, struct solver *solver)
{
	struct path_section *section = &path->sections[path->section_count];
	uint32_t owners = (uint32_t)path->run->brick_count + SCHEDULE_OWNERS;

	section->rows = calloc(owners, sizeof(*section->rows));
	section->lanes = calloc(path->run->lane_count + 1, sizeof(*section->lanes));
	if (!section->rows || !section->lanes)
		return -ENOMEM;
	for (uint32_t i = 0; i < owners; i++)
		if (solver->sums[i].seen)
			path_fill_row(&section->rows[section->row_count++], &solver->sums[i],
				path->run, i);
	qsort(section->rows, section->row_count, sizeof(*section->rows), path_compare_rows);
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

static int path_add_schedule(struct path_section *section, struct solver *solver,
	struct schedule *schedule, bool keep_hops)
{
	section->steps++;
	section->measured_ns += schedule->measured_ns;
	members_add(&section->counts, &schedule->counts, barriers, waits, unknown_waits,
		unknown_wait_ns, idle, idle_ns, starts, launches, queue_blocks, beneath_ns,
		contradictions);
	int rc = solve(solver, schedule, section, keep_hops);
	schedule_fini(schedule);
	return rc;
}

/* Steps come in the order of their begins; last_ns: the end of the union so far. */
static void path_unite(
	struct path_section *section, uint64_t begin_ns, uint64_t length_ns, uint64_t *last_ns)
{
	uint64_t end_ns = begin_ns + length_ns;

	if (end_ns <= *last_ns)
		return;
	section->union_ns += end_ns - (begin_ns > *last_ns ? begin_ns : *last_ns);
	*last_ns = end_ns;
}

static int measure_phase(struct path *path, struct solver *solver, const struct step_index *index,
	const struct schedule_source *source, uint32_t phase)
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
		path_unite(section, schedule.begin_ns, schedule.measured_ns, &last_ns);
		rc = path_add_schedule(section, solver, &schedule, false);
	}
	return rc == 0 && section->steps ? finish_section(path, solver) : rc;
}

static int path_measure_step(struct path *path, struct solver *solver,
	const struct step_index *index, const struct schedule_source *source, uint32_t step)
{
	const struct run_step *s = &path->run->steps[step];
	struct path_section *section = &path->sections[path->section_count];
	struct schedule schedule;

	*section = (struct path_section){.phase = (int)s->phase, .step = step, .tokens = s->tokens};
	int rc = schedule_of_step(&schedule, path->run, index, source, step);
	if (rc == 0)
		rc = path_add_schedule(section, solver, &schedule, true);
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

static int measure_process(struct path *path, struct solver *solver, const struct step_index *index,
	const struct schedule_source *source)
{
	struct path_section *section = &path->sections[path->section_count];
	struct schedule schedule;

	*section = (struct path_section){.phase = STEP_PHASES, .step = RUN_NONE};
	int rc = schedule_of_process(&schedule, path->run, index, source, largest_process(path));
	if (rc == 0)
		rc = path_add_schedule(section, solver, &schedule, true);
	section->steps = 0;
	return rc == 0 ? finish_section(path, solver) : rc;
}

static int path_measure(struct path *path, const struct step_index *index,
	const struct schedule_source *source, uint32_t step)
{
	struct solver solver;
	int rc = solver_init(&solver, path->run);

	if (rc < 0)
		return rc;
	if (step != RUN_NONE) {
		rc = path_measure_step(path, &solver, index, source, step);
	} else if (path->run->step_count) {
		for (size_t i = 0; i < STEP_PHASES && rc == 0; i++)
			rc = measure_phase(path, &solver, index, source, step_phase_order[i]);
	} else {
		rc = measure_process(path, &solver, index, source);
	}
	solver_fini(&solver);
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
		rc = path_measure(path, index, source, step);
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
