/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that have been computed before, each with the sites of its nodes, in the order in which
 * the nodes are executed. An engine builds its graph anew for every batch that differs from the
 * last batch, out of tensors at the same addresses. If all tensors have the shapes, operations and
 * sources of a known graph, it is that graph, and no site has to be looked up. All threads that
 * work for a graph share it. Any thread; the functions of a node_thread: its owner.
 *
 * A graph's tensors lie in some thousand cache lines, and reading them is what recognising a graph
 * costs. If nothing compares the nodes again, the graph is recognised by its signature, which reads
 * all nodes. If each node is compared when it is executed (node_key(), node_shape()), only the
 * shapes that this comparison does not cover are read before (struct unseen_nodes).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"
#include "attach/ggml/nodes/known_graph.h"

/* A graph as its engine shows it. */
struct shown_graph {
	const struct engine *engine;
	const void *graph;
	const void *const *nodes; /* NULL: ask engine->graph_node() for each */
	uint32_t count;
};

/* False: the graph has no nodes, or more than 2^20. */
bool shown_graph_read(struct shown_graph *shown, const struct engine *engine, const void *graph);

/* Indices in shown_graph.nodes of the nodes whose shapes no hook compares. */
struct unseen_nodes {
	uint32_t count;
	uint32_t index[];
};

/* The caller frees the result. NULL: no memory, or the engine shows no array of nodes. */
struct unseen_nodes *unseen_nodes(const struct shown_graph *shown);

struct node_thread;

/*
 * Get the graph that is about to be computed, made if it is not known. The caller holds it until
 * known_graph_release(). compares_nodes: hooks will compare each node when it is executed, so the
 * graph may be recognised by outline and details. *looked: its nodes had to be read. NULL: this
 * engine does not show its graphs, or there is no memory.
 */
struct known_graph *known_graph_hold(
	const struct engine *engine, const void *graph, bool compares_nodes, bool *looked);

/*
 * Read the order of a held graph's nodes again. Returns `known` if it is the same. Otherwise
 * returns the graph with the new order, which the caller holds as well as `known`. NULL: no memory.
 */
struct known_graph *known_graph_again(struct known_graph *known, const void *graph);

/* NULL is allowed. */
void known_graph_release(struct known_graph *graph);

/* Set the graph that the thread works for, from the node at `index` on. NULL: none is known. */
void node_sites_of(struct node_thread *t, struct known_graph *graph, uint32_t index);

/* Set it to a held graph that has the node that the thread is about to begin, or to none. */
void node_sites_join(struct node_thread *t, const void *node);

/* Does a held graph have this node? 1: yes; 0: no; -1: no graph is held. */
int known_graphs_have(const void *node);

/*
 * Find the site of a node that was not expected, and link it behind the last node. Sets t->brick
 * and t->layer; 0: no site, so they hold alone.
 */
uint32_t node_site_slow(struct node_thread *t, const void *node, const void *mul, int part);

extern pthread_mutex_t known_graphs_mutex; /* held over forks */
