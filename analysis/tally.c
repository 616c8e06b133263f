/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pass itself. Each lane is tallied by brick on its own, so that its samples can be compared
 * with, and completed by, the statistics that its thread kept; then it is added to the run's.
 * Called by summary_create() only.
 */
#include "analysis/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/percentile.h"
#include "analysis/unknown.h"

/* More groups than this get no percentiles: each takes 20 KB. */
enum { HISTOGRAMS_MAX = 2048 };

static void count_duration(struct tally *tally, uint64_t ns)
{
	tally->count++;
	tally->sum_ns += ns;
	if (ns < tally->min_ns)
		tally->min_ns = ns;
	if (ns > tally->max_ns)
		tally->max_ns = ns;
}

static void count_histogram(struct tallies *t, struct tally *tally, uint64_t ns)
{
	if (!tally->histogram)
		tally->histogram = calloc(BRICK_HISTOGRAM_BUCKETS, sizeof(uint64_t));
	if (tally->histogram)
		tally->histogram[brick_histogram_index(ns)]++;
	else
		t->failed = true;
}

/* Percentiles of a brick come from the run's own histogram of it where there is one. */
static bool needs_histogram(const struct tallies *t, uint32_t brick)
{
	if (t->by != SUMMARY_BY_BRICK && t->by != SUMMARY_BY_CATEGORY)
		return false;
	return brick >= t->run->brick_count || !t->run->histograms || !t->run->histograms[brick];
}

static void count_work(struct tally *tally, const struct run_site *site, uint64_t time_ns)
{
	tally->flags |= site->flags;
	tally->elements += site->elements;
	tally->bytes += site->bytes;
	tally->flops += site->flops;
	if (site->flags & BRICK_SITE_HAS_BYTES) {
		tally->rated_bytes += site->bytes;
		tally->bytes_time_ns += time_ns;
	}
	if (site->flags & BRICK_SITE_HAS_FLOPS) {
		tally->rated_flops += site->flops;
		tally->flops_time_ns += time_ns;
	}
}

/* One wait that belongs to a sample: a row of its own. */
static void count_wait(struct tallies *t, uint64_t ns, unsigned source, bool in_wall)
{
	struct tally *tally = &t->lane_bricks[t->wait_brick];
	if (!ns)
		return;
	count_duration(tally, ns);
	tally->total_ns += ns;
	tally->self_ns += ns;
	tally->sources |= 1u << (source & 31);
	if (in_wall)
		tally->wall_ns += ns;
	if (needs_histogram(t, t->wait_brick))
		count_histogram(t, &t->bricks[t->wait_brick], ns);
}

static uint32_t phase_of(const struct tallies *t, const struct walk_frame *frame)
{
	if (frame->step == RUN_NONE)
		return TALLY_PHASE_OUTSIDE;
	return t->run->steps[frame->step].decode ? STEP_DECODE : STEP_PREFILL;
}

static uint32_t layer_group(const struct tallies *t, const struct walk_frame *frame)
{
	int32_t layer = t->run->sites[frame->sample->site].layer;
	return layer >= 0 ? (uint32_t)layer + 1 : 0;
}

/* Where else a sample counts: its layer, phase or thread. */
static struct tally *group_of(const struct tallies *t, const struct walk_frame *frame)
{
	switch (t->by) {
	case SUMMARY_BY_LAYER:
		return &t->groups[layer_group(t, frame)];
	case SUMMARY_BY_PHASE:
		return &t->groups[phase_of(t, frame)];
	default:
		return &t->groups[t->lane];
	}
}

/* Whether nothing that holds the frame is in the same group. Steps themselves lie in no layer. */
static bool enters_group(const struct tallies *t, const struct walk_frame *frame, unsigned depth)
{
	if (t->by == SUMMARY_BY_THREAD)
		return depth == 1;
	if (t->by == SUMMARY_BY_PHASE)
		return depth == 1 || phase_of(t, frame - 1) != phase_of(t, frame);
	uint32_t group = layer_group(t, frame);
	if (t->index->kinds[frame->brick] == BRICK_KIND_STEP)
		return false;
	for (unsigned i = 1; i < depth; i++)
		if (layer_group(t, frame - i) == group &&
			t->index->kinds[frame[-(int)i].brick] != BRICK_KIND_STEP)
			return false;
	return true;
}

static bool counts_to_wall(const struct tallies *t, const struct walk_frame *frame)
{
	if (!t->run->step_count)
		return t->lane_counts;
	return frame->scope == WALK_IN_STEP || frame->scope == WALK_AFTER;
}

static void count_in_group(
	struct tallies *t, const struct walk_frame *frame, unsigned depth, bool in_wall)
{
	struct tally *group = group_of(t, frame);
	const struct run_site *site = &t->run->sites[frame->sample->site];
	enum brick_kind kind = t->index->kinds[frame->brick];
	uint64_t waits_ns = frame->inner_ns + frame->wait_ns;
	if (enters_group(t, frame, depth))
		group->total_ns += frame->length_ns;
	group->wait_ns += waits_ns;
	if (in_wall)
		group->wall_ns += waits_ns + (kind == BRICK_KIND_STEP ? 0 : frame->self_ns);
	if (kind == BRICK_KIND_STEP)
		return;
	if (kind == BRICK_KIND_WAIT)
		group->wait_ns += frame->self_ns;
	else
		group->self_ns += frame->self_ns;
	group->sources |= 1u << (frame->sample->source & 31);
	if (frame->sample->flags & RUN_SAMPLE_OPEN)
		return;
	count_work(group, site, frame->length_ns + frame->wait_ns);
	count_duration(group, frame->length_ns);
	if (t->group_count <= HISTOGRAMS_MAX)
		count_histogram(t, group, frame->length_ns);
}

static void on_begin(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct tallies *t = context;
	(void)depth;
	t->lane_bricks[frame->brick].active++;
	t->category_active[t->run->bricks[frame->brick].category]++;
}

/* Time of its own: part of the wall time, of a row or unattributed. */
static void count_self(
	struct tallies *t, const struct walk_frame *frame, struct tally *tally, bool in_wall)
{
	uint64_t waits_ns = frame->inner_ns + frame->wait_ns;
	tally->self_ns += frame->self_ns;
	tally->wait_ns += waits_ns;
	tally->sources |= 1u << (frame->sample->source & 31);
	if (in_wall && t->index->kinds[frame->brick] == BRICK_KIND_STEP) {
		t->unattributed_ns += frame->self_ns;
		t->attributed_ns += waits_ns;
	} else if (in_wall) {
		tally->wall_ns += frame->self_ns;
		t->attributed_ns += frame->self_ns + waits_ns;
	}
	count_wait(t, frame->inner_ns, frame->sample->source, in_wall);
	count_wait(t, frame->wait_ns, frame->sample->source, in_wall);
}

static void on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct tallies *t = context;
	const struct run_site *site = &t->run->sites[frame->sample->site];
	struct tally *tally = &t->lane_bricks[frame->brick];
	uint32_t category = t->run->bricks[frame->brick].category;
	bool in_wall = counts_to_wall(t, frame);

	step_times_add(&t->steps, t->run, t->index, frame);
	if (--tally->active == 0)
		tally->total_ns += frame->length_ns;
	if (--t->category_active[category] == 0)
		t->category_total_ns[category] += frame->length_ns;
	count_self(t, frame, tally, in_wall);
	if (in_wall && !site->operation)
		t->process_pairs[t->run->lanes[t->lane].process]++;
	if (depth == 1 && frame->end_ns + frame->wait_ns > t->lane_end_ns)
		t->lane_end_ns = frame->end_ns + frame->wait_ns;
	if (t->groups)
		count_in_group(t, frame, depth, in_wall);
	if (frame->sample->flags & RUN_SAMPLE_OPEN)
		return;
	t->unknown_operations += (site->flags & BRICK_SITE_UNKNOWN_OPERATION) != 0;
	count_duration(tally, frame->length_ns);
	count_work(tally, site, frame->length_ns + frame->wait_ns);
	if (needs_histogram(t, frame->brick))
		count_histogram(t, &t->bricks[frame->brick], frame->length_ns);
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void add_exact(struct tally *to, const struct brick_stat *stat)
{
	to->count += stat->count;
	to->sum_ns += stat->total + stat->nested;
	to->total_ns += stat->total;
	to->self_ns += stat->self;
	to->wait_ns += stat->wait;
	if (stat->count && stat->min < to->min_ns)
		to->min_ns = stat->min;
	if (stat->max > to->max_ns)
		to->max_ns = stat->max;
	to->elements += stat->elements;
	to->bytes += stat->bytes + stat->bytes_out;
	to->flops += stat->flops;
}

static void add_samples(struct tally *to, const struct tally *from)
{
	to->count += from->count;
	to->sum_ns += from->sum_ns;
	to->total_ns += from->total_ns;
	to->self_ns += from->self_ns;
	to->wait_ns += from->wait_ns;
	if (from->min_ns < to->min_ns)
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->elements += from->elements;
	to->bytes += from->bytes;
	to->flops += from->flops;
}

/* What only samples can say. */
static void add_sampled(struct tally *to, const struct tally *from)
{
	to->wall_ns += from->wall_ns;
	to->sources |= from->sources;
	to->flags |= from->flags;
	to->rated_bytes += from->rated_bytes;
	to->bytes_time_ns += from->bytes_time_ns;
	to->rated_flops += from->rated_flops;
	to->flops_time_ns += from->flops_time_ns;
}

/*
 * The thread's own statistics know what was dropped; but those of a recording that was cut off may
 * be older than its last samples.
 */
static const struct brick_stat *exact_stat(
	const struct tallies *t, const struct run_lane *lane, uint32_t brick)
{
	if (!lane->stats || brick >= t->run->brick_count)
		return NULL;
	const struct brick_stat *stat = &lane->stats[brick];
	if (!t->run->complete && stat->count < t->lane_bricks[brick].count)
		return NULL;
	return stat;
}

static void merge_lane(struct tallies *t)
{
	const struct run_lane *lane = &t->run->lanes[t->lane];
	bool lossless = t->run->complete && !lane->ledger.dropped &&
			!t->run->processes[lane->process].ledger.dropped;
	struct tally exact = {.min_ns = UINT64_MAX};
	bool know = lane->stats != NULL;
	for (uint32_t b = 0; b <= t->run->brick_count; b++) {
		struct tally *sampled = &t->lane_bricks[b];
		const struct brick_stat *stat = exact_stat(t, lane, b);
		struct tally *to = &t->bricks[b];
		if (stat)
			add_exact(to, stat);
		else
			add_samples(to, sampled);
		add_sampled(to, sampled);
		if (b == t->wait_brick)
			continue;
		t->samples += sampled->count;
		t->executions += stat ? stat->count : sampled->count;
		if (stat && lossless)
			t->mismatched += difference(stat->count, sampled->count);
		if (stat && t->index->kinds[b] == BRICK_KIND_WORK)
			add_exact(&exact, stat);
	}
	if (t->by == SUMMARY_BY_THREAD && know && t->run->complete) {
		struct tally *group = &t->groups[t->lane];
		group->count = exact.count;
		group->self_ns = exact.self_ns;
		group->elements = exact.elements;
		group->bytes = exact.bytes;
		group->flops = exact.flops;
	}
}

static void clear_lane(struct tallies *t)
{
	memset(t->lane_bricks, 0, (t->run->brick_count + 1) * sizeof(*t->lane_bricks));
	for (size_t b = 0; b <= t->run->brick_count; b++)
		t->lane_bricks[b].min_ns = UINT64_MAX;
	t->lane_end_ns = 0;
}

static void tally_lane(struct tallies *t, uint32_t number)
{
	const struct run_lane *lane = &t->run->lanes[number];
	const struct walk_visitor visitor = {on_begin, on_end, t};
	t->lane = number;
	t->lane_counts = lane->kind == BRICK_LANE_THREAD;
	clear_lane(t);
	walk_lane(t->run, t->index, number, &visitor);
	merge_lane(t);
	if (!t->run->step_count && t->lane_counts) {
		uint64_t begin_ns = lane->start_ns, end_ns = lane->end_ns;
		if (lane->sample_count && lane->samples[0].begin_ns < begin_ns)
			begin_ns = lane->samples[0].begin_ns;
		if (t->lane_end_ns > end_ns)
			end_ns = t->lane_end_ns;
		t->wall_ns += end_ns > begin_ns ? end_ns - begin_ns : 0;
	}
}

static uint32_t count_groups(const struct run *run, enum summary_by by)
{
	if (by == SUMMARY_BY_PHASE)
		return TALLY_PHASES;
	if (by == SUMMARY_BY_THREAD)
		return (uint32_t)run->lane_count;
	int32_t last = -1;
	for (size_t i = 0; i < run->site_count; i++)
		if (run->sites[i].layer > last)
			last = run->sites[i].layer;
	return (uint32_t)last + 2;
}

static bool allocate(struct tallies *t)
{
	t->bricks = calloc(t->run->brick_count + 1, sizeof(*t->bricks));
	t->lane_bricks = calloc(t->run->brick_count + 1, sizeof(*t->lane_bricks));
	t->category_active = calloc(t->run->category_count + 1, sizeof(*t->category_active));
	t->category_total_ns = calloc(t->run->category_count + 1, sizeof(uint64_t));
	t->process_pairs = calloc(t->run->process_count + 1, sizeof(uint64_t));
	if (!t->process_pairs || !t->bricks || !t->lane_bricks || !t->category_active ||
		!t->category_total_ns)
		return false;
	for (size_t b = 0; b <= t->run->brick_count; b++)
		t->bricks[b].min_ns = UINT64_MAX;
	if (t->by == SUMMARY_BY_BRICK || t->by == SUMMARY_BY_CATEGORY)
		return true;
	t->group_count = count_groups(t->run, t->by);
	t->groups = calloc(t->group_count + 1, sizeof(*t->groups));
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

int tallies_init(struct tallies *t, const struct run *run, const struct step_index *index,
	enum summary_by by)
{
	memset(t, 0, sizeof(*t));
	t->run = run;
	t->index = index;
	t->by = by;
	t->wait_brick = find_wait_brick(run);
	if (step_times_init(&t->steps, run) < 0 || !allocate(t)) {
		tallies_fini(t);
		return -ENOMEM;
	}
	for (uint32_t lane = 0; lane < run->lane_count; lane++)
		tally_lane(t, lane);
	if (t->failed || step_times_finish(&t->steps, run, index) < 0) {
		tallies_fini(t);
		return -ENOMEM;
	}
	if (run->step_count)
		t->wall_ns = t->steps.wall_ns;
	else
		t->unattributed_ns =
			t->wall_ns > t->attributed_ns ? t->wall_ns - t->attributed_ns : 0;
	return 0;
}

void tallies_fini(struct tallies *t)
{
	for (size_t b = 0; t->bricks && b <= t->run->brick_count; b++)
		free(t->bricks[b].histogram);
	for (uint32_t i = 0; t->groups && i < t->group_count; i++)
		free(t->groups[i].histogram);
	free(t->bricks);
	free(t->lane_bricks);
	free(t->groups);
	free(t->category_active);
	free(t->process_pairs);
	free(t->category_total_ns);
	step_times_fini(&t->steps);
	memset(t, 0, sizeof(*t));
}
