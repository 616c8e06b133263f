/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA graphs: the brick that was open when a node was made, so that its kernel has a parent at
 * every replay; the number of records that one launch of a graph brings; and the order of nodes. An
 * update makes an executable graph's nodes do the work of another graph's nodes, in the order in
 * which these were made, and CUPTI does not say which. Any thread; calls from CUPTI on the thread
 * where they happen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "attach/cuda/cuda_abi.h"
#include "brick/attach.h"
#include "brick/queue.h"

/* Nodes. */

/*
 * A node was made while this brick and layer were open (BRICK_NONE: none); work: the owner whose
 * work it tells, or NULL.
 */
void nodes_created(
	uint64_t node, uint32_t brick, int32_t layer, const struct brick_launch_owner *work);

/* A copy of it, as graphs are copied when they are instantiated. */
void nodes_cloned(uint64_t node, uint64_t original);

/*
 * Destroys a node, which is forgotten some rounds later: records of its last replays are still to
 * come.
 */
void nodes_destroyed(uint64_t node);
void nodes_next_round(void);

/*
 * A node was copied on this thread. Kernels of a graph that lies in another one come back under
 * numbers that were told of no node: that of the outermost executable graph, and places behind all
 * of its own nodes. Nobody tells which is which. So they have a parent only where all nodes of the
 * graphs inside have the same.
 */
void nested_copied(uint64_t node, uint64_t original, uint32_t type);
void nested_exec_created(void); /* from the nodes copied since the last one */
void nested_forget(void);	/* the work of executable graphs has changed */

/* Brick and layer of a node; 0 when it is not known. */
int nodes_find(
	uint64_t node, uint32_t *brick, int32_t *layer, const struct brick_launch_owner **work);

/* Nodes for which there was no room. */
uint64_t nodes_lost(void);

/* An executable graph, one launch of which brings so many records; 0: not known. */
void nodes_exec(cuda_handle exec, uint32_t records);
void nodes_exec_gone(cuda_handle exec);
uint32_t nodes_exec_records(cuda_handle exec);

/* The order of nodes. */

void graph_places_created(cuda_handle graph, uint64_t node);
void graph_places_cloned(cuda_handle exec, uint64_t node, uint64_t original);

/* Names the executable graph of those copies: CUPTI names it only when they are all there. */
void graph_places_exec(cuda_handle exec, cuda_handle copies);

/* The graph goes, or loses a node: its order is not known any more. */
void graph_places_forget(cuda_handle graph);

/* The executable graph's nodes now do what the graph's do: they get their brick and layer. */
void graph_places_updated(cuda_handle exec, cuda_handle graph);

/* Calls from CUPTI. */

/* A launch of a graph brings one record, not one per node. Before the first graph. */
void graph_calls_are_whole(void);

/*
 * launch: that of the call in which it happens, or NULL if that call launches nothing; work: its
 * kernel tells the work of this owner. Returns 1 if a node was made: then the call has been
 * captured instead.
 */
int graph_calls_resource(uint32_t id, const struct cupti_graph *graph,
	const struct brick_launch *launch, const struct brick_launch_owner *work);

/* The call that makes an executable graph is over, whether it has made one or not. */
void graph_calls_instantiated(bool has_failed);

/*
 * An update is over. has_info: the parameters tell why, if it was refused: then the program has to
 * instantiate anew, or to launch without a graph.
 */
void graph_calls_updated(const struct cuda_graph_update *update, bool has_info, bool has_failed);

/* Counts a program's calls on whole graphs. Any thread. */
enum graph_call { GRAPH_CAPTURED, GRAPH_INSTANTIATED, GRAPH_UPDATED, GRAPH_LAUNCHED, GRAPH_CALLS };
void graph_calls_count(enum graph_call call, bool has_failed);

/* A kernel was launched, and not by a graph. */
void graph_calls_without(void);

/*
 * "2 captured, 3 updated (1 refused: its topology had changed), ...; 7 kernels launched without";
 * 0: there was no graph.
 */
int graph_calls_describe(char *text, size_t bytes);
