/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of an execution graph: flat arrays with indices between them. Nodes and edges are only
 * ever appended; names are interned; what depends on all edges (sparse rows, the plan) is built
 * when it is asked for and dropped when the graph changes. Nothing outside of graph/ includes
 * this.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "brick/graph.h"
#include "brick/graph_path.h"
#include "base/array.h"
#include "base/hashmap.h"
#include "lib/graph/dag.h"
#include "lib/graph/names.h"

struct brick__node {
	uint64_t begin_ns, time_ns, wait_ns, elements, bytes;
	uint32_t name, label; /* numbers; label may be BRICK__NONE */
	uint32_t lane;
	uint32_t payload;   /* its place among the nodes of its kind */
	uint32_t next_same; /* next node of the same name, or BRICK__NONE */
	int32_t layer;
	uint8_t kind, flags;
};

struct brick__edge {
	double weight;
	uint32_t from, to;
};

/* As in brick_graph_transfer and brick_graph_function, with numbers of names. */
struct brick__transfer {
	uint32_t source, target, direction;
};

struct brick__function {
	uint32_t file, line;
};

/* Edges by node: those of node v are edges[first[v]] .. edges[first[v + 1] - 1]. */
struct brick__rows {
	uint32_t *first, *edges; /* NULL: not built */
};

/*
 * Nodes as activities with their own times, sorted. Activity v is node v, or the begin of it when
 * it holds others; then another one is its end.
 */
struct brick__plan {
	struct brick__dag dag;
	uint32_t *parent; /* [nodes] what holds or launched it, or BRICK__NONE */
	uint8_t *held;	  /* [nodes] 1: its time is part of its parent's */
	uint32_t *end;	  /* [nodes] the activity that ends it */
	uint32_t *ends;	  /* [activities - nodes] the node that it ends */
	uint64_t *own_ns; /* [activities] */
	uint64_t *finish_ns;
	uint64_t *latest_ns; /* latest finish; NULL: not asked for yet */
	uint64_t length_ns;
	uint32_t *path; /* nodes; NULL: not asked for yet */
	size_t path_count;
};

struct brick__code {
	uint64_t hash;
	char *name, *source, *path;
};

struct brick_graph {
	struct brick__names names;
	ARRAY(struct brick__node) nodes;
	ARRAY(struct brick__edge) edges;
	ARRAY(uint8_t) edge_kinds; /* of the same edges */

	ARRAY(uint32_t) of_kind[BRICK_NODE_KINDS]; /* nodes */
	/* What nodes of these kinds have beside what all have. */
	ARRAY(struct brick_graph_kernel) kernels;
	ARRAY(struct brick__transfer) transfers;
	ARRAY(struct brick__function) functions;
	ARRAY(struct brick_graph_task) tasks;

	struct hashmap lane_names; /* lane: name */
	struct hashmap last;	   /* scope and lane: the node added last */
	ARRAY(uint32_t) scopes;	   /* nodes that are open, the innermost last */
	int pops_missed;

	ARRAY(struct brick__code) codes;
	struct hashmap code_index; /* by hash */

	struct brick__rows out, in;
	struct brick__plan *plan; /* NULL: not made */
	uint32_t *cycle; /* of the plan that could not be made, or of brick_graph_cycle() */
	uint32_t cycle_count;
};

/* BRICK__NONE: the key is not there. */
static inline uint32_t brick__map_get(const struct hashmap *map, uint64_t key)
{
	return (uint32_t)hashmap_get(map, key);
}

/* edges.c: drop what depends on the edges. */
void brick__graph_changed(struct brick_graph *graph);

/* Capacity for `edges` more edges, so that adding them cannot fail. -ENOMEM. BRICK_EFULL. */
int brick__graph_reserve_edges(struct brick_graph *graph, uint32_t edges);
void brick__graph_append_edge(
	struct brick_graph *graph, uint32_t from, uint32_t to, int kind, double weight);

/* scope.c: link a new node to what is open; call it before and after the node is added. */
int brick__graph_reserve_links(struct brick_graph *graph, const struct brick_graph_node *node);
void brick__graph_link(struct brick_graph *graph, uint32_t node);

/* scope.c, code.c: the parts of clear */
void brick__graph_scopes_fini(struct brick_graph *graph);
void brick__graph_codes_fini(struct brick_graph *graph);

/* plan.c: make the plan if there is none. BRICK_ECYCLE: graph->cycle names it. -ENOMEM. */
int brick__graph_plan(struct brick_graph *graph);
void brick__graph_plan_fini(struct brick_graph *graph);

/* transfer.c: the pairs, and the bytes that they moved, both ways. */
int brick__graph_ping_pongs(const struct brick_graph *graph, struct brick_graph_ping_pong *out,
	size_t capacity, uint64_t *bytes);

/* The first holding edge into each node: [nodes], or BRICK__NONE. NULL: no memory. Caller frees. */
uint32_t *brick__graph_holders(const struct brick_graph *graph);

static inline int brick__edge_holds(int kind)
{
	return kind == BRICK_EDGE_CALLS || kind == BRICK_EDGE_CONTAINS ||
	       kind == BRICK_EDGE_LAUNCHES;
}

/* NULL when the number is BRICK__NONE. */
static inline const char *brick__graph_text(const struct brick_graph *graph, uint32_t number)
{
	return number == BRICK__NONE ? NULL : graph->names.entries.items[number].text;
}

/* Launched onto another lane: its time is no part of its launcher's. */
static inline int brick__graph_is_async(const struct brick_graph *graph, uint32_t edge)
{
	const struct brick__edge *e = &graph->edges.items[edge];
	return graph->edge_kinds.items[edge] == BRICK_EDGE_LAUNCHES &&
	       graph->nodes.items[e->from].lane != graph->nodes.items[e->to].lane;
}
