/* SPDX-License-Identifier: Apache-2.0 */
/* Events become samples here (node_record.h). */
#include "attach/ggml/nodes/node_record.h"

#include "attach/ggml/nodes/masks.h"
#include "brick/attach.h"
#include "brick/brick.h"

void node_record(struct node_thread *t, uint64_t end)
{
	const struct brick_sample sample = {
		.begin = t->begin,
		.end = end,
		.wait = t->wait,
		.inner = t->inner,
		.site = t->site,
		.brick = t->brick,
		.layer = t->layer,
		.source = BRICK_SOURCE_TSC,
	};

	node_flush_events(t);
	masks_record_sample(&sample);
}

/* Record what was collected, and what the timed ones among them cost with their share of it. */
static void record_marked(struct node_thread *t, uint32_t count)
{
	uint64_t begin = brick__now();

	masks_record_timings(t->events, count);
	uint64_t share = (brick__now() - begin) / count;
	for (uint32_t i = 0; i < count; i++)
		if (t->events[i].mark)
			node_cost_timed(&t->hook_cost, t->events[i].mark + share);
	t->marked = t->open && t->cost;
}

void node_flush_events(struct node_thread *t)
{
	uint32_t count = t->event_count;

	t->event_count = 0;
	if (!count)
		return;
	if (t->marked) {
		record_marked(t, count);
		return;
	}
	masks_record_timings(t->events, count);
}

void node_record_span(uint16_t brick, uint64_t begin, uint64_t end)
{
	const struct brick_sample sample = {.begin = begin,
		.end = end,
		.brick = brick,
		.layer = -1,
		.source = BRICK_SOURCE_TSC};

	brick_record_sample(&sample);
}
