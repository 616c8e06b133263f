/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The begin and end of a graph on its threads. The thread that calls for a graph looks it up before
 * the graph is computed, and records the rest of its nodes afterwards. Every thread of the team
 * prepares at its own first node. Owner thread.
 */
#pragma once

#include <stdbool.h>
#include "attach/ggml/nodes/node_thread.h"

/*
 * The first node of a graph on this thread is about to begin. threads: of the team; serial:
 * attach_shared.graph_serial.
 */
void node_graph_enter(struct node_thread *t, const void *node, int threads, uint32_t serial);

/*
 * Look up and hold a graph that the thread is about to compute; t->graph is NULL if it is not
 * known. The caller releases t->graph. reads_masks: the thread itself will execute nodes, so the
 * masks are read now; the caller then calls masks_end().
 */
void node_graph_hold(struct node_thread *t, const void *graph, bool reads_masks);

/* A node followed t->final_barrier, so this barrier does not end every graph: unlearn it. */
void node_final_refuted(struct node_thread *t);

/* The members of node_thread of the outer graph: graphs nest in operations of the program's own. */
struct graph_scope {
	uint64_t entered; /* node_thread.graph_entered */
	struct known_graph *graph;
	uint32_t node_now, node_next;
	uint32_t started, fused;
	uint8_t in_graph;
};

/* Around a graph on the thread that calls for it. *outer is saved by begin for end. */
void node_graph_begin(struct graph_scope *outer, const void *graph);
void node_graph_end(const struct graph_scope *outer, const void *graph);
