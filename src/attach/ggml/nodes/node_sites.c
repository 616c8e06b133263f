/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that are not the next of their graph (node_sites.h): not looked up yet, computed alone
 * where a pair was expected, or of no graph that is known. Each node points to the one that was
 * wanted after it, so that the next time it is where it is expected.
 */
#include "attach/ggml/nodes/node_sites.h"

#include "attach/ggml/note_engine.h"

static struct known_node no_nodes[1];

void node_sites_of(struct node_thread *t, struct known_graph *graph, uint32_t index)
{
	t->graph = graph;
	t->nodes = graph ? graph->nodes : no_nodes;
	t->node_now = graph ? graph->count : 0;
	t->node_next = graph ? index : 0;
}

/* The node in the thread's graph, from where it is on, or the graph's count. */
static uint32_t find(const struct node_thread *t, const void *node, uint64_t shape)
{
	uint32_t count = t->graph->count, at = t->node_now == count ? 0 : t->node_now;

	for (uint32_t i = 0; i < count; i++, at = at + 1 < count ? at + 1 : 0)
		if (t->nodes[at].node == node && t->nodes[at].shape == shape)
			return at;
	return count;
}

/* The graph stays held until its end. */
static void trust_nothing(struct node_thread *t)
{
	t->nodes = no_nodes;
	t->node_now = t->node_next = 0;
}

uint32_t node_site_slow(struct node_thread *t, const void *node, const void *mul, int part)
{
	uint64_t shape =
		shape_offsets_known(&t->shape_at) ? node_shape(&t->shape_at, node, mul != NULL) : 0;
	struct known_node unknown = {.node = node, .layer = -1}, *known = &unknown;

	note_engine(t);
	if (!t->engine)
		return 0;
	uint32_t index = t->nodes != no_nodes ? find(t, node, shape) : 0;
	if (t->nodes != no_nodes && index < t->graph->count) {
		known = &t->nodes[index];
		__atomic_store_n(&t->nodes[t->node_now].next, index, __ATOMIC_RELAXED);
		t->node_now = index;
		t->node_next = __atomic_load_n(&known->next, __ATOMIC_RELAXED);
	} else if (t->nodes != no_nodes && known_graph_refute(t->graph)) {
		trust_nothing(t);
	}
	if (!known->site[part])
		known_node_fill(t->engine, known, mul, part);
	t->brick = known->brick;
	t->layer = known->layer;
	return known->site[part];
}
