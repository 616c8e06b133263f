/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the lanes of queues add to the sums: time of devices, which no number of the host's
 * has in it. By brick from the lanes' exact statistics where there are some, all else from samples.
 * Called by summary_accumulator.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analysis/accounts/launches.h"
#include "analysis/accounts/summary_accumulator.h"
#include "analysis/accounts/walk.h"
#include "base/members.h"
#include "base/order.h"

static int compare_kernels(const void *a, const void *b, void *context)
{
	const struct run *run = context;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct run_kernel *x = &run->kernels[i], *y = &run->kernels[k];

	return strcmp(x->name, y->name)
		?: strcmp(x->backend ? x->backend : "", y->backend ? y->backend : "")
		?: ORDER(x->kind, y->kind);
}

/* Kernels of one name, backend and kind are one group, whatever their shapes. */
static int group_kernels(struct summary_accumulator *t)
{
	const struct run *run = t->run;
	SCOPED uint32_t *order = malloc((run->kernel_count + 1) * sizeof(*order));

	t->kernel_groups = calloc(run->kernel_count + 1, sizeof(*t->kernel_groups));
	t->kernel_uses = calloc(run->kernel_count + 1, sizeof(*t->kernel_uses));
	t->group_kernels = calloc(run->kernel_count + 1, sizeof(*t->group_kernels));
	if (!order || !t->kernel_groups || !t->kernel_uses || !t->group_kernels)
		return -ENOMEM;
	for (uint32_t i = 0; i < run->kernel_count; i++)
		order[i] = i;
	if (run->kernel_count > 1)
		qsort_r(order, run->kernel_count, sizeof(*order), compare_kernels, (void *)run);
	for (uint32_t i = 0; i < run->kernel_count; i++) {
		if (!i || compare_kernels(&order[i - 1], &order[i], (void *)run))
			t->group_kernels[t->kernel_group_count++] = order[i];
		t->kernel_groups[order[i]] = t->kernel_group_count - 1;
	}
	return 0;
}

int summary_devices_init(struct summary_accumulator *t)
{
	const struct run *run = t->run;

	if (!t->queues.count)
		return 0;
	t->device = calloc(run->brick_count + 1, sizeof(*t->device));
	t->device_lanes = malloc((run->brick_count + 1) * sizeof(*t->device_lanes));
	t->device_cross_ns = calloc(run->category_count + 1, sizeof(*t->device_cross_ns));
	t->device_counts = calloc(run->brick_count + 1, sizeof(*t->device_counts));
	t->is_unnamed = calloc(run->brick_count + 1, sizeof(*t->is_unnamed));
	wait_causes_init(&t->wait_causes, run);
	if (!t->is_unnamed || !t->device || !t->device_lanes || !t->device_cross_ns ||
		!t->device_counts)
		return -ENOMEM;
	for (size_t b = 0; b <= run->brick_count; b++) {
		t->device[b].min_ns = UINT64_MAX;
		t->device_lanes[b] = RUN_NONE;
	}
	for (size_t b = 0; b < run->brick_count; b++)
		t->is_unnamed[b] = !strcmp(run->categories[run->bricks[b].category].name, "Device");
	return t->by == SUMMARY_BY_KERNEL ? group_kernels(t) : 0;
}

void summary_devices_fini(struct summary_accumulator *t)
{
	members_free(
		t, device, device_groups, device_counts, device_lanes, device_cross_ns, is_unnamed);
	wait_causes_fini(&t->wait_causes);
	members_free(t, spans, kernel_groups, kernel_uses, group_kernels);
}

uint32_t summary_kernel_groups(const struct summary_accumulator *t)
{
	return t->kernel_group_count + (uint32_t)t->run->brick_count;
}

const char *summary_kernel_name(
	const struct summary_accumulator *t, uint32_t group, uint32_t *kernel)
{
	*kernel = RUN_NONE;
	if (group >= t->kernel_group_count)
		return t->run->bricks[group - t->kernel_group_count].name;
	*kernel = t->group_kernels[group];
	return t->run->kernels[*kernel].name;
}

static uint32_t phase_of(
	const struct summary_accumulator *t, uint32_t lane, const struct walk_frame *frame)
{
	uint32_t step = launches_step(t->run, t->index, lane, frame->index);

	if (step == RUN_NONE)
		return SUMMARY_PHASE_OUTSIDE;
	return t->run->steps[step].phase;
}

static uint32_t step_of(
	const struct summary_accumulator *t, uint32_t lane, const struct walk_frame *frame)
{
	return summary_step_group(t, launches_step(t->run, t->index, lane, frame->index));
}

static uint32_t layer_of(const struct summary_accumulator *t, const struct walk_frame *frame)
{
	int32_t layer = t->run->sites[frame->sample->site].layer;
	return layer >= 0 && layer <= SUMMARY_LAST_LAYER ? (uint32_t)layer + 1 : 0;
}

static void add_sample(
	struct summary_accumulator *t, struct summary_sums *sums, const struct walk_frame *frame)
{
	sums->sources |= 1u << (frame->sample->source & 31);
	sums->self_ns += frame->self_ns;
	sums_work(sums, &t->run->sites[frame->sample->site]);
	sums_duration(sums, frame->length_ns);
}

uint32_t summary_device_group(
	const struct summary_accumulator *t, uint32_t lane, const struct walk_frame *frame)
{
	const struct run_command *command;

	switch (t->by) {
	case SUMMARY_BY_KERNEL:
		command = launches_command(t->run, lane, frame->index);
		return command ? t->kernel_groups[command->kernel]
			       : t->kernel_group_count + frame->brick;
	case SUMMARY_BY_QUEUE:
		return t->queues.of_lane[lane];
	case SUMMARY_BY_LAYER:
		return layer_of(t, frame);
	case SUMMARY_BY_PHASE:
		return phase_of(t, lane, frame);
	case SUMMARY_BY_STEP:
		return step_of(t, lane, frame);
	default:
		return RUN_NONE;
	}
}

/* Remembers which kernel of its group was used most. */
static void use_kernel(struct summary_accumulator *t, uint32_t group, uint32_t kernel)
{
	if (++t->kernel_uses[kernel] > t->kernel_uses[t->group_kernels[group]])
		t->group_kernels[group] = kernel;
}

/* A row of its own for a kernel or queue; beside that of the host for a layer or phase. */
static void add_to_group(struct summary_accumulator *t, const struct walk_frame *frame,
	const struct run_command *command)
{
	bool own_row = t->by == SUMMARY_BY_KERNEL || t->by == SUMMARY_BY_QUEUE;
	uint32_t group = summary_device_group(t, t->lane, frame);

	if (group == RUN_NONE)
		return;
	struct summary_sums *sums = own_row ? &t->groups[group] : &t->device_groups[group];
	if (t->by == SUMMARY_BY_KERNEL && command)
		use_kernel(t, group, command->kernel);
	add_sample(t, sums, frame);
	sums->total_ns += frame->self_ns;
	if (own_row)
		sums_histogram(t, sums, frame->length_ns);
}

/* On a queue of several lanes it may run at the same time as others. */
static void remember(struct summary_accumulator *t, const struct walk_frame *frame, bool outermost,
	unsigned depth)
{
	uint32_t queue = t->queues.of_lane[t->lane], group = RUN_NONE;

	if (t->queues.queues[queue].lanes < 2)
		return;
	if (depth == 1 && t->by != SUMMARY_BY_KERNEL && t->by != SUMMARY_BY_QUEUE)
		group = summary_device_group(t, t->lane, frame);
	summary_overlap_add(t, &(struct summary_span){frame->begin_ns, frame->end_ns, queue,
				       outermost ? frame->brick : RUN_NONE, group});
}

void summary_device_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct summary_accumulator *t = context;
	struct summary_sums *sums = &t->device[frame->brick];
	struct device_count *count = &t->device_counts[frame->brick];
	bool outermost = walk_is_outermost(frame, depth);

	if (frame->sample->flags & RUN_SAMPLE_OPEN)
		return;
	count->samples++;
	if (!t->run->lanes[t->lane].stats) {
		count->executions++;
		count->total_ns += outermost ? frame->length_ns : 0;
	}
	const struct run_command *command = launches_command(t->run, t->lane, frame->index);
	uint32_t phase = phase_of(t, t->lane, frame);
	if (t->only != SUMMARY_ALL_PHASES && phase != (uint32_t)t->only)
		return;
	if (t->run->sites[frame->sample->site].left_out)
		return;
	t->device_ns += frame->self_ns;
	if (!t->is_unnamed[frame->brick])
		t->device_covered_ns += frame->self_ns;
	t->device_lanes[frame->brick] = t->lane;
	sums->count++;
	sums->sources |= 1u << (frame->sample->source & 31);
	if (outermost)
		sums->total_ns += frame->length_ns;
	remember(t, frame, outermost, depth);
	if (t->groups)
		add_to_group(t, frame, command);
}

void summary_device_lane_end(struct summary_accumulator *t)
{
	const struct run_lane *lane = &t->run->lanes[t->lane];

	t->devices_lost |= !t->run->complete || !lane->stats || lane->ledger.dropped ||
			   t->run->processes[lane->process].ledger.dropped;
	for (size_t b = 0; b < t->run->brick_count && lane->stats; b++) {
		t->device_counts[b].executions += lane->stats[b].count;
		t->device_counts[b].total_ns += lane->stats[b].total;
		if (lane->stats[b].count && t->device_lanes[b] == RUN_NONE)
			t->device_lanes[b] = t->lane;
	}
}

/* What the devices' statistics know better: also what was dropped. */
void summary_device_finish(struct summary_accumulator *t)
{
	for (size_t b = 0; t->device && b < t->run->brick_count; b++) {
		const struct device_count *count = &t->device_counts[b];
		int is_more = count->executions > count->samples;
		if (b == t->wait_brick || t->index->kinds[b] == BRICK_KIND_TILE)
			continue;
		t->samples += count->samples;
		t->executions += is_more ? count->executions : count->samples;
		if (!t->devices_lost && !t->was_reset)
			t->mismatched += is_more ? count->executions - count->samples
						 : count->samples - count->executions;
		if (t->only != SUMMARY_ALL_PHASES || count->executions < t->device[b].count)
			continue;
		t->device[b].count = count->executions;
		t->device[b].total_ns = count->total_ns;
	}
}
