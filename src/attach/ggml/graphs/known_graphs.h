/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that have been computed before, each with the sites of its nodes, in the order in which
 * they are executed. An engine builds its graph anew for every batch that differs from the last
 * one, out of tensors at the same addresses; when all of them have the shapes, operations and
 * sources that they had once before, it is that graph again, and nothing has to be looked up. What
 * of that is looked at, and when: shown_graph.h.
 * Shared by all threads that work for a graph. Any thread.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/ggml_engine.h"
#include "attach/ggml/nodes/known_node.h"

/* Before the first node and after the last one: nodes[count], which is never a match. */
struct masks;
struct shown_order;
struct known_graph {
	struct known_graph *next;
	const struct engine *engine;
	const void *graph; /* where it was met the last time, in which generation of graphs */
	uint32_t generation;
	uint32_t shown;			      /* nodes that the engine shows */
	uint64_t outline, details, signature; /* shown_graph.h */
	struct shown_order *order;	      /* NULL: it is known by its signature only */
	uint8_t is_ambiguous;	   /* others look like it: only the signature tells them apart */
	uint8_t is_taken_by_looks; /* the last time, without its signature */
	uint32_t count;
	uint32_t users;		      /* that are computing it: it is not forgotten meanwhile */
	struct masks *masks;	      /* NULL: none */
	struct node_plan *plan;	      /* NULL: not computed by one thread yet */
	struct device_node *launched; /* [count], once a device has computed it (device_nodes.h) */
	struct known_node nodes[];
};

/*
 * The graph that is about to be computed, looked up if it is not known, and held until
 * known_graph_release(). compares_nodes: whoever executes it holds each node against what is known
 * of it, so that what that shows is not looked at here. *looked: its nodes had to be read. NULL:
 * this engine does not show its graphs, or there is no memory.
 */
struct known_graph *known_graph_hold(
	const struct engine *engine, const void *graph, int compares_nodes, int *looked);

/*
 * A node came that is not in it. 1: it was taken for the one that is computed by its looks, and is
 * another one: nothing that is known of it holds. 0: it is the one, and the node a foreign one.
 */
int known_graph_refute(struct known_graph *graph);

/*
 * The same, or, where the engine has put the nodes of the graph into another order since, another
 * one, held as well. NULL: no memory.
 */
struct known_graph *known_graph_again(struct known_graph *known, const void *graph);
void known_graph_release(struct known_graph *graph);

/* Which of the graphs that are held has this node, and where; NULL: none. */
struct known_graph *known_graph_with(const void *node, uint32_t *index);

/* Look the site of a node of the graph up. `mul`: the second of its fused pair, or NULL. */
void known_node_fill(
	const struct engine *engine, struct known_node *node, const void *mul, int part);

/* Held over a fork. */
void known_graphs_lock(void);
void known_graphs_unlock(void);
