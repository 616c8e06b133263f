/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From nodes that are over to samples (nodes.h), and what all of this costs: measured in place, and
 * reported so that mean cost x number of calls is the whole. Called at the end of graphs, and
 * before anything else is recorded on a thread.
 */
#include "attach/ggml/nodes.h"

#include "brick/attach.h"
#include "brick/brick.h"

enum { HOOK_INTERVAL = 64, INTERRUPTED_NS = 30000 };

/* A thread that has been away for so long was not kept by a hook: it is no cost of theirs. */
static uint64_t interrupted_ticks;

void node_cost_init(void)
{
	interrupted_ticks = brick_clock_get()->frequency / 1000 * INTERRUPTED_NS / 1000000;
}

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

	node_flush(t);
	brick_record_sample(&sample);
}

/* Record what was collected, and what the timed ones among them cost with their share of it. */
static void record_marked(struct node_thread *t, uint32_t count)
{
	uint64_t begin = brick__now();

	brick_record_timings(t->events, count);
	uint64_t share = (brick__now() - begin) / count;
	for (uint32_t i = 0; i < count; i++)
		if (t->events[i].mark)
			node_hook_timed(t->events[i].mark + share);
	t->marked = t->open && t->cost;
}

/*
 * Calls that were all timed are reported as one in HOOK_INTERVAL of average length, so that they
 * weigh as much as those of which only one in as many was.
 */
static void add_cost(struct node_thread *t, uint32_t calls, uint64_t ticks)
{
	if (ticks > interrupted_ticks + calls * (interrupted_ticks / 100)) {
		t->hook_calls += calls;
		return;
	}
	t->cost_calls += calls;
	t->cost_ticks += ticks;
	while (t->cost_calls >= HOOK_INTERVAL) {
		uint64_t mean = t->cost_ticks / t->cost_calls;
		brick_hook_cost(HOOK_INTERVAL, mean);
		t->cost_calls -= HOOK_INTERVAL;
		t->cost_ticks -= mean * HOOK_INTERVAL;
	}
}

void node_flush(struct node_thread *t)
{
	uint32_t count = t->event_count;

	t->event_count = 0;
	if (!count)
		return;
	if (t->marked) {
		record_marked(t, count);
		return;
	}
	uint64_t begin = t->call_ticks ? brick__now() : 0;
	brick_record_timings(t->events, count);
	if (begin)
		add_cost(t, count, t->call_ticks + (brick__now() - begin));
	t->call_ticks = 0;
}

void node_settle_slow(struct node_thread *t)
{
	if (t->open)
		node_finish(t, t->end ? t->end : brick__now());
	node_flush(t);
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

void node_hook_draw(struct node_thread *t)
{
	/* Not a fixed step, which could keep in time with the graph. */
	t->random = t->random * 1664525u + 1013904223u;
	t->hook_left = HOOK_INTERVAL / 2 + 1 + (t->random >> 26) % 63;
	t->hook_calls += t->hook_left;
}

void node_hook_timed(uint64_t ticks)
{
	struct node_thread *t = &node_thread;

	if (ticks > interrupted_ticks)
		return;
	brick_hook_cost(t->hook_calls, ticks);
	t->hook_calls = 0;
}
