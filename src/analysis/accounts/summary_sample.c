/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sample adds to the sums of its lane: by brick, category and the group that was asked for.
 * Nothing in here searches or allocates but the first of a histogram. Called by the walk.
 */
#include "analysis/accounts/summary_accumulator.h"

#include <stdlib.h>

/*
 * What never ended took its time, so far, from its thread and from the wall: SELF and shares know
 * it. It is no execution: counts, totals, lengths and work are of those that ended.
 */
static bool has_ended(const struct walk_frame *frame)
{
	return !(frame->sample->flags & RUN_SAMPLE_OPEN);
}

/* More groups than this get no percentiles: each takes 20 KB. */
enum { HISTOGRAMS_MAX = 2048 };

/* One execution that has ended. */
static void count_length(const struct summary_accumulator *t, struct summary_sums *sums,
	const struct walk_frame *frame)
{
	uint64_t ns = walk_basis_ns(t->index, frame);
	sums_duration(sums, frame->length_ns);
	if (t->run->off_cpu.source != OFF_CPU_UNKNOWN)
		lengths_add(&sums->on_cpu, &(struct summary_lengths){1, ns, ns, ns});
}

/* Made when it is first needed; NULL: no memory. */
static uint64_t *histogram_of(struct summary_accumulator *t, struct summary_sums *sums)
{
	if (!sums->histogram)
		sums->histogram = calloc(BRICK_HISTOGRAM_BUCKETS, sizeof(uint64_t));
	if (!sums->histogram)
		t->failed = true;
	return sums->histogram;
}

void sums_histogram(struct summary_accumulator *t, struct summary_sums *sums, uint64_t ns)
{
	uint64_t *to = histogram_of(t, sums);
	if (to)
		to[brick_histogram_index(ns)]++;
}

void sums_histograms(
	struct summary_accumulator *t, struct summary_sums *sums, const uint64_t *histogram)
{
	uint64_t *to = histogram_of(t, sums);
	for (size_t i = 0; to && i < BRICK_HISTOGRAM_BUCKETS; i++)
		to[i] += histogram[i];
}

/* Also where the run has its own: it may know of less (src/analysis/accounts/durations.h). */
bool summary_needs_histograms(const struct summary_accumulator *t)
{
	return t->by == SUMMARY_BY_BRICK || t->by == SUMMARY_BY_CATEGORY;
}

void sums_work(struct summary_sums *sums, const struct run_site *site)
{
	sums->flags |= site->flags;
	sums->elements += site->elements;
	sums->bytes += site->bytes;
	sums->flops += site->flops;
}

static void add_off(struct summary_sums *sums, struct run_off_times off)
{
	sums->off.blocked_ns += off.blocked_ns;
	sums->off.preempted_ns += off.preempted_ns;
}

/* One wait that belongs to a sample: a row of its own. */
static void count_wait(struct summary_accumulator *t, uint64_t ns, struct run_off_times off,
	unsigned source, uint64_t wall_ns)
{
	struct summary_sums *sums = &t->lane_bricks[t->wait_brick];
	if (!ns)
		return;
	sums_duration(sums, ns);
	sums->total_ns += ns;
	sums->self_ns += ns;
	sums->sources |= 1u << (source & 31);
	sums->wall_ns += wall_ns;
	add_off(sums, off);
	if (summary_needs_histograms(t))
		sums_histogram(t, &t->bricks[t->wait_brick], ns);
}

static uint32_t phase_of(const struct summary_accumulator *t, const struct walk_frame *frame)
{
	if (frame->step == RUN_NONE)
		return SUMMARY_PHASE_OUTSIDE;
	return t->run->steps[frame->step].phase;
}

static uint32_t layer_group(const struct summary_accumulator *t, const struct walk_frame *frame)
{
	int32_t layer = t->run->sites[frame->sample->site].layer;
	return layer >= 0 && layer <= SUMMARY_LAST_LAYER ? (uint32_t)layer + 1 : 0;
}

/* Where else a sample counts: its layer, phase, step or thread. */
uint32_t summary_group(const struct summary_accumulator *t, const struct walk_frame *frame)
{
	switch (t->by) {
	case SUMMARY_BY_LAYER:
		return layer_group(t, frame);
	case SUMMARY_BY_PHASE:
		return phase_of(t, frame);
	case SUMMARY_BY_STEP:
		return summary_step_group(t, frame->step);
	default:
		return t->lane;
	}
}

/* Whether nothing that holds the frame is in the same group. Steps themselves lie in no layer. */
static bool enters_group(
	const struct summary_accumulator *t, const struct walk_frame *frame, unsigned depth)
{
	if (t->by == SUMMARY_BY_THREAD)
		return depth == 1;
	if (t->by == SUMMARY_BY_PHASE)
		return depth == 1 || phase_of(t, frame - 1) != phase_of(t, frame);
	if (t->by == SUMMARY_BY_STEP)
		return depth == 1 || frame[-1].step != frame->step;
	uint32_t group = layer_group(t, frame);
	if (t->index->kinds[frame->brick] == BRICK_KIND_STEP)
		return false;
	for (unsigned i = 1; i < depth; i++)
		if (layer_group(t, frame - i) == group &&
			t->index->kinds[frame[-(int)i].brick] != BRICK_KIND_STEP)
			return false;
	return true;
}

static bool counts_to_wall(const struct summary_accumulator *t, const struct walk_frame *frame)
{
	return !t->run->step_count || frame->scope == WALK_IN_STEP || frame->scope == WALK_AFTER;
}

/* What of that is of a batch that the engine refused or did not evaluate to the end. */
static uint64_t unevaluated(
	const struct summary_accumulator *t, const struct walk_frame *frame, uint64_t ns)
{
	return frame->step != RUN_NONE && t->run->steps[frame->step].outcome ? ns : 0;
}

static void add_wall(const struct summary_accumulator *t, const struct walk_frame *frame,
	struct summary_sums *sums, uint64_t ns)
{
	sums->wall_ns += ns;
	sums->unevaluated_ns += unevaluated(t, frame, ns);
}

static void count_group_waits(const struct summary_accumulator *t, struct summary_sums *group,
	const struct walk_frame *frame, bool in_wall)
{
	group->wait_ns += frame->inner_ns + frame->wait_ns;
	if (in_wall)
		add_wall(t, frame, group, frame->counted.inner_ns + frame->counted.wait_ns);
}

static void count_in_group(
	struct summary_accumulator *t, const struct walk_frame *frame, unsigned depth, bool in_wall)
{
	struct summary_sums *group = &t->groups[summary_group(t, frame)];
	const struct run_site *site = &t->run->sites[frame->sample->site];
	enum brick_kind kind = t->index->kinds[frame->brick];
	if (has_ended(frame) && enters_group(t, frame, depth))
		group->total_ns += frame->length_ns;
	count_group_waits(t, group, frame, in_wall);
	if (kind == BRICK_KIND_STEP)
		return;
	if (in_wall)
		add_wall(t, frame, group, frame->counted.self_ns);
	group->sources |= 1u << (frame->sample->source & 31);
	if (kind == BRICK_KIND_WAIT) {
		group->wait_ns += frame->self_ns; /* and no execution, as all other waiting */
		return;
	}
	group->self_ns += frame->self_ns;
	add_off(group, frame->off);
	if (!has_ended(frame))
		return;
	sums_work(group, site);
	count_length(t, group, frame);
	if (t->group_count <= HISTOGRAMS_MAX)
		sums_histogram(t, group, walk_basis_ns(t->index, frame));
}

/* Frames of other phases than the one that was asked for are walked, but not counted. */
static bool is_asked_for(const struct summary_accumulator *t, const struct walk_frame *frame)
{
	return t->only == SUMMARY_ALL_PHASES || phase_of(t, frame) == (uint32_t)t->only;
}

static bool part_counts(const struct summary_accumulator *t, const struct walk_frame *frame)
{
	return t->counted_by_parts >> phase_of(t, frame) & 1;
}

/* What is counted whatever was asked for: steps, the cost of recording, what is in the file. */
static void count_always(
	struct summary_accumulator *t, const struct walk_frame *frame, unsigned depth, bool in_wall)
{
	uint32_t phase = in_wall ? phase_of(t, frame) : SUMMARY_PHASE_OUTSIDE;
	/* What hooks record on their threads, phases too, is in what the hooks cost. */
	if (t->run->sites[frame->sample->site].operation || t->run->lanes[t->lane].hook_calls)
		summary_pairs_hooked(t, frame, phase,
			frame->scope == WALK_ALONGSIDE && frame->step != RUN_NONE
				? phase_of(t, frame)
				: SUMMARY_PHASE_OUTSIDE);
	else
		t->lane_pairs.count[phase]++;
	if (depth == 1 && frame->end_ns + frame->wait_ns > t->lane_end_ns)
		t->lane_end_ns = frame->end_ns + frame->wait_ns;
	if (has_ended(frame))
		t->lane_counts_all[frame->brick]++;
}

static bool is_outermost_in_category(
	const struct summary_accumulator *t, const struct walk_frame *frame, unsigned depth)
{
	const struct run_brick *bricks = t->run->bricks;
	const struct walk_frame *holder = frame - depth + 1;

	while (holder < frame && bricks[holder->brick].category != bricks[frame->brick].category)
		holder++;
	return holder == frame;
}

/* What a step keeps is of no row. row_ns: what the others of its kind keep. */
static void count_wall(
	struct summary_accumulator *t, const struct walk_frame *frame, uint64_t *row_ns)
{
	const struct walk_times *counted = &frame->counted;
	t->attributed_ns += counted->inner_ns + counted->wait_ns;
	if (t->index->kinds[frame->brick] != BRICK_KIND_STEP) {
		*row_ns += counted->self_ns;
		t->attributed_ns += counted->self_ns;
		return;
	}
	uint64_t ns = counted->self_ns + (frame->is_step ? t->index->tails[frame->step].gap_ns : 0);
	t->unattributed_ns += ns;
	t->unattributed_unevaluated_ns += unevaluated(t, frame, ns);
}

static void count_waits(struct summary_accumulator *t, const struct walk_frame *frame, bool in_wall)
{
	const struct walk_times wall = in_wall ? frame->counted : (struct walk_times){0};
	unsigned source = frame->sample->source;
	count_wait(t, frame->inner_ns, frame->inner_off, source, wall.inner_ns);
	count_wait(t, frame->wait_ns, frame->wait_off, source, wall.wait_ns);
	uint64_t ns = unevaluated(t, frame, wall.inner_ns + wall.wait_ns);
	t->lane_bricks[t->wait_brick].unevaluated_ns += ns;
}

/* Time of its own: part of the wall time, of a row or unattributed. */
static void count_self(struct summary_accumulator *t, const struct walk_frame *frame,
	struct summary_sums *sums, bool in_wall)
{
	sums->self_ns += frame->self_ns;
	sums->open_ns += has_ended(frame) ? 0 : frame->self_ns;
	add_off(sums, frame->off);
	sums->wait_ns += frame->inner_ns + frame->wait_ns;
	sums->sources |= 1u << (frame->sample->source & 31);
	uint64_t before_ns = sums->wall_ns;
	if (in_wall)
		count_wall(t, frame, &sums->wall_ns);
	sums->unevaluated_ns += unevaluated(t, frame, sums->wall_ns - before_ns);
	count_waits(t, frame, in_wall);
}

/* Of what was not asked for only the wall time counts, in no row; and waits, if those were. */
static void leave_out(struct summary_accumulator *t, const struct walk_frame *frame, bool in_wall)
{
	bool counts = !part_counts(t, frame);
	if (in_wall && counts)
		count_wall(t, frame, &t->left_out_ns);
	if (!(t->run->sites[frame->sample->site].left_out & RUN_LEFT_OUT_WAITS)) {
		if (counts)
			count_waits(t, frame, in_wall);
		if (t->groups && t->by <= SUMMARY_BY_THREAD)
			count_group_waits(t, &t->groups[summary_group(t, frame)], frame, in_wall);
	} else if (in_wall && counts) {
		t->left_out_ns += frame->counted.inner_ns + frame->counted.wait_ns;
	}
}

static void count_device_wait(struct summary_accumulator *t, const struct walk_frame *frame)
{
	t->device_wait_ns += frame->counted.self_ns;
	if (t->wait_causes.run)
		wait_causes_add(&t->wait_causes, t->lane, frame->index, frame->counted.self_ns);
}

void summary_sample_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct summary_accumulator *t = context;
	const struct run_site *site = &t->run->sites[frame->sample->site];
	struct summary_sums *sums = &t->lane_bricks[frame->brick];
	bool in_wall = counts_to_wall(t, frame);

	if (!t->whole)
		count_always(t, frame, depth, in_wall);
	if (!is_asked_for(t, frame))
		return;
	if (site->left_out) {
		leave_out(t, frame, in_wall);
		return;
	}
	if (in_wall && t->run->bricks[frame->brick].well_known == BRICK_SYNCHRONIZE)
		count_device_wait(t, frame);
	if (t->groups && t->by <= SUMMARY_BY_THREAD)
		count_in_group(t, frame, depth, in_wall);
	if (part_counts(t, frame))
		return;
	count_self(t, frame, sums, in_wall);
	if (!has_ended(frame))
		return;
	if (walk_is_outermost(frame, depth))
		sums->total_ns += frame->length_ns;
	if (is_outermost_in_category(t, frame, depth))
		t->category_total_ns[t->run->bricks[frame->brick].category] += frame->length_ns;
	t->unknown_operations += (site->flags & BRICK_SITE_UNKNOWN_OPERATION) != 0;
	count_length(t, sums, frame);
	sums_work(sums, site);
	if (summary_needs_histograms(t))
		sums_histogram(t, &t->bricks[frame->brick], walk_basis_ns(t->index, frame));
}

/* Tiles are in no row, but cost what others do. No hook records them. */
void summary_sample_tile(void *context, const struct walk_frame *holder, uint32_t i)
{
	struct summary_accumulator *t = context;
	const struct run_sample *sample = &t->run->lanes[t->lane].samples[i];

	t->lane_pairs.count[counts_to_wall(t, holder) ? phase_of(t, holder)
						      : (uint32_t)SUMMARY_PHASE_OUTSIDE]++;
	if (!(sample->flags & RUN_SAMPLE_OPEN))
		t->lane_counts_all[t->run->sites[sample->site].brick]++;
}

/* Of no phase, layer or wall time: nobody knows when it was. */
static void count_reported(struct summary_accumulator *t, uint32_t brick, uint64_t ns)
{
	struct summary_sums *sums = &t->lane_bricks[brick];
	t->lane_counts_all[brick]++;
	if (t->only != SUMMARY_ALL_PHASES || t->counted_by_parts >> SUMMARY_PHASE_OUTSIDE & 1)
		return;
	sums_duration(sums, ns);
	sums->total_ns += ns;
	sums->self_ns += ns;
	sums->sources |= 1u << BRICK_SOURCE_REPORTED;
	t->category_total_ns[t->run->bricks[brick].category] += ns;
	if (summary_needs_histograms(t))
		sums_histogram(t, &t->bricks[brick], ns);
}

void summary_reported(struct summary_accumulator *t)
{
	for (size_t i = 0; i < t->run->point_count; i++) {
		const struct run_point *p = &t->run->points[i];
		if (p->kind == RUN_POINT_REPORTED && p->lane == t->lane)
			count_reported(t, p->brick, (uint64_t)p->value);
	}
}
