/* SPDX-License-Identifier: Apache-2.0 */
/* Collects, while a walk runs, the samples in the accounts of steps after their ends. */
#include "analysis/path/schedule_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/number.h"
#include "base/order.h"

static void schedule_source_add(
	struct schedule_source *source, const struct schedule_after_item *item)
{
	source->failed |= array_push(&source->items, *item) != 0;
}

/* A sample that ran beside a step is in the window of that step. */
static void schedule_source_add_frame(struct schedule_source *s, const struct walk_frame *frame)
{
	const struct walk_times *counted = &frame->counted;
	uint64_t begin_ns = frame->begin_ns, end_ns = s->run->steps[frame->step].end_ns;
	uint64_t own_ns = counted->self_ns + counted->inner_ns;
	uint32_t is_part = counted->length_ns != frame->length_ns;
	struct run_off_times off = frame->off;

	off.preempted_ns = off.preempted_ns < own_ns ? off.preempted_ns : own_ns;
	uint64_t left_ns = own_ns - off.preempted_ns;
	off.blocked_ns = off.blocked_ns < left_ns ? off.blocked_ns : left_ns;
	if (!is_part || own_ns || counted->wait_ns)
		schedule_source_add(
			s, &(struct schedule_after_item){begin_ns > end_ns ? begin_ns : end_ns,
				   own_ns, counted->wait_ns, off,
				   number_min(frame->wait_off.preempted_ns, counted->wait_ns),
				   frame->step, s->lane, frame->index, is_part});
}

static void schedule_source_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct schedule_source *s = context;

	if (frame->scope == WALK_AFTER)
		schedule_source_add_frame(s, frame);
	else if (frame->is_step && frame->scope == WALK_IN_STEP && frame->wait_ns)
		schedule_source_add(
			s, &(struct schedule_after_item){.begin_ns = frame->end_ns,
				   .wait_ns = frame->wait_ns,
				   .wait_preempted_ns =
					   number_min(frame->wait_off.preempted_ns, frame->wait_ns),
				   .step = frame->step,
				   .lane = s->lane,
				   .sample = frame->index});
}

COMPARATOR(compare_items, struct schedule_after_item,
	ORDER(x->step, y->step) ?: ORDER(x->begin_ns, y->begin_ns) ?: ORDER(x->lane, y->lane)
		?: ORDER(x->sample, y->sample))

/* The same bricks, but no steps at all. */
static int init_windows(
	struct step_index *windows, const struct run *run, const struct step_index *index)
{
	windows->by_lane = calloc(1, sizeof(*windows->by_lane));
	windows->lane_first = calloc(run->lane_count + 1, sizeof(*windows->lane_first));
	windows->by_process = calloc(1, sizeof(*windows->by_process));
	windows->process_first = calloc(run->process_count + 1, sizeof(*windows->process_first));
	windows->finished = calloc(run->step_count + 1, 1);
	windows->kinds = malloc(run->brick_count + 1);
	if (!windows->by_lane || !windows->lane_first || !windows->by_process ||
		!windows->process_first || !windows->finished || !windows->kinds ||
		owners_init(&windows->owners, run))
		return -ENOMEM;
	memcpy(windows->kinds, index->kinds, run->brick_count);
	return 0;
}

static int schedule_source_on_lane(void *context, uint32_t lane)
{
	struct schedule_source *s = context;
	s->lane = lane;
	return s->run->step_count && s->run->lanes[lane].kind == BRICK_LANE_THREAD;
}

static int schedule_source_on_lane_end(void *context, uint32_t lane)
{
	const struct schedule_source *s = context;
	return s->failed ? -ENOMEM : 0;
}

static int schedule_source_finish(void *context)
{
	struct schedule_source *s = context;
	array_sort(&s->items, compare_items);
	size_t i = 0;
	for (size_t step = 0; step <= s->run->step_count; step++) {
		while (i < s->items.count && s->items.items[i].step < step)
			i++;
		s->first[step] = (uint32_t)i;
	}
	return 0;
}

static const struct walk_ops schedule_source_ops = {.begin_lane = schedule_source_on_lane,
	.end = schedule_source_on_end,
	.end_lane = schedule_source_on_lane_end,
	.finish = schedule_source_finish};

int schedule_source_init(struct schedule_source *source, struct walk *walk)
{
	memset(source, 0, sizeof(*source));
	source->run = walk->run;
	source->first = calloc(walk->run->step_count + 1, sizeof(*source->first));
	if (!source->first || init_windows(&source->windows, walk->run, walk->index) < 0 ||
		launches_init(&source->launches, walk->run) < 0) {
		schedule_source_fini(source);
		return -ENOMEM;
	}
	walk_join(walk, &schedule_source_ops, source);
	return 0;
}

int schedule_source_find(
	struct schedule_source *source, const struct run *run, const struct step_index *index)
{
	struct walk walk;
	walk_init(&walk, run, index);
	int rc = schedule_source_init(source, &walk);
	if (rc == 0)
		rc = walk_run(&walk);
	if (rc < 0)
		schedule_source_fini(source);
	return rc;
}

void schedule_source_fini(struct schedule_source *source)
{
	array_fini(&source->items);
	free(source->first);
	step_index_fini(&source->windows);
	launches_fini(&source->launches);
	memset(source, 0, sizeof(*source));
}
