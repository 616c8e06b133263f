/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up each lane by brick in lane_bricks, so that statistics of its thread can complete them;
 * then merge_lane() adds them to the sums of the run. No sample makes a search or an allocation,
 * but for new octaves of histograms.
 *
 * A sample that never ended took time from its thread and from the wall, so self time and shares
 * have it. It is no execution: counts, totals, lengths and work are of samples that ended.
 */
#include "analysis/accounts/thread_accounts.h"
#include "base/number.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/* More groups than this get no percentiles, as each histogram may take 20 KB. */
enum { HISTOGRAMS_MAX = 2048 };

static uint32_t thread_accounts_phase_of(
	const struct thread_accounts *t, const struct walk_frame *frame)
{
	return row_group_of_phase(t->run, frame->step);
}

static struct summary_sums *thread_accounts_group_of(
	const struct thread_accounts *t, const struct walk_frame *frame)
{
	return t->group_sums ? &t->group_sums[row_group_on_thread(t->groups, t->lane, frame)]
			     : NULL;
}

/* Adds to a brick's histogram, which is made even if the run has one, as that may have fewer
 * values. */
static void count_histogram(struct thread_accounts *t, uint32_t brick, uint64_t ns)
{
	if (!row_groups_exist(t->groups) && !sums_add_to_histogram(&t->bricks[brick], ns))
		t->failed = true;
}

/* Counts an execution that has ended. */
static void count_length(
	const struct thread_accounts *t, struct summary_sums *sums, const struct walk_frame *frame)
{
	uint64_t ns = walk_basis_ns(t->index, frame);
	sums_add_duration(sums, frame->length_ns);
	if (t->run->off_cpu.source != OFF_CPU_UNKNOWN)
		lengths_add(&sums->on_cpu, &(struct summary_lengths){1, ns, ns, ns});
}

/* Counts a wait that belongs to a sample, in a row of its own. */
static void thread_accounts_count_wait(
	struct thread_accounts *t, uint64_t ns, struct run_off_times off, unsigned source)
{
	uint32_t brick = t->executions->wait_brick;
	struct summary_sums *sums = &t->lane_bricks[brick];
	if (!ns)
		return;
	sums_add_duration(sums, ns);
	sums->total_ns += ns;
	sums->self_ns += ns;
	sums_add_source(sums, source);
	sums_add_off(sums, off);
	count_histogram(t, brick, ns);
}

/* True if nothing that holds the frame is in the same group. Steps themselves lie in no layer. */
static bool enters_group(
	const struct thread_accounts *t, const struct walk_frame *frame, unsigned depth)
{
	switch (t->groups->by) {
	case SUMMARY_BY_THREAD:
		return depth == 1;
	case SUMMARY_BY_PHASE:
		return depth == 1 ||
		       thread_accounts_phase_of(t, frame - 1) != thread_accounts_phase_of(t, frame);
	case SUMMARY_BY_STEP:
	case SUMMARY_BY_MODEL:
		return depth == 1 || frame[-1].step != frame->step;
	default:
		break;
	}
	uint32_t layer = row_group_of_layer(t->run, frame);
	if (t->index->kinds[frame->brick] == BRICK_KIND_STEP)
		return false;
	for (unsigned i = 1; i < depth; i++)
		if (row_group_of_layer(t->run, frame - i) == layer &&
			t->index->kinds[frame[-(int)i].brick] != BRICK_KIND_STEP)
			return false;
	return true;
}

/* The part of `ns` in a batch that the engine refused, or did not evaluate to the end. */
static uint64_t unevaluated(
	const struct thread_accounts *t, const struct walk_frame *frame, uint64_t ns)
{
	return frame->step != RUN_NONE && t->run->steps[frame->step].outcome ? ns : 0;
}

static void thread_accounts_add_wall(const struct thread_accounts *t,
	const struct walk_frame *frame, struct summary_sums *sums, uint64_t ns)
{
	sums->wall_ns += ns;
	sums->unevaluated_ns += unevaluated(t, frame, ns);
}

/* True if wall time of groups includes time off the CPU: layers are parts of the work only. */
static bool holds_off(const struct thread_accounts *t)
{
	return t->groups->by != SUMMARY_BY_LAYER;
}

static void count_group_waits(const struct thread_accounts *t, struct summary_sums *group,
	const struct walk_frame *frame, bool in_wall)
{
	uint64_t all_ns = frame->counted.inner_ns + frame->counted.wait_ns;

	group->wait_ns += frame->inner_ns + frame->wait_ns;
	if (in_wall)
		thread_accounts_add_wall(t, frame, group,
			holds_off(t) ? all_ns : walk_shares(t->index, frame).wait_ns);
}

static void count_off(struct thread_accounts *t, const struct walk_frame *frame,
	struct run_off_times off, struct summary_rests *to)
{
	struct summary_rests rests = {
		.preempted_ns = off.preempted_ns,
		.blocked_ns = off.blocked_ns,
		.preempted_unevaluated_ns = unevaluated(t, frame, off.preempted_ns),
		.blocked_unevaluated_ns = unevaluated(t, frame, off.blocked_ns),
	};
	rests_add(to, &rests);
}

/* True if groups have whole steps, with their unattributed time. */
static bool holds_steps(const struct thread_accounts *t)
{
	return t->groups->by == SUMMARY_BY_STEP || t->groups->by == SUMMARY_BY_PHASE ||
	       t->groups->by == SUMMARY_BY_MODEL;
}

static uint64_t gap_of(const struct thread_accounts *t, const struct walk_frame *frame)
{
	return frame->is_step ? t->index->tails[frame->step].gap_ns : 0;
}

/* Counts wall time that is in no group: of steps themselves, and of what was not asked for. */
static void count_group_rests(struct thread_accounts *t, const struct walk_frame *frame)
{
	const struct walk_times *counted = &frame->counted;
	struct walk_shares shares = walk_shares(t->index, frame);
	uint32_t left_out = t->run->sites[frame->sample->site].left_out;
	bool is_step = t->index->kinds[frame->brick] == BRICK_KIND_STEP;

	if (is_step && (left_out || !holds_steps(t))) {
		count_off(t, frame, shares.own_off, &t->group_rests);
		t->group_rests.unattributed_ns += shares.own_ns + gap_of(t, frame);
		t->group_rests.unattributed_unevaluated_ns +=
			unevaluated(t, frame, shares.own_ns + gap_of(t, frame));
	}
	if (!holds_off(t) && !is_step && !left_out)
		count_off(t, frame, shares.own_off, &t->group_rests);
	if (!holds_off(t) && !(left_out & RUN_LEFT_OUT_WAITS))
		count_off(t, frame, shares.wait_off, &t->group_rests);
	t->group_rests.left_out_ns += left_out && !is_step ? counted->self_ns : 0;
	if (left_out & RUN_LEFT_OUT_WAITS)
		t->group_rests.left_out_ns += counted->inner_ns + counted->wait_ns;
}

static void count_in_group(struct thread_accounts *t, struct summary_sums *group,
	const struct walk_frame *frame, unsigned depth, bool in_wall)
{
	enum brick_kind kind = t->index->kinds[frame->brick];
	if (walk_has_ended(frame) && enters_group(t, frame, depth))
		group->total_ns += frame->length_ns;
	count_group_waits(t, group, frame, in_wall);
	if (in_wall)
		count_group_rests(t, frame);
	if (in_wall && (kind != BRICK_KIND_STEP || holds_steps(t)))
		thread_accounts_add_wall(t, frame, group,
			holds_off(t) ? frame->counted.self_ns + gap_of(t, frame)
				     : walk_shares(t->index, frame).own_ns);
	if (kind == BRICK_KIND_STEP)
		return;
	sums_add_source(group, frame->sample->source);
	if (kind == BRICK_KIND_WAIT) {
		group->wait_ns += frame->self_ns; /* and no execution, as all other waiting */
		return;
	}
	group->self_ns += frame->self_ns;
	sums_add_off(group, frame->off);
	if (!walk_has_ended(frame))
		return;
	sums_add_work(group, &t->run->sites[frame->sample->site]);
	count_length(t, group, frame);
	if (t->groups->count <= HISTOGRAMS_MAX &&
		!sums_add_to_histogram(group, walk_basis_ns(t->index, frame)))
		t->failed = true;
}

static bool part_counts(const struct thread_accounts *t, const struct walk_frame *frame)
{
	return t->counted_by_parts >> thread_accounts_phase_of(t, frame) & 1;
}

static bool is_outermost_in_category(
	const struct thread_accounts *t, const struct walk_frame *frame, unsigned depth)
{
	const struct run_brick *bricks = t->run->bricks;
	const struct walk_frame *holder = frame - depth + 1;

	while (holder < frame && bricks[holder->brick].category != bricks[frame->brick].category)
		holder++;
	return holder == frame;
}

/* Counts a frame's own wall time in its row; a step's own time is unattributed. */
static void count_wall(
	struct thread_accounts *t, const struct walk_frame *frame, struct summary_sums *row)
{
	struct walk_shares shares = walk_shares(t->index, frame);

	count_off(t, frame, shares.own_off, &t->rests);
	if (t->index->kinds[frame->brick] != BRICK_KIND_STEP) {
		row->wall_ns += shares.own_ns;
		row->unevaluated_ns += unevaluated(t, frame, shares.own_ns);
		off_times_add(&row->wall_off, shares.own_off);
		t->attributed_ns += frame->counted.self_ns;
		return;
	}
	uint64_t ns = shares.own_ns + gap_of(t, frame);
	t->rests.unattributed_ns += ns;
	t->rests.unattributed_unevaluated_ns += unevaluated(t, frame, ns);
}

static void count_waits(struct thread_accounts *t, const struct walk_frame *frame, bool in_wall)
{
	struct summary_sums *waits = &t->lane_bricks[t->executions->wait_brick];
	struct walk_shares shares = walk_shares(t->index, frame);
	unsigned source = frame->sample->source;

	thread_accounts_count_wait(t, frame->inner_ns, frame->inner_off, source);
	thread_accounts_count_wait(t, frame->wait_ns, frame->wait_off, source);
	if (!in_wall)
		return;
	count_off(t, frame, shares.wait_off, &t->rests);
	waits->wall_ns += shares.wait_ns;
	waits->unevaluated_ns += unevaluated(t, frame, shares.wait_ns);
	off_times_add(&waits->wall_off, shares.wait_off);
	t->attributed_ns += frame->counted.inner_ns + frame->counted.wait_ns;
}

/* Left-out samples count only towards the wall time; their waits count if these are selected. */
static void leave_out(struct thread_accounts *t, const struct walk_frame *frame, bool in_wall)
{
	struct summary_sums *group = thread_accounts_group_of(t, frame);
	bool counts = !part_counts(t, frame);

	if (in_wall && group)
		count_group_rests(t, frame);
	if (in_wall && counts && t->index->kinds[frame->brick] == BRICK_KIND_STEP) {
		count_wall(t, frame, NULL);
	} else if (in_wall && counts) {
		t->rests.left_out_ns += frame->counted.self_ns;
		t->attributed_ns += frame->counted.self_ns;
	}
	if (!(t->run->sites[frame->sample->site].left_out & RUN_LEFT_OUT_WAITS)) {
		if (counts)
			count_waits(t, frame, in_wall);
		if (group)
			count_group_waits(t, group, frame, in_wall);
	} else if (in_wall && counts) {
		t->rests.left_out_ns += frame->counted.inner_ns + frame->counted.wait_ns;
		t->attributed_ns += frame->counted.inner_ns + frame->counted.wait_ns;
	}
}

static void thread_accounts_on_sample(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct thread_accounts *t = context;
	const struct run_site *site = &t->run->sites[frame->sample->site];
	struct summary_sums *sums = &t->lane_bricks[frame->brick];
	bool in_wall = walk_in_wall(t->run, frame);

	if (t->run->has_statistics_only)
		return;
	if (t->only != SUMMARY_ALL_PHASES &&
		thread_accounts_phase_of(t, frame) != (uint32_t)t->only)
		return;
	if (site->left_out) {
		leave_out(t, frame, in_wall);
		return;
	}
	if (in_wall && t->run->bricks[frame->brick].well_known == BRICK_SYNCHRONIZE) {
		t->device_wait_ns += frame->counted.self_ns;
		if (t->wait_causes.run)
			wait_causes_add(
				&t->wait_causes, t->lane, frame->index, frame->counted.self_ns);
	}
	if (t->group_sums)
		count_in_group(t, thread_accounts_group_of(t, frame), frame, depth, in_wall);
	if (part_counts(t, frame))
		return;
	sums->self_ns += frame->self_ns;
	sums->open_ns += walk_has_ended(frame) ? 0 : frame->self_ns;
	sums_add_off(sums, frame->off);
	sums->wait_ns += frame->inner_ns + frame->wait_ns;
	sums_add_source(sums, frame->sample->source);
	if (in_wall)
		count_wall(t, frame, sums);
	count_waits(t, frame, in_wall);
	if (!walk_has_ended(frame))
		return;
	if (walk_is_outermost(frame, depth))
		sums->total_ns += frame->length_ns;
	if (is_outermost_in_category(t, frame, depth))
		t->category_total_ns[t->run->bricks[frame->brick].category] += frame->length_ns;
	t->unknown_operations += (site->flags & BRICK_SITE_UNKNOWN_OPERATION) != 0;
	count_length(t, sums, frame);
	sums_add_work(sums, site);
	count_histogram(t, frame->brick, walk_basis_ns(t->index, frame));
}

/* Counts a reported duration in no layer or wall time: when it was is not known, only when it was
 * told. */
static void count_reported(struct thread_accounts *t, uint32_t brick, uint64_t ns, bool has_part)
{
	struct summary_sums *sums = &t->lane_bricks[brick];
	sums_add_duration(sums, ns);
	sums->total_ns += ns;
	sums->self_ns += ns;
	sums_add_source(sums, BRICK_SOURCE_REPORTED);
	if (has_part) /* thread_accounts_on_lane_end() and _finish() add the part's sums of these */
		return;
	t->category_total_ns[t->run->bricks[brick].category] += ns;
	count_histogram(t, brick, ns);
}

/* A pass through steps beside a lane's points, both by time. */
struct told {
	size_t next;   /* first step that has not begun */
	uint32_t step; /* the lane's last step that has begun; RUN_NONE: none */
};

/* The phase of the step in which the thread reported at `ns`. Calls must come by time. */
static uint32_t phase_told(const struct thread_accounts *t, struct told *told, uint64_t ns)
{
	const struct run *run = t->run;

	for (; told->next < run->step_count && run->steps[told->next].begin_ns <= ns; told->next++)
		if (run->steps[told->next].lane == t->lane)
			told->step = (uint32_t)told->next;
	const struct run_step *step = told->step == RUN_NONE ? NULL : &run->steps[told->step];
	return row_group_of_phase(
		run, step && (step->open || ns <= step->end_ns) ? told->step : RUN_NONE);
}

/* Counts the lane's executions that the program timed itself. */
static void count_all_reported(struct thread_accounts *t)
{
	struct told told = {.step = RUN_NONE};

	if (t->counted_by_parts == UINT32_MAX) /* by one that ended before */
		return;
	for (size_t i = 0; t->executions->has_reported && i < t->run->point_count; i++) {
		const struct run_point *p = &t->run->points[i];
		if (p->kind != RUN_POINT_REPORTED || p->lane != t->lane)
			continue;
		uint32_t phase = phase_told(t, &told, p->ns);
		if (t->only == SUMMARY_ALL_PHASES || phase == (uint32_t)t->only)
			count_reported(t, p->brick, number_of_double(p->value),
				t->counted_by_parts >> phase & 1);
	}
}

/*
 * The thread's own statistics of a brick, which know of dropped samples. NULL: there are none; only
 * one phase is counted; or the recording was cut off, and they are older than its last samples.
 */
static const struct run_stat *exact_stat(
	const struct thread_accounts *t, const struct run_lane *lane, uint32_t brick)
{
	if (!lane->stats || brick >= t->run->brick_count || t->only != SUMMARY_ALL_PHASES)
		return NULL;
	const struct run_stat *stat = &lane->stats[brick];
	if (!t->run->complete && stat->count < t->lane_bricks[brick].count)
		return NULL;
	return stat;
}

/*
 * Counts a run with statistics only: own times are the sums that samples would give, as far as a
 * lane's time is wall time (src/analysis/steps/step_times.h), or there are no steps.
 */
static void count_statistics(struct thread_accounts *t, const struct run_lane *lane)
{
	bool in_wall = !t->has_steps || step_times_has_steps(t->run, lane);

	for (uint32_t b = 0; lane->stats && b < t->run->brick_count; b++) {
		struct summary_sums *sums = &t->lane_bricks[b];
		uint64_t ns = lane->stats[b].self_ns;
		if (!in_wall)
			continue;
		if (t->index->kinds[b] == BRICK_KIND_STEP ||
			t->index->kinds[b] == BRICK_KIND_TILE) {
			t->rests.unattributed_ns += ns;
			continue;
		}
		sums->wall_ns += ns;
		t->attributed_ns += ns;
		if (t->run->bricks[b].well_known == BRICK_SYNCHRONIZE)
			t->device_wait_ns += ns;
		if (t->groups->by == SUMMARY_BY_THREAD)
			t->group_sums[t->lane].wall_ns += ns;
	}
}

/* Adds a lane to the sums of the run, by statistics where there are any. */
static void merge_lane(struct thread_accounts *t, const struct run_lane *lane)
{
	struct summary_sums exact = {.min_ns = UINT64_MAX};
	for (uint32_t b = 0; b <= t->run->brick_count; b++) {
		const struct summary_sums *sampled = &t->lane_bricks[b];
		const struct run_stat *stat = exact_stat(t, lane, b);
		if (!stat) {
			sums_add(&t->bricks[b], sampled);
			continue;
		}
		struct run_stat own = *stat;
		if (stat->count == sampled->count &&
			sampled->sources == 1u << BRICK_SOURCE_REPORTED) { /* told to the ns */
			own.total_ns = own.self_ns = sampled->total_ns;
			own.min_ns = sampled->min_ns;
			own.max_ns = sampled->max_ns;
		}
		sums_add_exact(&t->bricks[b], sampled, &own);
		if (t->index->kinds[b] == BRICK_KIND_WORK ||
			t->index->kinds[b] == BRICK_KIND_OVERHEAD)
			sums_add_stat(&exact, &own, sampled->open_ns);
	}
	if (t->groups->by != SUMMARY_BY_THREAD || t->only != SUMMARY_ALL_PHASES || !lane->stats ||
		(!t->run->complete && !t->run->has_statistics_only))
		return;
	struct summary_sums *group = &t->group_sums[t->lane];
	group->count = exact.count;
	group->sum_ns = exact.sum_ns;
	group->min_ns = exact.min_ns;
	group->max_ns = exact.max_ns;
	group->self_ns = exact.self_ns;
	group->elements = exact.elements;
	group->bytes = exact.bytes;
	group->flops = exact.flops;
}

static int thread_accounts_on_lane(void *context, uint32_t lane)
{
	struct thread_accounts *t = context;
	if (t->run->lanes[lane].kind == BRICK_LANE_QUEUE)
		return 0;
	t->lane = lane;
	sums_clear(t->lane_bricks, t->run->brick_count + 1);
	return 1;
}

static int thread_accounts_on_lane_end(void *context, uint32_t lane)
{
	struct thread_accounts *t = context;
	count_all_reported(t);
	for (size_t i = 0; i < t->part_count; i++)
		for (size_t b = 0; b <= t->run->brick_count; b++)
			sums_add(&t->lane_bricks[b], &t->parts[i]->lane_bricks[b]);
	if (t->run->has_statistics_only)
		count_statistics(t, &t->run->lanes[lane]);
	merge_lane(t, &t->run->lanes[lane]);
	return t->failed ? -ENOMEM : 0;
}

static int thread_accounts_finish(void *context)
{
	struct thread_accounts *t = context;
	for (size_t i = 0; i < t->part_count; i++) {
		const struct thread_accounts *part = t->parts[i];
		for (size_t c = 0; c < t->run->category_count; c++)
			t->category_total_ns[c] += part->category_total_ns[c];
		t->attributed_ns += part->attributed_ns;
		rests_add(&t->rests, &part->rests);
		t->unknown_operations += part->unknown_operations;
		for (size_t b = 0; !row_groups_exist(t->groups) && b <= t->run->brick_count; b++)
			if (part->bricks[b].histogram &&
				!sums_add_histogram(&t->bricks[b], part->bricks[b].histogram))
				t->failed = true;
	}
	t->failed |= wait_causes_finish(&t->wait_causes) < 0;
	return t->failed ? -ENOMEM : 0;
}

static const struct walk_ops thread_accounts_ops = {.begin_lane = thread_accounts_on_lane,
	.end = thread_accounts_on_sample,
	.end_lane = thread_accounts_on_lane_end,
	.finish = thread_accounts_finish};

int thread_accounts_init(struct thread_accounts *t, struct walk *walk,
	const struct row_groups *groups, const struct execution_counts *executions, int only,
	bool waits_for_devices)
{
	const struct run *run = walk->run;
	bool has_groups = row_groups_exist(groups) && !summary_by_devices(groups->by);
	*t = (struct thread_accounts){.run = run,
		.index = walk->index,
		.groups = groups,
		.executions = executions,
		.only = only,
		.bricks = sums_create(run->brick_count + 1),
		.lane_bricks = sums_create(run->brick_count + 1),
		.group_sums = has_groups ? sums_create(groups->count) : NULL,
		.category_total_ns = calloc(run->category_count + 1, sizeof(uint64_t))};
	for (size_t l = 0; l < run->lane_count && run->has_statistics_only; l++)
		t->has_steps |= step_times_has_steps(run, &run->lanes[l]);
	if (waits_for_devices)
		wait_causes_init(&t->wait_causes, run);
	if (!t->bricks || !t->lane_bricks || (has_groups && !t->group_sums) ||
		!t->category_total_ns) {
		thread_accounts_fini(t);
		return -ENOMEM;
	}
	walk_join(walk, &thread_accounts_ops, t);
	return 0;
}

void thread_accounts_fini(struct thread_accounts *t)
{
	if (!t->run)
		return;
	sums_destroy(t->bricks, t->run->brick_count + 1);
	sums_destroy(t->lane_bricks, t->run->brick_count + 1);
	if (t->group_sums)
		sums_destroy(t->group_sums, t->groups->count);
	free(t->category_total_ns);
	wait_causes_fini(&t->wait_causes);
	*t = (struct thread_accounts){0};
}

void thread_accounts_take(struct thread_accounts *to, const struct thread_accounts *part)
{
	assert(to->only == SUMMARY_ALL_PHASES || to->only == part->only);
	assert(to->part_count < STEP_PHASES);
	to->parts[to->part_count++] = part;
	to->counted_by_parts =
		part->only == to->only ? UINT32_MAX : to->counted_by_parts | 1u << part->only;
}
