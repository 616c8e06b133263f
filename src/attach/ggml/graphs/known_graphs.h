/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that have been computed before, each with the sites of its nodes, in the order in which
 * they are executed. An engine builds its graph anew for every batch that differs from the last
 * one, out of tensors at the same addresses. When all of them have the shapes, operations and
 * sources that they had once before, it is that graph again, and nothing has to be looked up. All
 * threads that work for a graph share it. Any thread; the functions of a node_thread: its owner.
 *
 * A graph's tensors lie in some thousand cache lines, so recognising a graph costs as much as it
 * reads of them. Whoever does not look at the nodes again needs the signature of all of them. Where
 * each node is compared when it is executed (node_key(), node_shape()), it is enough to read before
 * what that comparison does not see: one line a node.
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
	const void *const *nodes; /* NULL: ask for each */
	uint32_t count;
};

/* 0: it has no nodes, or too many. */
bool shown_graph_read(struct shown_graph *shown, const struct engine *engine, const void *graph);

/* Places of nodes whose shape no hook sees. */
struct unseen_nodes {
	uint32_t count;
	uint32_t index[];
};

/* To be freed. NULL: no memory, or the engine does not show as much. */
struct unseen_nodes *unseen_nodes(const struct shown_graph *shown);

struct node_thread;

/*
 * The graph that is about to be computed, looked up if it is not known, and held until
 * known_graph_release(). compares_nodes: whoever executes it compares each node with what is known
 * of it, so that much need not be compared here. *looked: its nodes had to be read. NULL: this
 * engine does not show its graphs, or there is no memory.
 */
struct known_graph *known_graph_hold(
	const struct engine *engine, const void *graph, bool compares_nodes, bool *looked);

/*
 * The same graph, or, where the engine has put its nodes into another order since, another one,
 * held as well. NULL: no memory.
 */
struct known_graph *known_graph_again(struct known_graph *known, const void *graph);
void known_graph_release(struct known_graph *graph);

/* The graph that the thread is to work for, from the node at `index` on; NULL: none is known. */
void node_sites_of(struct node_thread *t, struct known_graph *graph, uint32_t index);

/* The same, by the node that the thread is about to begin: a graph that is held and has it. */
void node_sites_join(struct node_thread *t, const void *node);

/* Has a graph that is being computed that node? 0: no; -1: no graph is known. */
int known_graphs_have(const void *node);

/* The site of a node that is not where it was expected; 0: none, see brick and layer. */
uint32_t node_site_slow(struct node_thread *t, const void *node, const void *mul, int part);

extern pthread_mutex_t known_graphs_mutex; /* held over forks */
