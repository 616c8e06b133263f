/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs (node_run.h). The event before the first node's keeps the time up to it. A hook enters and
 * begins its node in the same or the next epoch: a thread that is stopped just there for longer
 * (1.6 s at 2.6 GHz) gives the node what it was stopped for.
 */
#include "attach/ggml/nodes/node_run.h"

#include "attach/ggml/nodes/masks.h"

static uint32_t place_now(const struct node_thread *t)
{
	return (uint32_t)(t->run - &t->plan->events[NODE_PLAN_BEFORE]);
}

/* Where the plan has the node that is expected; its count: nowhere. */
static uint32_t place_of(const struct node_plan *plan, uint32_t known)
{
	uint32_t i = 0;

	while (i < plan->count && plan->known[i] != known)
		i++;
	return i;
}

static void go_on(struct node_thread *t, uint64_t now)
{
	t->run_from = t->run;
	t->run_base = now;
	t->run_epoch = (uint32_t)(now >> 32);
	t->run[-1].begin = (uint32_t)now;
	t->run[-2].begin = (uint32_t)now;
	t->run[-2].ticks = 0;
}

void node_run_arm(struct node_thread *t)
{
	struct known_graph *g = t->in_graph ? t->graph : NULL;
	struct node_plan *plan = NULL;

	if (g)
		plan = node_plan_take(&g->plan,
			&(struct node_plan_graph){g->engine, g->nodes, g->count, g->masks});
	if (!plan)
		return;
	uint32_t place = place_of(plan, t->node_next);
	if (place == plan->count || masks_count(t->graph->masks) > MASKS_MAX_WORKS) {
		node_plan_give(plan);
		return;
	}
	t->plan = plan;
	t->run = &plan->events[NODE_PLAN_BEFORE + place];
	t->run_bytes = t->bytes;
	go_on(t, brick__now());
}

/* When the hook of the first node was entered, and that node began. */
static uint64_t first_entered(const struct node_thread *t)
{
	return t->run_base + t->run_from[-1].ticks;
}

static uint64_t first_begin(const struct node_thread *t)
{
	uint64_t entered = first_entered(t);

	return entered + (t->run_from->begin - (uint32_t)entered);
}

static uint64_t last_begin(const struct node_thread *t)
{
	const struct brick__series_timing *event = t->run - 1;
	uint64_t entered = (uint64_t)t->run_epoch << 32 | (event[-1].begin + event[-1].ticks);

	return entered + (event->begin - (uint32_t)entered);
}

/* Returns how long they took together. */
static uint64_t record(struct node_thread *t, uint32_t count)
{
	struct brick_timing_work works[MASKS_MAX_WORKS];
	struct brick__series_run run = {
		.first = place_now(t) - (uint32_t)(t->run - t->run_from),
		.count = count,
		.begin = first_begin(t),
		.last = last_begin(t),
		.timings = t->run_from,
		.works = works,
	};

	run.work_count = masks_works(t->plan->masked, run.first, count, works);
	return brick__series_record(t->plan->series, &run);
}

/* It takes too long for an event. */
static void record_last(struct node_thread *t, uint64_t end)
{
	t->begin = last_begin(t);
	t->site = t->nodes[t->plan->known[place_now(t) - 1]].site[0];
	t->wait = t->inner = 0;
	node_record(t, end);
}

void node_run_flush(struct node_thread *t, uint64_t end)
{
	uint32_t count = (uint32_t)(t->run - t->run_from);

	if (!count)
		return;
	uint64_t now = brick__now(), last = last_begin(t), length = end - last, lengths = 0;
	uint32_t is_long = length >> 32 != 0;
	t->run[-1].ticks = (uint32_t)length;
	if (count > is_long)
		lengths = record(t, count - is_long) - (is_long ? 0 : length);
	if (is_long)
		record_last(t, end);
	node_cost_add(
		&t->hook_cost, count, last - first_entered(t) - lengths + (brick__now() - now));
	t->started += count;
	go_on(t, end);
}

void node_run_leave(struct node_thread *t)
{
	if (!t->plan)
		return;
	node_run_flush(t, brick__now());
	if (place_now(t) && t->graph) {
		t->node_now = t->plan->known[place_now(t) - 1];
		t->node_next = __atomic_load_n(&t->nodes[t->node_now].next, __ATOMIC_RELAXED);
	}
	node_plan_give(t->plan);
	t->plan = NULL;
	t->run = t->run_from = NODE_RUN_NONE;
	t->run_bytes = 0;
}

int node_run_refused(struct node_thread *t, const void *node, int fused)
{
	uint64_t now = brick__now();

	if (t->run->mark == node_key(&t->shape_at, node, fused)) {
		node_run_flush(t, now);
		go_on(t, now);
		return node_run_begin(t, node, fused, brick__halves(now));
	}
	__atomic_store_n(&t->plan->is_stale, 1, __ATOMIC_RELAXED);
	node_run_leave(t);
	return 0;
}

void node_flush_slow(struct node_thread *t)
{
	if (t->run != t->run_from)
		node_run_flush(t, brick__now());
	if (t->open)
		node_finish(t, t->end ? t->end : brick__now());
	node_flush_events(t);
}
