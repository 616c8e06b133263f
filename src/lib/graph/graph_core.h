/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of an execution graph: flat arrays with indices between them. Nodes and edges are only
 * ever appended; names are interned. What depends on all edges (sparse rows, the plan, the cycle)
 * is built when it is asked for, and dropped when the graph changes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "brick/graph.h"
#include "base/array.h"
#include "base/hashmap.h"
#include "lib/graph/names.h"

struct brick__node {
	uint64_t begin_ns, time_ns, wait_ns, elements, bytes;
	uint32_t name, label; /* numbers in `names`; label may be BRICK__NONE */
	uint32_t lane;
	uint32_t payload;   /* its index in the array of its kind, below */
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

struct brick__code {
	uint64_t hash;
	char *name, *source, *path;
};

struct brick_graph {
	struct brick__names names;
	ARRAY(struct brick__node) nodes;
	ARRAY(struct brick__edge) edges;
	ARRAY(uint8_t) edge_kinds; /* by edge, as `edges` */

	ARRAY(uint32_t) of_kind[BRICK_NODE_KINDS]; /* the nodes of each kind */
	/* Details of nodes, by struct brick__node.payload. */
	ARRAY(struct brick_graph_kernel) kernels;
	ARRAY(struct brick__transfer) transfers;
	ARRAY(struct brick__function) functions;
	ARRAY(struct brick_graph_task) tasks;

	struct hashmap lane_names; /* lane -> number of its name */
	struct hashmap last;	   /* scope and lane -> the node added last */
	ARRAY(uint32_t) scopes;	   /* nodes whose scopes are open, the innermost last */
	bool pops_missed;	   /* a pop found no open scope */

	ARRAY(struct brick__code) codes;
	struct hashmap code_index; /* hash -> index in codes */

	struct brick__rows out, in;
	struct brick__plan *plan; /* answers the questions of graph_path.h; NULL: not made */
	uint32_t *cycle; /* nodes of a cycle that made a plan impossible; NULL: none is known */
	uint32_t cycle_count;
};

/* Returns the value of a key; BRICK__NONE: the key is not there. */
static inline uint32_t brick__map_get(const struct hashmap *map, uint64_t key)
{
	return (uint32_t)hashmap_get(map, key);
}

static inline bool brick__edge_holds(int kind)
{
	return kind == BRICK_EDGE_CALLS || kind == BRICK_EDGE_CONTAINS ||
	       kind == BRICK_EDGE_LAUNCHES;
}

/* Returns the text of a number; NULL if the number is BRICK__NONE. */
static inline const char *brick__graph_text(const struct brick_graph *graph, uint32_t number)
{
	return number == BRICK__NONE ? NULL : graph->names.entries.items[number].text;
}

/* True for a launch onto another lane: the time of `to` is no part of the time of `from`. */
static inline bool brick__graph_is_async(const struct brick_graph *graph, uint32_t edge)
{
	const struct brick__edge *e = &graph->edges.items[edge];
	return graph->edge_kinds.items[edge] == BRICK_EDGE_LAUNCHES &&
	       graph->nodes.items[e->from].lane != graph->nodes.items[e->to].lane;
}

/* The first node of that name, or BRICK__NONE. */
static inline uint32_t brick__graph_named(const struct brick_graph *graph, const char *name)
{
	uint32_t number = name ? brick__names_find(&graph->names, name) : BRICK__NONE;

	return number == BRICK__NONE ? BRICK__NONE : graph->names.entries.items[number].first;
}

/* Frees the graph's plan, if there is one. */
void brick__graph_plan_fini(struct brick_graph *graph);
