/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of CUDA graphs: the brick that was open when a node was made, which is the parent
 * of its kernel at every replay; the number of records of one launch of a graph; and the order of
 * nodes. The order is needed for updates: an update makes an executable graph's nodes do the work
 * of another graph's nodes, in the order of their creation, and CUPTI does not tell the pairs. Any
 * thread; calls from CUPTI on the thread where they happen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "attach/cuda/cuda_abi.h"
#include "attach/cuda/cuda_replays.h"
#include "brick/attach.h"
#include "brick/queue.h"

/* Nodes. */

/*
 * A node was made while this brick and layer were open (BRICK_NONE: none). work: the owner whose
 * work the node's kernel records, or NULL.
 */
void nodes_created(
	uint64_t node, uint32_t brick, int32_t layer, const struct brick_launch_owner *work);

/* A node is a copy of another: instantiating a graph copies its nodes. */
void nodes_cloned(uint64_t node, uint64_t original);

/*
 * A node was destroyed. It is forgotten some rounds later, because records of its last replays may
 * still come. nodes_next_round(): a round is over.
 */
void nodes_destroyed(uint64_t node);
void nodes_next_round(void);

/*
 * A node was copied on this thread. Records of a graph inside of another graph have node numbers
 * that CUPTI announces for no node: behind all nodes of the outermost executable graph. So these
 * kernels have a parent only if all nodes of the inner graphs have the same parent.
 */
void nested_copied(uint64_t node, uint64_t original, uint32_t type);
void nested_exec_created(void); /* from the nodes copied since the last one */
void nested_forget(void);	/* the work of executable graphs has changed */

/* Find a node's brick, layer and work. 1, or 0: not known. */
int nodes_find(
	uint64_t node, uint32_t *brick, int32_t *layer, const struct brick_launch_owner **work);

/* Nodes for which there was no room. */
uint64_t nodes_lost(void);

/* Set the number of records of one launch; the graph is another one from now on. */
void nodes_exec(cuda_handle exec, uint32_t records);
void nodes_exec_updated(cuda_handle exec); /* likewise, with as many records */
void nodes_exec_gone(cuda_handle exec);
struct exec_launch nodes_exec_launch(cuda_handle exec);

/* The order of nodes. */

void graph_places_created(cuda_handle graph, uint64_t node);
void graph_places_cloned(cuda_handle exec, uint64_t node, uint64_t original);

/* Set the final handle of the executable graph `copies`: CUPTI tells it after all copies are made.
 */
void graph_places_exec(cuda_handle exec, cuda_handle copies);

/* The graph is destroyed, or loses a node: its order is unknown from now on. */
void graph_places_forget(cuda_handle graph);

/* An update: the executable graph's nodes get the bricks and layers of the graph's nodes. */
void graph_places_updated(cuda_handle exec, cuda_handle graph);

/* Calls from CUPTI. */

/* A graph's launch brings one record, not one per node. Call it before the first graph. */
void graph_calls_are_whole(void);

/*
 * Handle a callback about a graph. launch: of the call around it, or NULL if that call launches
 * nothing; work: the owner whose work the call's kernel records. Returns 1 if a node was made, so
 * the call was captured rather than run.
 */
int graph_calls_resource(uint32_t id, const struct cupti_graph *graph,
	const struct brick_launch *launch, const struct brick_launch_owner *work);

/* The call that makes an executable graph is over, whether it has made one or not. */
void graph_calls_instantiated(bool has_failed);

/*
 * An update is over. has_info: the parameters tell why a refused update failed. After a refusal the
 * program has to instantiate anew, or to launch without a graph.
 */
void graph_calls_updated(const struct cuda_graph_update *update, bool has_info, bool has_failed);

/* Counts a program's calls on whole graphs. Any thread. */
enum graph_call { GRAPH_CAPTURED, GRAPH_INSTANTIATED, GRAPH_UPDATED, GRAPH_LAUNCHED, GRAPH_CALLS };
void graph_calls_restart(void); /* from 0 on, for another recording */
void graph_calls_count(enum graph_call call, bool has_failed);

/* A kernel was launched, and not by a graph. */
void graph_calls_without(void);

/*
 * "2 captured, 3 updated (1 refused: its topology had changed), ...; 7 kernels launched without";
 * 0: there was no graph.
 */
int graph_calls_describe(char *text, size_t bytes);
