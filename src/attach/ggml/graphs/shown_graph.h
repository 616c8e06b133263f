/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph as its engine shows it, and by what it is seen to be one that is known (known_graphs.h).
 * Its tensors are in some thousand cache lines, so that how many of these are looked at is what it
 * takes. A whole signature is for whoever does not look at the nodes again. Where each node is
 * compared when it is executed (node_key(), node_shape()), only what that does not show has to be
 * looked at before: one line a node. Any thread.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/ggml_engine.h"

struct shown_graph {
	const struct engine *engine;
	const void *graph;
	const void *const *nodes; /* NULL: ask for each */
	uint32_t count;
};

/* 0: it has no nodes, or too many. */
int shown_graph_read(struct shown_graph *shown, const struct engine *engine, const void *graph);

static inline const void *shown_node(const struct shown_graph *s, uint32_t i)
{
	return s->nodes ? s->nodes[i] : s->engine->graph_node(s->graph, (int)i);
}

/*
 * What makes a graph the same as another: addresses, operations, types, shapes and sources of all
 * nodes, and some names. A node reads through views, which are nodes too, so that shapes of sources
 * are among these. Needs a known layout, as do those below.
 */
uint64_t shown_signature(const struct shown_graph *s);

/* The same of a few nodes: which of the graphs that are known it may be. */
uint64_t shown_outline(const struct shown_graph *s);

/* Places of nodes whose shape no hook sees. */
struct shown_order {
	uint32_t count;
	uint32_t index[];
};

/* To be freed. NULL: no memory, or the engine does not show as much. */
struct shown_order *shown_order(const struct shown_graph *s);

/*
 * What no hook sees that compares the nodes: the shapes of views that they read. K's and V's length
 * is in these. Left out are those that the engine lets have one shape only, by the node that reads
 * them: what is rotated, what is multiplied, and queries.
 */
uint64_t shown_details(const struct shown_graph *s, const struct shown_order *order);
