/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scopes of an execution graph: a stack of nodes that are open, and for each of them and each lane
 * the node that was added last, which the next one follows.
 */
#include <errno.h>
#include "brick/error.h"
#include "lib/graph/graph_core.h"

static int is_on_device(uint32_t kind)
{
	return kind == BRICK_NODE_KERNEL || kind == BRICK_NODE_TRANSFER;
}

static const struct brick__node *scope_of(const struct brick_graph *graph)
{
	return graph->scopes.count
		       ? &graph->nodes.items[graph->scopes.items[graph->scopes.count - 1]]
		       : NULL;
}

/* Asynchronous work follows what its lane did last, whoever launched that. */
static uint64_t sequence_key(const struct brick_graph *graph, uint32_t kind, uint32_t lane)
{
	uint64_t scope = graph->scopes.items[graph->scopes.count - 1];

	if (is_on_device(kind) && scope_of(graph)->lane != lane)
		scope = BRICK__NONE;
	return scope << 32 | lane;
}

int brick__graph_reserve_links(struct brick_graph *graph, const struct brick_graph_node *node)
{
	if (!graph->scopes.count)
		return 0;
	int error = brick__graph_reserve_edges(graph, 2);
	if (error < 0)
		return error;
	/* The entry in which the new node will be found; until then it says what it said. */
	uint64_t key = sequence_key(graph, node->kind, node->lane);
	uint32_t last = brick__map_get(&graph->last, key);
	return last == BRICK__NONE ? hashmap_set(&graph->last, key, BRICK__NONE - 1) : 0;
}

static int holding_kind(const struct brick__node *scope, const struct brick__node *node)
{
	if (node->kind == BRICK_NODE_KERNEL)
		return BRICK_EDGE_LAUNCHES;
	if (node->kind == BRICK_NODE_TRANSFER && node->lane != scope->lane)
		return BRICK_EDGE_LAUNCHES;
	if (node->kind == BRICK_NODE_FUNCTION && scope->kind == BRICK_NODE_FUNCTION)
		return BRICK_EDGE_CALLS;
	return BRICK_EDGE_CONTAINS;
}

void brick__graph_link(struct brick_graph *graph, uint32_t id)
{
	if (!graph->scopes.count)
		return;
	const struct brick__node *node = &graph->nodes.items[id];
	uint64_t key = sequence_key(graph, node->kind, node->lane);
	uint32_t last = brick__map_get(&graph->last, key);

	brick__graph_append_edge(graph, graph->scopes.items[graph->scopes.count - 1], id,
		holding_kind(scope_of(graph), node), 1);
	if (last < id)
		brick__graph_append_edge(graph, last, id, BRICK_EDGE_SEQUENCE, 1);
	hashmap_set(&graph->last, key, id); /* the entry is there: cannot fail */
}

int brick_graph_push(struct brick_graph *graph, uint32_t node)
{
	if (node >= graph->nodes.count)
		return -ENOENT;
	return array_push(&graph->scopes, node);
}

int brick_graph_enter(struct brick_graph *graph, const struct brick_graph_node *node)
{
	/* Capacity first: a node that was added must be open. */
	int error = array_reserve(&graph->scopes, 1);
	if (error)
		return error;
	int id = brick_graph_add(graph, node);
	if (id >= 0)
		array_push(&graph->scopes, (uint32_t)id);
	return id;
}

int brick_graph_pop(struct brick_graph *graph)
{
	if (!graph->scopes.count) {
		graph->pops_missed = 1;
		return BRICK_ESTATE;
	}
	return (int)graph->scopes.items[--graph->scopes.count];
}

int brick_graph_current(const struct brick_graph *graph)
{
	return graph->scopes.count ? (int)graph->scopes.items[graph->scopes.count - 1] : -ENOENT;
}

int brick_graph_is_balanced(const struct brick_graph *graph)
{
	return !graph->scopes.count && !graph->pops_missed;
}

void brick__graph_scopes_fini(struct brick_graph *graph)
{
	hashmap_fini(&graph->last);
	array_fini(&graph->scopes);
}
