/* SPDX-License-Identifier: Apache-2.0 */
/* Plans (node_plan.h): the links of a graph's nodes, followed once. */
#include "attach/ggml/nodes/node_plan.h"

#include <stdlib.h>
#include "attach/ggml/nodes/masks.h"

enum { MAX_PLANS = 4 }; /* of one graph; an order that changes all the time is not worth more */

static uint32_t next_of(const struct node_plan_graph *g, uint32_t at)
{
	return __atomic_load_n(&g->nodes[at].next, __ATOMIC_RELAXED);
}

static struct node_plan *allocate(const struct node_plan_graph *g, uint32_t count)
{
	struct node_plan *p =
		calloc(1, sizeof *p + (NODE_PLAN_BEFORE + count + 1) * sizeof p->events[0]);

	if (!p)
		return NULL;
	p->known = malloc((count + 1) * sizeof *p->known);
	p->masked = malloc((masks_count(g->masks) + 1) * sizeof *p->masked);
	if (p->known && p->masked)
		return p;
	node_plans_free(p);
	return NULL;
}

/* Whether it stands for two; negative: it has not the shape any more that its site is of. */
static int is_pair(const struct shape_offsets *at, const struct known_node *k)
{
	if (k->shape == node_shape(at, k->node, 0))
		return 0;
	return k->shape == node_shape(at, k->node, 1) ? 1 : -1;
}

/* A link that leads back ends it: whatever comes then is none of the plan. */
static void follow(struct node_plan *p, const struct node_plan_graph *g)
{
	const struct shape_offsets offsets = engine_shape_offsets(g->engine);
	uint32_t at = next_of(g, g->count);

	for (; at < g->count && (!p->count || at > p->known[p->count - 1]); at = next_of(g, at)) {
		int pair = is_pair(&offsets, &g->nodes[at]);
		if (pair < 0)
			break;
		p->events[NODE_PLAN_BEFORE + p->count].mark =
			node_key(&offsets, g->nodes[at].node, pair);
		p->known[p->count++] = at;
	}
	p->events[NODE_PLAN_BEFORE + p->count].mark = NODE_KEY_NONE;
}

static void place_masks(struct node_plan *p, const struct node_plan_graph *g)
{
	for (uint32_t i = 0, at = 0; i < masks_count(g->masks); i++) {
		uint32_t node = (uint32_t)(masks_node(g->masks, i) - g->nodes);
		while (at < p->count && p->known[at] < node)
			at++;
		p->masked[i] = at < p->count && p->known[at] == node ? at : MASKS_NOWHERE;
	}
}

static struct node_plan *create(const struct node_plan_graph *g)
{
	struct node_plan *p = allocate(g, g->count);
	uint32_t *sites = malloc((g->count + 1) * sizeof *sites);

	if (p && sites) {
		follow(p, g);
		place_masks(p, g);
		for (uint32_t i = 0; i < p->count; i++)
			sites[i] = g->nodes[p->known[i]].site[0];
		p->series = brick__series_create(sites, p->count);
	}
	free(sites);
	if (p && p->series)
		return p;
	node_plans_free(p);
	return NULL;
}

static uint32_t number_of(const struct node_plan *p)
{
	uint32_t n = 0;

	for (; p; p = p->former)
		n++;
	return n;
}

static struct node_plan *plan_of(struct node_plan **newest, const struct node_plan_graph *g)
{
	struct node_plan *now = __atomic_load_n(newest, __ATOMIC_ACQUIRE);

	if (now &&
		(!__atomic_load_n(&now->is_stale, __ATOMIC_RELAXED) || number_of(now) >= MAX_PLANS))
		return now;
	struct node_plan *p = create(g);
	if (!p)
		return NULL;
	p->former = now;
	if (__atomic_compare_exchange_n(newest, &now, p, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return p;
	p->former = NULL;
	node_plans_free(p);
	return now;
}

struct node_plan *node_plan_take(struct node_plan **newest, const struct node_plan_graph *g)
{
	struct node_plan *p = plan_of(newest, g);

	return p && !__atomic_exchange_n(&p->is_taken, 1, __ATOMIC_ACQUIRE) ? p : NULL;
}

void node_plan_give(struct node_plan *p)
{
	__atomic_store_n(&p->is_taken, 0, __ATOMIC_RELEASE);
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
