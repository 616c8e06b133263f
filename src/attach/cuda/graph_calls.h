/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI tells of graphs, their nodes and executable graphs (nodes.h). On the thread that it
 * happens on.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "attach/cuda/cuda_abi.h"
#include "brick/attach.h"
#include "brick/queue.h"

/* A launch of a graph brings one record, not one per node. Before the first graph. */
void graph_calls_are_whole(void);

/*
 * launch: of the call that it happens in, NULL: it happens in none that launches; and whose work
 * its kernel tells of. 1: a node was
 * made, so that the call has been captured instead.
 */
int graph_calls_resource(uint32_t id, const struct cupti_graph *graph,
	const struct brick_launch *launch, const struct brick_launch_owner *work);

/* The call that makes an executable graph is over, whether it has made one or not. */
void graph_calls_instantiated(int has_failed);

/*
 * An update is over. has_info: the parameters tell why, if it was refused: then the program has to
 * instantiate anew, or to launch without a graph.
 */
void graph_calls_updated(const struct cuda_graph_update *update, int has_info, int has_failed);

/* What a program did with graphs as wholes. Any thread. */
enum graph_call { GRAPH_CAPTURED, GRAPH_INSTANTIATED, GRAPH_UPDATED, GRAPH_LAUNCHED, GRAPH_CALLS };
void graph_calls_count(enum graph_call call, int has_failed);

/* A kernel was launched, and not by a graph. */
void graph_calls_without(void);

/*
 * "2 captured, 3 updated (1 refused: its topology had changed), ...; 7 kernels launched without";
 * 0: there was no graph.
 */
int graph_calls_describe(char *text, size_t bytes);
