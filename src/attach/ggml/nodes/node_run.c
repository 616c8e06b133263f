/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans and runs (node_run.h). A plan follows the links between a graph's nodes once; it is made
 * when one thread computes the graph for the first time, and anew when a thread has met another
 * order. The two events before a run's first node keep the time up to its hook (go_on()). A hook
 * enters and begins its node in the same or the next epoch of the clock: if a thread is stopped
 * between the two for longer than an epoch (1.6 s at 2.6 GHz), the stop counts as time of the node.
 */
#include "attach/ggml/nodes/node_run.h"

#include <stdbool.h>
#include <stdlib.h>
#include "attach/ggml/nodes/masks.h"
#include "base/scope.h"

enum { MAX_PLANS = 4 }; /* of one graph; a further order keeps the last plan and leaves its runs */

static uint32_t next_of(const struct known_graph *g, uint32_t at)
{
	return __atomic_load_n(&g->nodes[at].next, __ATOMIC_RELAXED);
}

void node_plans_free(struct node_plan *p)
{
	while (p) {
		struct node_plan *former = p->former;
		brick__series_free(p->series);
		free(p->known);
		free(p->masked);
		free(p);
		p = former;
	}
}

/* A plan of the graph as its links are now. NULL: no memory, or a node has no site. */
static struct node_plan *node_run_create(const struct known_graph *g)
{
	const struct shape_offsets offsets = engine_shape_offsets(g->engine);
	struct node_plan *p =
		calloc(1, sizeof(*p) + (NODE_RUN_BEFORE + g->count + 1) * sizeof(p->events[0]));
	SCOPED uint32_t *sites = malloc((g->count + 1) * sizeof(*sites));

	if (!p)
		return NULL;
	p->known = malloc((g->count + 1) * sizeof(*p->known));
	p->masked = malloc((masks_count(g->masks) + 1) * sizeof(*p->masked));
	if (!p->known || !p->masked || !sites) {
		node_plans_free(p);
		return NULL;
	}
	/* A link that leads back ends the plan. */
	for (uint32_t at = next_of(g, g->count);
		at < g->count && (!p->count || at > p->known[p->count - 1]); at = next_of(g, at)) {
		const struct known_node *k = &g->nodes[at];
		bool is_pair = k->shape != node_shape(&offsets, k->node, 0);
		if (is_pair && k->shape != node_shape(&offsets, k->node, 1))
			break; /* its shape is not the one that its site was made for */
		p->events[NODE_RUN_BEFORE + p->count].mark = node_key(&offsets, k->node, is_pair);
		sites[p->count] = k->site[0];
		p->known[p->count++] = at;
	}
	p->events[NODE_RUN_BEFORE + p->count].mark = NODE_KEY_NONE;
	for (uint32_t i = 0, at = 0; i < masks_count(g->masks); i++) {
		uint32_t node = (uint32_t)(masks_node(g->masks, i) - g->nodes);
		while (at < p->count && p->known[at] < node)
			at++;
		p->masked[i] = at < p->count && p->known[at] == node ? at : MASKS_NOWHERE;
	}
	p->series = brick__series_create(sites, p->count);
	if (p->series)
		return p;
	node_plans_free(p);
	return NULL;
}

/* The graph's newest plan, made if need be. */
static struct node_plan *plan_of(struct known_graph *g)
{
	struct node_plan *now = __atomic_load_n(&g->plan, __ATOMIC_ACQUIRE);

	if (now) {
		uint32_t plans = 0;
		if (!__atomic_load_n(&now->is_stale, __ATOMIC_RELAXED))
			return now;
		for (const struct node_plan *p = now; p; p = p->former)
			plans++;
		if (plans >= MAX_PLANS)
			return now;
	}
	struct node_plan *p = node_run_create(g);
	if (!p)
		return NULL;
	p->former = now;
	if (__atomic_compare_exchange_n(&g->plan, &now, p, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return p;
	p->former = NULL;
	node_plans_free(p);
	return now;
}

static void give_plan(struct node_plan *p)
{
	__atomic_store_n(&p->is_taken, 0, __ATOMIC_RELEASE);
}

/* The index of the expected node in the plan. */
static uint32_t place_now(const struct node_thread *t)
{
	return (uint32_t)(t->run - &t->plan->events[NODE_RUN_BEFORE]);
}

/* All before the expected node is recorded, up to `now`. */
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
	struct node_plan *plan = t->in_graph && t->graph ? plan_of(t->graph) : NULL;
	uint32_t place = 0;

	if (!plan || __atomic_exchange_n(&plan->is_taken, 1, __ATOMIC_ACQUIRE))
		return; /* another thread's run uses the plan */
	while (place < plan->count && plan->known[place] != t->node_next)
		place++;
	if (place == plan->count || masks_count(t->graph->masks) > MASKS_MAX_WORKS) {
		give_plan(plan);
		return;
	}
	t->plan = plan;
	t->run = &plan->events[NODE_RUN_BEFORE + place];
	t->run_bytes = t->bytes;
	go_on(t, brick__now());
}

/* When the hook of the node at run_from was entered. */
static uint64_t first_entered(const struct node_thread *t)
{
	return t->run_base + t->run_from[-1].ticks;
}

/* When the node being executed (the last of the run so far) began. */
static uint64_t last_begin(const struct node_thread *t)
{
	const struct brick__series_timing *event = t->run - 1;
	uint64_t entered = (uint64_t)t->run_epoch << 32 | (event[-1].begin + event[-1].ticks);

	return entered + (event->begin - (uint32_t)entered);
}

/* Record `count` nodes from run_from on. Returns how long they took together, in ticks. */
static uint64_t node_run_record(struct node_thread *t, uint32_t count)
{
	struct brick_timing_work works[MASKS_MAX_WORKS];
	uint64_t entered = first_entered(t);
	struct brick__series_run run = {
		.first = place_now(t) - (uint32_t)(t->run - t->run_from),
		.count = count,
		.begin = entered + (t->run_from->begin - (uint32_t)entered),
		.last = last_begin(t),
		.timings = t->run_from,
		.works = works,
	};

	run.work_count = masks_works(t->plan->masked, run.first, count, works);
	return brick__series_record(t->plan->series, &run);
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
		lengths = node_run_record(t, count - is_long) - (is_long ? 0 : length);
	if (is_long) { /* the last node took 2^32 ticks or more, which fits no event */
		t->begin = last;
		t->site = t->nodes[t->plan->known[place_now(t) - 1]].site[0];
		t->wait = t->inner = 0;
		node_record(t, end);
	}
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
	give_plan(t->plan);
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
	node_drop_former(t);
	if (t->run != t->run_from)
		node_run_flush(t, brick__now());
	if (t->open)
		node_finish(t, t->end ? t->end : brick__now());
	node_flush_events(t);
}
