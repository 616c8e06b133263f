/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs as their threads see them. The thread that calls for a graph looks it up before it is
 * computed and records what is left of it afterwards; every thread that works for it gets ready at
 * its own first node. Owner thread.
 */
#pragma once

#include <stdbool.h>
#include "attach/ggml/nodes/node_thread.h"

/* The first node of a graph on this thread is about to begin. */
void node_graph_enter(struct node_thread *t, const void *node, int threads, uint32_t serial);

/*
 * The thread is about to compute a graph: look it up, and hold it. reads_masks: the thread itself
 * will execute its nodes, so its masks are read now.
 */
void node_graph_hold(struct node_thread *t, const void *graph, bool reads_masks);

/* Another node followed the barrier that was believed to end every graph. */
void node_final_refuted(struct node_thread *t);

/* A graph on the calling thread; graphs may nest (operations of the program's own). */
struct graph_scope {
	uint64_t entered;
	struct known_graph *graph;
	uint32_t node_now, node_next;
	uint32_t started, fused;
	uint8_t in_graph;
};
void node_graph_begin(struct graph_scope *outer, const void *graph);
void node_graph_end(const struct graph_scope *outer, const void *graph);
