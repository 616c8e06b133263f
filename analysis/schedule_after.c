/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies in the accounts of steps after their ends: sampling, mostly. Found with one walk over
 * all lanes, the one that the report uses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/schedule.h"
#include "analysis/walk.h"

struct collector {
	struct schedule_after *after;
	uint32_t lane;
	int failed;
};

static void add(struct collector *c, const struct schedule_after_item *item)
{
	struct schedule_after *after = c->after;

	if (after->count == after->capacity) {
		size_t larger = after->capacity ? 2 * after->capacity : 64;
		void *moved = reallocarray(after->items, larger, sizeof(*after->items));
		if (!moved) {
			c->failed = 1;
			return;
		}
		after->items = moved;
		after->capacity = larger;
	}
	after->items[after->count++] = *item;
}

static void on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct collector *c = context;

	(void)depth;
	if (frame->scope == WALK_AFTER)
		add(c, &(struct schedule_after_item){frame->begin_ns,
			       frame->self_ns + frame->inner_ns, frame->wait_ns, frame->step,
			       c->lane, frame->index});
	else if (frame->is_step && frame->scope == WALK_IN_STEP && frame->wait_ns)
		add(c, &(struct schedule_after_item){frame->end_ns, 0, frame->wait_ns, frame->step,
			       c->lane, frame->index});
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

static void index_steps(struct schedule_after *after, size_t steps)
{
	size_t i = 0;

	for (size_t step = 0; step <= steps; step++) {
		while (i < after->count && after->items[i].step < step)
			i++;
		after->first[step] = (uint32_t)i;
	}
}

int schedule_after_init(
	struct schedule_after *after, const struct run *run, const struct step_index *index)
{
	struct collector c = {.after = after};
	const struct walk_visitor visitor = {.end = on_end, .context = &c};

	memset(after, 0, sizeof(*after));
	after->first = calloc(run->step_count + 1, sizeof(*after->first));
	for (c.lane = 0; after->first && index->count && c.lane < run->lane_count; c.lane++)
		walk_lane(run, index, c.lane, &visitor);
	if (!after->first || c.failed) {
		schedule_after_fini(after);
		return -ENOMEM;
	}
	if (after->count)
		qsort(after->items, after->count, sizeof(*after->items), compare_items);
	index_steps(after, run->step_count);
	return 0;
}

void schedule_after_fini(struct schedule_after *after)
{
	free(after->items);
	free(after->first);
	memset(after, 0, sizeof(*after));
}
