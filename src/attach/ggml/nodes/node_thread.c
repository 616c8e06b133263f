/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads' state, the recording of their events, and the cost of their hooks (node_thread.h).
 */
#include "attach/ggml/nodes/node_thread.h"

#include "attach/ggml/nodes/masks.h"
#include "brick/attach.h"
#include "brick/brick.h"

struct brick__series_timing node_run_none[NODE_RUN_BEFORE + 1] = {
	[NODE_RUN_BEFORE] = {.mark = NODE_KEY_NONE}};

__thread struct node_thread node_thread __attribute__((tls_model("initial-exec"))) = {
	.run = NODE_RUN_NONE, .run_from = NODE_RUN_NONE};

enum {
	HOOK_INTERVAL = 64,	/* calls per timed call, on average */
	INTERRUPTED_NS = 30000, /* no hook takes so long: the thread was off the CPU meanwhile */
};

/* INTERRUPTED_NS in ticks; every thread stores the same value. */
static uint64_t interrupted_ticks;

void node_cost_init(struct node_cost *cost, uint32_t seed)
{
	__atomic_store_n(&interrupted_ticks,
		brick_clock_get()->frequency / 1000 * INTERRUPTED_NS / 1000000, __ATOMIC_RELAXED);
	*cost = (struct node_cost){.random = seed};
}

uint32_t node_cost_draw(struct node_cost *cost)
{
	/*
	 * A fixed interval could meet the same node of every graph. 33 + 0..62 is HOOK_INTERVAL on
	 * average; the generator's upper bits are the random ones.
	 */
	cost->random = cost->random * 1664525u + 1013904223u;
	uint32_t left = HOOK_INTERVAL / 2 + 1 + (cost->random >> 26) % 63;
	cost->calls += left;
	return left;
}

void node_cost_report(struct node_cost *cost, uint64_t ticks)
{
	if (ticks > interrupted_ticks)
		return; /* its calls stay counted, for the next report */
	brick_hook_cost(cost->calls, ticks);
	cost->calls = 0;
}

/*
 * Each HOOK_INTERVAL calls that were all timed become one report of their mean, so that a call
 * weighs the same whether all calls or one in HOOK_INTERVAL were timed. The calls of an interrupted
 * span are only counted: the next report stands for them. A span may take one interruption's length
 * and a hundredth of it (300 ns) per call.
 */
void node_cost_add(struct node_cost *cost, uint32_t calls, uint64_t ticks)
{
	if (ticks > interrupted_ticks + calls * (interrupted_ticks / 100)) {
		cost->calls += calls;
		return;
	}
	cost->whole_calls += calls;
	cost->whole_ticks += ticks;
	uint64_t mean = cost->whole_ticks / cost->whole_calls;
	while (cost->whole_calls >= HOOK_INTERVAL) {
		brick_hook_cost(HOOK_INTERVAL, mean);
		cost->whole_calls -= HOOK_INTERVAL;
		cost->whole_ticks -= mean * HOOK_INTERVAL;
	}
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

	node_flush_events(t);
	masks_record_sample(&sample);
}

void node_flush_events(struct node_thread *t)
{
	node_drop_former(t);
	uint32_t count = t->event_count;

	t->event_count = 0;
	if (!count)
		return;
	if (!t->marked) {
		masks_record_timings(t->events, count);
		return;
	}
	/* The cost of a timed node is its hook and its share of the recording here. */
	uint64_t begin = brick__now();
	masks_record_timings(t->events, count);
	uint64_t share = (brick__now() - begin) / count;
	for (uint32_t i = 0; i < count; i++)
		if (t->events[i].mark)
			node_cost_report(&t->hook_cost, t->events[i].mark + share);
	t->marked = t->open && t->cost;
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
