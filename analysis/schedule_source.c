/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all schedules of a run share; above all what lies in the accounts of steps after their ends:
 * sampling, mostly. Found with one walk over all lanes, the one that the report uses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/schedule.h"
#include "analysis/walk.h"

struct collector {
	struct schedule_source *source;
	const struct run *run;
	uint32_t lane;
	int failed;
};

static void add(struct collector *c, const struct schedule_after_item *item)
{
	struct schedule_source *source = c->source;

	if (source->count == source->capacity) {
		size_t larger = source->capacity ? 2 * source->capacity : 64;
		void *moved = reallocarray(source->items, larger, sizeof(*source->items));
		if (!moved) {
			c->failed = 1;
			return;
		}
		source->items = moved;
		source->capacity = larger;
	}
	source->items[source->count++] = *item;
}

/* What ran beside a step is in the window of that one. */
static void add_frame(struct collector *c, const struct walk_frame *frame)
{
	const struct walk_times *counted = &frame->counted;
	uint64_t begin_ns = frame->begin_ns, end_ns = c->run->steps[frame->step].end_ns;
	uint64_t own_ns = counted->self_ns + counted->inner_ns;
	uint32_t is_part = counted->length_ns != frame->length_ns;

	if (!is_part || own_ns || counted->wait_ns)
		add(c, &(struct schedule_after_item){begin_ns > end_ns ? begin_ns : end_ns, own_ns,
			       counted->wait_ns, frame->step, c->lane, frame->index, is_part});
}

static void on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct collector *c = context;

	(void)depth;
	if (frame->scope == WALK_AFTER)
		add_frame(c, frame);
	else if (frame->is_step && frame->scope == WALK_IN_STEP && frame->wait_ns)
		add(c, &(struct schedule_after_item){frame->end_ns, 0, frame->wait_ns, frame->step,
			       c->lane, frame->index, 0});
}

static int compare_items(const void *a, const void *b)
{
	const struct schedule_after_item *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->sample > y->sample) - (x->sample < y->sample);
}

static void index_steps(struct schedule_source *source, size_t steps)
{
	size_t i = 0;

	for (size_t step = 0; step <= steps; step++) {
		while (i < source->count && source->items[i].step < step)
			i++;
		source->first[step] = (uint32_t)i;
	}
}

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
		!windows->process_first || !windows->finished || !windows->kinds)
		return -ENOMEM;
	memcpy(windows->kinds, index->kinds, run->brick_count);
	return 0;
}

int schedule_source_init(
	struct schedule_source *source, const struct run *run, const struct step_index *index)
{
	struct collector c = {.source = source, .run = run};
	const struct walk_visitor visitor = {.end = on_end, .context = &c};

	memset(source, 0, sizeof(*source));
	source->first = calloc(run->step_count + 1, sizeof(*source->first));
	for (c.lane = 0; source->first && index->count && c.lane < run->lane_count; c.lane++)
		if (run->lanes[c.lane].kind == BRICK_LANE_THREAD)
			walk_lane(run, index, c.lane, &visitor);
	if (!source->first || c.failed || init_windows(&source->windows, run, index) < 0 ||
		launches_init(&source->launches, run) < 0) {
		schedule_source_fini(source);
		return -ENOMEM;
	}
	if (source->count)
		qsort(source->items, source->count, sizeof(*source->items), compare_items);
	index_steps(source, run->step_count);
	return 0;
}

void schedule_source_fini(struct schedule_source *source)
{
	free(source->items);
	free(source->first);
	step_index_fini(&source->windows);
	launches_fini(&source->launches);
	memset(source, 0, sizeof(*source));
}
