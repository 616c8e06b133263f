/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums over all lanes. Each lane is summed up by brick on its own (summary_sample.c), so that its
 * samples can be compared with, and completed by, the statistics that its thread kept; then it is
 * added to the run's. Called by summary.c only.
 */
#include "analysis/accounts/summary_accumulator.h"
#include "base/members.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* open_ns: what the thread counts only at an end that never came. */
static void add_exact(struct summary_sums *to, const struct brick_stat *stat, uint64_t open_ns)
{
	to->count += stat->count;
	to->sum_ns += stat->total + stat->nested;
	to->total_ns += stat->total;
	to->self_ns += stat->self + open_ns;
	to->wait_ns += stat->wait;
	if (stat->count && stat->min < to->min_ns)
		to->min_ns = stat->min;
	if (stat->max > to->max_ns)
		to->max_ns = stat->max;
	to->elements += stat->elements;
	to->bytes += stat->bytes + stat->bytes_out;
	to->bytes_out += stat->bytes_out;
	to->flops += stat->flops;
}

static void add_samples(struct summary_sums *to, const struct summary_sums *from)
{
	members_add(to, from, count, sum_ns, total_ns, self_ns, wait_ns);
	if (from->min_ns < to->min_ns)
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	members_add(to, from, elements, bytes, bytes_out, flops);
}

/* What only samples can say. */
static void add_sampled(struct summary_sums *to, const struct summary_sums *from)
{
	members_add(to, from, wall_ns, unevaluated_ns, open_ns);
	to->off.blocked_ns += from->off.blocked_ns;
	to->off.preempted_ns += from->off.preempted_ns;
	lengths_add(&to->on_cpu, &from->on_cpu);
	to->sources |= from->sources;
	to->flags |= from->flags;
}

void sums_add(struct summary_sums *to, const struct summary_sums *from)
{
	add_samples(to, from);
	add_sampled(to, from);
}

/*
 * The thread's own statistics know what was dropped; but those of a recording that was cut off may
 * be older than its last samples.
 */
static const struct brick_stat *exact_stat(
	const struct summary_accumulator *t, const struct run_lane *lane, uint32_t brick)
{
	if (!lane->stats || brick >= t->run->brick_count || t->only != SUMMARY_ALL_PHASES)
		return NULL;
	const struct brick_stat *stat = &lane->stats[brick];
	if (!t->run->complete && stat->count < t->lane_bricks[brick].count)
		return NULL;
	return stat;
}

/*
 * What the thread counted and what is in the file, where nothing is known to have been dropped.
 * Waits are left out: those of less than a ns are in the statistics only; and tiles, which are in
 * no row.
 */
static void compare_lane(struct summary_accumulator *t, const struct run_lane *lane)
{
	const struct run_process *process = &t->run->processes[lane->process];
	bool lossless = t->run->complete && !lane->ledger.dropped && !process->ledger.dropped;
	for (uint32_t b = 0; b < t->run->brick_count; b++) {
		uint64_t sampled = t->lane_counts_all[b];
		if (b == t->wait_brick || t->index->kinds[b] == BRICK_KIND_TILE)
			continue;
		t->samples += sampled;
		t->executions += lane->stats ? lane->stats[b].count : sampled;
		if (lane->stats && lossless && !t->was_reset)
			t->mismatched += difference(lane->stats[b].count, sampled);
	}
}

static void merge_lane(struct summary_accumulator *t)
{
	const struct run_lane *lane = &t->run->lanes[t->lane];
	struct summary_sums exact = {.min_ns = UINT64_MAX};
	for (uint32_t b = 0; b <= t->run->brick_count; b++) {
		struct summary_sums *sampled = &t->lane_bricks[b];
		const struct brick_stat *stat = exact_stat(t, lane, b);
		struct summary_sums *to = &t->bricks[b];
		if (stat)
			add_exact(to, stat, sampled->open_ns);
		else
			add_samples(to, sampled);
		add_sampled(to, sampled);
		if (stat && (t->index->kinds[b] == BRICK_KIND_WORK ||
				    t->index->kinds[b] == BRICK_KIND_OVERHEAD))
			add_exact(&exact, stat, sampled->open_ns);
	}
	if (t->by == SUMMARY_BY_THREAD && t->only == SUMMARY_ALL_PHASES && lane->stats &&
		t->run->complete) {
		struct summary_sums *group = &t->groups[t->lane];
		members_copy(group, &exact, count, sum_ns, min_ns, max_ns, self_ns, elements, bytes,
			flops);
	}
}

/* What others counted of the lane. */
static void take_lane(struct summary_accumulator *t)
{
	if (t->whole) {
		members_copy(t, t->whole, lane_pairs, lane_hooked, lane_end_ns);
		memcpy(t->lane_counts_all, t->whole->lane_counts_all,
			(t->run->brick_count + 1) * sizeof(*t->lane_counts_all));
	}
	for (size_t i = 0; i < t->part_count; i++)
		for (size_t b = 0; b <= t->run->brick_count; b++)
			sums_add(&t->lane_bricks[b], &t->parts[i]->lane_bricks[b]);
}

static void clear_lane(struct summary_accumulator *t)
{
	memset(t->lane_bricks, 0, (t->run->brick_count + 1) * sizeof(*t->lane_bricks));
	for (size_t b = 0; b <= t->run->brick_count; b++)
		t->lane_bricks[b].min_ns = UINT64_MAX;
	memset(t->lane_counts_all, 0, (t->run->brick_count + 1) * sizeof(*t->lane_counts_all));
	t->lane_pairs = t->lane_hooked = (struct summary_pairs){0};
	t->lane_end_ns = 0;
}

static int on_thread(void *context, uint32_t lane)
{
	struct summary_accumulator *t = context;
	if (t->run->lanes[lane].kind == BRICK_LANE_QUEUE)
		return 0;
	t->lane = lane;
	clear_lane(t);
	return 1;
}

/* From its first sample to its last, at least: the wall time of runs without steps. */
static uint64_t lifetime_ns(const struct summary_accumulator *t, const struct run_lane *lane)
{
	uint64_t begin_ns = lane->start_ns, end_ns = lane->end_ns;
	if (lane->sample_count && lane->samples[0].begin_ns < begin_ns)
		begin_ns = lane->samples[0].begin_ns;
	if (t->lane_end_ns > end_ns)
		end_ns = t->lane_end_ns;
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

static int on_thread_end(void *context, uint32_t number)
{
	struct summary_accumulator *t = context;
	const struct run_lane *lane = &t->run->lanes[number];
	if (t->has_reported)
		summary_reported(t);
	take_lane(t);
	merge_lane(t);
	summary_pairs_merge(t, lane);
	compare_lane(t, lane);
	if (!t->run->step_count)
		t->wall_ns += lifetime_ns(t, lane);
	return t->failed ? -ENOMEM : 0;
}

static int on_queue(void *context, uint32_t lane)
{
	struct summary_accumulator *t = context;
	if (t->run->lanes[lane].kind != BRICK_LANE_QUEUE)
		return 0;
	t->lane = lane;
	return 1;
}

static int on_queue_end(void *context, uint32_t lane)
{
	struct summary_accumulator *t = context;
	summary_device_lane_end(t);
	return t->failed ? -ENOMEM : 0;
}

static void take_histograms(struct summary_accumulator *t, const struct summary_accumulator *part)
{
	for (size_t b = 0; b <= t->run->brick_count; b++)
		if (part->bricks[b].histogram)
			sums_histograms(t, &t->bricks[b], part->bricks[b].histogram);
}

/* What the parts counted that is of no lane. */
static void take_run(struct summary_accumulator *t, const struct summary_accumulator *part)
{
	for (size_t c = 0; c < t->run->category_count; c++)
		t->category_total_ns[c] += part->category_total_ns[c];
	members_add(t, part, attributed_ns, unattributed_ns, left_out_ns, unknown_operations);
	if (summary_needs_histograms(t))
		take_histograms(t, part);
}

static int finish(void *context)
{
	struct summary_accumulator *t = context;
	for (size_t i = 0; i < t->part_count; i++)
		take_run(t, t->parts[i]);
	summary_device_finish(t);
	summary_overlap_subtract(t);
	t->failed |= wait_causes_finish(&t->wait_causes) < 0;
	if (t->only != SUMMARY_ALL_PHASES)
		t->wall_ns = t->steps.phases[t->only].total_ns;
	else if (t->run->step_count)
		t->wall_ns = t->steps.wall_ns;
	else
		t->unattributed_ns =
			t->wall_ns > t->attributed_ns ? t->wall_ns - t->attributed_ns : 0;
	return t->failed ? -ENOMEM : 0;
}

static const struct walk_ops thread_ops = {.begin_lane = on_thread,
	.end = summary_sample_end,
	.tile = summary_sample_tile,
	.end_lane = on_thread_end,
	.finish = finish};

static const struct walk_ops queue_ops = {
	.begin_lane = on_queue, .end = summary_device_end, .end_lane = on_queue_end};

static uint32_t count_groups(const struct summary_accumulator *t)
{
	const struct run *run = t->run;
	enum summary_by by = t->by;
	if (by == SUMMARY_BY_KERNEL)
		return summary_kernel_groups(t);
	if (by == SUMMARY_BY_QUEUE)
		return (uint32_t)t->queues.count;
	if (by == SUMMARY_BY_PHASE)
		return SUMMARY_PHASES;
	if (by == SUMMARY_BY_STEP)
		return (uint32_t)run->step_count + 1;
	if (by == SUMMARY_BY_THREAD)
		return (uint32_t)run->lane_count;
	int32_t last = -1;
	for (size_t i = 0; i < run->site_count; i++)
		if (run->sites[i].layer > last && run->sites[i].layer <= SUMMARY_LAST_LAYER)
			last = run->sites[i].layer;
	return (uint32_t)last + 2;
}

static bool allocate(struct summary_accumulator *t)
{
	t->bricks = calloc(t->run->brick_count + 1, sizeof(*t->bricks));
	t->lane_bricks = calloc(t->run->brick_count + 1, sizeof(*t->lane_bricks));
	t->category_total_ns = calloc(t->run->category_count + 1, sizeof(uint64_t));
	t->pairs = calloc(t->run->process_count + 1, sizeof(*t->pairs));
	t->hooked = calloc(t->run->lane_count + 1, sizeof(*t->hooked));
	t->lane_counts_all = calloc(t->run->brick_count + 1, sizeof(uint64_t));
	if (!t->pairs || !t->hooked || !t->lane_counts_all || !t->bricks || !t->lane_bricks ||
		!t->category_total_ns)
		return false;
	for (size_t b = 0; b <= t->run->brick_count; b++)
		t->bricks[b].min_ns = UINT64_MAX;
	if (t->by == SUMMARY_BY_BRICK || t->by == SUMMARY_BY_CATEGORY)
		return true;
	t->group_count = count_groups(t);
	t->groups = calloc(t->group_count + 1, sizeof(*t->groups));
	t->device_groups = calloc(t->group_count + 1, sizeof(*t->device_groups));
	if (!t->device_groups)
		return false;
	for (uint32_t i = 0; t->groups && i < t->group_count; i++)
		t->groups[i].min_ns = UINT64_MAX;
	return t->groups != NULL;
}

static uint32_t find_wait_brick(const struct run *run)
{
	for (uint32_t b = 0; b < run->brick_count; b++)
		if (run->bricks[b].well_known == BRICK_BARRIER_WAIT)
			return b;
	return (uint32_t)run->brick_count;
}

int summary_accumulator_init(
	struct summary_accumulator *t, struct walk *walk, enum summary_by by, int only)
{
	const struct run *run = walk->run;
	memset(t, 0, sizeof(*t));
	t->run = run;
	t->index = walk->index;
	t->by = by;
	t->only = only;
	t->knows_off = step_index_knows_off(t->index, only);
	t->was_reset = run_note_find(run, "reset") != NULL;
	for (size_t i = 0; i < run->point_count && !t->has_reported; i++)
		t->has_reported = run->points[i].kind == RUN_POINT_REPORTED;
	t->wait_brick = find_wait_brick(run);
	size_t joined = walk->count;
	if (queue_times_init(&t->queues, run, walk->index, only) < 0 ||
		summary_devices_init(t) < 0 || step_times_init(&t->steps, walk) < 0 ||
		!allocate(t) || !summary_pairs_init(t)) {
		walk->count = joined;
		summary_accumulator_fini(t);
		return -ENOMEM;
	}
	walk_join(walk, &thread_ops, t);
	if (t->queues.count)
		walk_join(walk, &queue_ops, t);
	if (summary_work_init(t, walk) < 0) {
		walk->count = joined;
		summary_accumulator_fini(t);
		return -ENOMEM;
	}
	return 0;
}

void summary_accumulator_take(struct summary_accumulator *to, struct summary_accumulator *part)
{
	assert(to->only == SUMMARY_ALL_PHASES || to->only == part->only);
	assert(to->part_count < STEP_PHASES);
	to->parts[to->part_count++] = part;
	if (part->only == to->only) {
		to->counted_by_parts = UINT32_MAX;
		to->whole = part;
	} else {
		to->counted_by_parts |= 1u << part->only;
		part->whole = to;
	}
}

void summary_accumulator_fini(struct summary_accumulator *t)
{
	for (size_t b = 0; t->bricks && b <= t->run->brick_count; b++)
		free(t->bricks[b].histogram);
	for (uint32_t i = 0; t->groups && i < t->group_count; i++)
		free(t->groups[i].histogram);
	members_free(t, bricks, lane_bricks, groups, pairs, hooked, lane_counts_all, steps_there,
		category_total_ns);
	summary_devices_fini(t);
	queue_times_fini(&t->queues);
	step_times_fini(&t->steps);
	summary_work_fini(t);
	memset(t, 0, sizeof(*t));
}
