/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts lane by lane. A lane's samples are scaled to its thread's own counts, as dropped samples
 * cost as much as those in the file.
 */
#include "analysis/accounts/execution_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "brick/abi/overhead.h"
#include "brick/registry.h"

static uint64_t execution_counts_difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t steps_made(const struct run *run, uint32_t lane)
{
	uint64_t count = 0;
	for (size_t b = 0; run->lanes[lane].stats && b < run->brick_count; b++)
		if (brick_is_step((uint32_t)run->bricks[b].well_known))
			count += run->lanes[lane].stats[b].count;
	return count;
}

/* The part of each process's steps that is in the file: the wall time is that of these steps. */
static double *find_steps_there(const struct run *run)
{
	SCOPED uint64_t *made = calloc(run->process_count + 1, sizeof(*made));
	double *there = calloc(run->process_count + 1, sizeof(*there));
	if (!made || !there) {
		free(there);
		return NULL;
	}
	for (uint32_t lane = 0; lane < run->lane_count; lane++)
		made[run->lanes[lane].process] += steps_made(run, lane);
	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *step = &run->steps[i];
		if (step->lane >= run->lane_count ||
			step->sample >= run->lanes[step->lane].sample_count)
			continue;
		there[run->lanes[step->lane].process] += !step->open;
	}
	for (size_t p = 0; p < run->process_count; p++)
		there[p] =
			there[p] > 0 && there[p] < (double)made[p] ? there[p] / (double)made[p] : 1;
	return there;
}

/* How many executions a sample of the lane stands for, in steps that are in the file; at least 1.
 */
static double executions_per_sample(const struct execution_counts *e, const struct run_lane *lane)
{
	uint64_t executions = 0, samples = 0;
	for (uint32_t b = 0; lane->stats && b < e->run->brick_count; b++) {
		if (b == e->wait_brick)
			continue;
		executions += lane->stats[b].count;
		samples += e->lane_counts[b];
	}
	if (!samples || executions <= samples)
		return 1;
	double ratio = (double)executions / (double)samples * e->steps_there[lane->process];
	return ratio > 1 ? ratio : 1;
}

/* Counts of a broken session may be of any size. */
static uint64_t execution_counts_scaled(uint64_t count, double ratio)
{
	double product = (double)count * ratio + 0.5;
	return product < (double)UINT64_MAX ? (uint64_t)product : UINT64_MAX;
}

/* Keeps the least value that is not 0. *least is 0 while there is none. */
static void execution_counts_keep_least(uint64_t *least, uint64_t ns)
{
	if (ns && (!*least || ns < *least))
		*least = ns;
}

static void add_pairs(struct summary_pairs *to, const struct summary_pairs *from, double ratio)
{
	for (unsigned phase = 0; phase <= STEP_PHASES; phase++) {
		to->count[phase] += execution_counts_scaled(from->count[phase], ratio);
		to->own_count[phase] += execution_counts_scaled(from->own_count[phase], ratio);
		to->own_ns[phase] += execution_counts_scaled(from->own_ns[phase], ratio);
		to->inflated[phase] += execution_counts_scaled(from->inflated[phase], ratio);
		to->inflated_ns[phase] += from->inflated_ns[phase];
		to->inflated_nodes_ns[phase] += from->inflated_nodes_ns[phase];
		to->beside[phase] += execution_counts_scaled(from->beside[phase], ratio);
		to->own_beside_ns[phase] +=
			execution_counts_scaled(from->own_beside_ns[phase], ratio);
	}
	to->split_count += from->split_count;
	to->split_ns += from->split_ns;
	execution_counts_keep_least(&to->split_min_ns, from->split_min_ns);
	execution_counts_keep_least(&to->own_min_ns, from->own_min_ns);
}

/* Counts the profiler's own work. Being preempted meanwhile is no cost of it. */
static void count_own(struct summary_pairs *hooked, const struct walk_frame *frame, uint64_t ns,
	uint32_t phase, uint32_t beside)
{
	if (frame->sample->source == BRICK_SOURCE_CALLBACK) {
		hooked->split_count++;
		hooked->split_ns += ns;
		execution_counts_keep_least(&hooked->split_min_ns, ns);
	}
	hooked->own_count[phase]++;
	hooked->own_ns[phase] += ns;
	execution_counts_keep_least(&hooked->own_min_ns, ns);
	if (beside < STEP_PHASES)
		hooked->own_beside_ns[beside] += ns;
}

/*
 * Counts a hooked sample. phase: of the step in whose wall time it lies; beside: of the step that
 * another thread ran meanwhile; STEP_PHASES: there is no such step.
 */
static void count_hooked(
	struct execution_counts *e, const struct walk_frame *frame, uint32_t phase, uint32_t beside)
{
	struct summary_pairs *hooked = &e->lane_hooked;
	hooked->count[phase]++;
	if (beside < STEP_PHASES)
		hooked->beside[beside]++;
	if (e->index->kinds[frame->brick] == BRICK_KIND_OVERHEAD)
		count_own(hooked, frame, walk_basis_ns(e->index, frame), phase, beside);
	else if (frame->sample->source == BRICK_SOURCE_CALLBACK) {
		hooked->inflated[phase]++;
		hooked->inflated_nodes_ns[phase] += frame->length_ns;
	}
	if (e->run->bricks[frame->brick].well_known == BRICK_GRAPH_COMPUTE)
		hooked->inflated_ns[phase] += frame->length_ns;
}

/* The phase of the frame's step; STEP_PHASES: the frame has no step. */
static uint32_t execution_counts_phase_of(
	const struct execution_counts *e, const struct walk_frame *frame)
{
	return frame->step == RUN_NONE ? STEP_PHASES : e->run->steps[frame->step].phase;
}

/* The phase in whose wall time the frame lies; STEP_PHASES: in none. */
static uint32_t wall_phase(const struct execution_counts *e, const struct walk_frame *frame)
{
	return walk_in_wall(e->run, frame) ? execution_counts_phase_of(e, frame) : STEP_PHASES;
}

static void execution_counts_on_sample(
	void *context, const struct walk_frame *frame, unsigned depth)
{
	struct execution_counts *e = context;
	uint32_t phase = wall_phase(e, frame);
	/* Records of hooks on their threads, phases too, are part of the hooks' cost. */
	if (e->run->sites[frame->sample->site].operation || e->run->lanes[e->lane].hook_calls)
		count_hooked(e, frame, phase,
			frame->scope == WALK_ALONGSIDE ? execution_counts_phase_of(e, frame)
						       : STEP_PHASES);
	else
		e->lane_pairs.count[phase]++;
	if (depth == 1 && frame->end_ns + frame->wait_ns > e->lane_end_ns)
		e->lane_end_ns = frame->end_ns + frame->wait_ns;
	if (walk_has_ended(frame))
		e->lane_counts[frame->brick]++;
}

/* Tiles are in no row, but cost as much as others. No hook records them. */
static void execution_counts_on_tile(void *context, const struct walk_frame *holder, uint32_t i)
{
	struct execution_counts *e = context;
	const struct run_sample *sample = &e->run->lanes[e->lane].samples[i];

	e->lane_pairs.count[wall_phase(e, holder)]++;
	if (!(sample->flags & RUN_SAMPLE_OPEN))
		e->lane_counts[e->run->sites[sample->site].brick]++;
}

static int execution_counts_on_thread(void *context, uint32_t lane)
{
	struct execution_counts *e = context;
	if (e->run->lanes[lane].kind == BRICK_LANE_QUEUE)
		return 0;
	e->lane = lane;
	memset(e->lane_counts, 0, (e->run->brick_count + 1) * sizeof(*e->lane_counts));
	e->lane_pairs = e->lane_hooked = (struct summary_pairs){0};
	e->lane_end_ns = 0;
	return 1;
}

/*
 * Compares the thread's counts with the file's, unless something is known to have been dropped.
 * Waits are left out, as waits of less than a ns are in the statistics only; and tiles, which are
 * in no row.
 */
static void compare_lane(struct execution_counts *e, const struct run_lane *lane)
{
	const struct run_process *process = &e->run->processes[lane->process];
	bool lossless = e->run->complete && !e->run->has_statistics_only && !lane->ledger.dropped &&
			!process->ledger.dropped;
	for (uint32_t b = 0; b < e->run->brick_count; b++) {
		uint64_t sampled = e->lane_counts[b];
		if (b == e->wait_brick || e->index->kinds[b] == BRICK_KIND_TILE)
			continue;
		e->samples += sampled;
		e->executions += lane->stats ? lane->stats[b].count : sampled;
		if (lane->stats && lossless && !e->was_reset)
			e->mismatched += execution_counts_difference(lane->stats[b].count, sampled);
	}
}

/* A thread's lifetime, which spans all its samples: the wall time of runs without steps. */
static uint64_t lifetime_ns(const struct execution_counts *e, const struct run_lane *lane)
{
	uint64_t begin_ns = lane->start_ns, end_ns = lane->end_ns;
	if (lane->sample_count && lane->samples[0].begin_ns < begin_ns)
		begin_ns = lane->samples[0].begin_ns;
	if (e->lane_end_ns > end_ns)
		end_ns = e->lane_end_ns;
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* Without samples, each execution in a thread's statistics was a pair, of no known phase. */
static void execution_counts_count_pairs(struct execution_counts *e, const struct run_lane *lane)
{
	e->lane_pairs = e->lane_hooked = (struct summary_pairs){0};
	for (size_t b = 0; lane->stats && b < e->run->brick_count; b++)
		if (b != e->wait_brick)
			e->lane_pairs.count[STEP_PHASES] += lane->stats[b].count;
}

/* Adds the lane that the walk was on, with durations that the program reported. */
static int on_thread_end(void *context, uint32_t number)
{
	struct execution_counts *e = context;
	const struct run_lane *lane = &e->run->lanes[number];
	for (size_t i = 0; e->has_reported && i < e->run->point_count; i++) {
		const struct run_point *p = &e->run->points[i];
		if (p->kind == RUN_POINT_REPORTED && p->lane == number)
			e->lane_counts[p->brick]++;
	}
	if (e->run->has_statistics_only)
		execution_counts_count_pairs(e, lane);
	double ratio = executions_per_sample(e, lane);
	add_pairs(&e->pairs[lane->process], &e->lane_pairs, ratio);
	add_pairs(&e->hooked[number], &e->lane_hooked, ratio);
	compare_lane(e, lane);
	e->lifetimes_ns += lifetime_ns(e, lane);
	return 0;
}

static int on_queue(void *context, uint32_t lane)
{
	struct execution_counts *e = context;
	e->lane = lane;
	return e->run->lanes[lane].kind == BRICK_LANE_QUEUE;
}

static void execution_counts_on_command(
	void *context, const struct walk_frame *frame, unsigned depth)
{
	struct execution_counts *e = context;
	struct device_count *count = &e->devices[frame->brick];

	if (!walk_has_ended(frame))
		return;
	count->samples++;
	if (e->run->lanes[e->lane].stats)
		return;
	count->executions++;
	count->total_ns += walk_is_outermost(frame, depth) ? frame->length_ns : 0;
}

static int on_queue_end(void *context, uint32_t number)
{
	struct execution_counts *e = context;
	const struct run_lane *lane = &e->run->lanes[number];

	e->devices_lost |= !e->run->complete || e->run->has_statistics_only || !lane->stats ||
			   lane->ledger.dropped || e->run->processes[lane->process].ledger.dropped;
	for (size_t b = 0; b < e->run->brick_count && lane->stats; b++) {
		e->devices[b].executions += lane->stats[b].count;
		e->devices[b].total_ns += lane->stats[b].total_ns;
	}
	return 0;
}

/* True if the brick stands on devices for an operation that no rule knew. */
static bool is_unknown_on_devices(const struct run *run, size_t brick)
{
	for (size_t i = 0; i < run->note_count; i++)
		if (!strcmp(run->notes[i].key, BRICK_UNKNOWN_NOTE) &&
			!strcmp(run->notes[i].value, run->bricks[brick].name))
			return true;
	return false;
}

/* A device's statistics count where they have more than the samples: records were dropped. */
static int execution_counts_finish(void *context)
{
	struct execution_counts *e = context;
	for (size_t b = 0; b < e->run->brick_count; b++) {
		const struct device_count *count = &e->devices[b];
		bool is_more = count->executions > count->samples;
		if (b == e->wait_brick || e->index->kinds[b] == BRICK_KIND_TILE)
			continue;
		e->samples += count->samples;
		e->executions += is_more ? count->executions : count->samples;
		if (is_unknown_on_devices(e->run, b))
			e->unknown += is_more ? count->executions : count->samples;
		if (!e->devices_lost && !e->was_reset)
			e->mismatched +=
				execution_counts_difference(count->executions, count->samples);
	}
	return 0;
}

static const struct walk_ops thread_ops = {.begin_lane = execution_counts_on_thread,
	.end = execution_counts_on_sample,
	.tile = execution_counts_on_tile,
	.end_lane = on_thread_end};
static const struct walk_ops queue_ops = {.begin_lane = on_queue,
	.end = execution_counts_on_command,
	.end_lane = on_queue_end,
	.finish = execution_counts_finish};

static void execution_counts_destroy(struct execution_counts *e)
{
	free(e->pairs);
	free(e->hooked);
	free(e->devices);
	free(e->steps_there);
	free(e->lane_counts);
	free(e);
}

static struct execution_counts *execution_counts_create(
	const struct run *run, const struct step_index *index)
{
	struct execution_counts *e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->run = run;
	e->index = index;
	e->wait_brick = walk_wait_brick(run);
	e->was_reset = run_note_find(run, "reset") != NULL;
	for (size_t i = 0; i < run->point_count && !e->has_reported; i++)
		e->has_reported = run->points[i].kind == RUN_POINT_REPORTED;
	e->pairs = calloc(run->process_count + 1, sizeof(*e->pairs));
	e->hooked = calloc(run->lane_count + 1, sizeof(*e->hooked));
	e->devices = calloc(run->brick_count + 1, sizeof(*e->devices));
	e->lane_counts = calloc(run->brick_count + 1, sizeof(*e->lane_counts));
	e->steps_there = find_steps_there(run);
	traced_costs_of(&e->traced, run, index);
	if (e->pairs && e->hooked && e->devices && e->lane_counts && e->steps_there)
		return e;
	execution_counts_destroy(e);
	return NULL;
}

struct execution_counts *execution_counts_get(struct walk *walk)
{
	if (!walk->executions) {
		walk->executions = execution_counts_create(walk->run, walk->index);
		if (!walk->executions)
			return NULL;
		walk_join(walk, &thread_ops, walk->executions);
		walk_join(walk, &queue_ops, walk->executions);
	}
	walk->executions->users++;
	return walk->executions;
}

void execution_counts_put(struct execution_counts *e)
{
	if (e && !--e->users)
		execution_counts_destroy(e);
}
