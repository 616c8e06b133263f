/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What CUPTI tells of graphs, their nodes and executable graphs (nodes.h). On the thread that it
 * happens on.
 */
#pragma once

#include <stdint.h>
#include "attach/cuda/abi.h"
#include "brick/queue.h"

/* A launch of a graph brings one record, not one per node. Before the first graph. */
void graph_calls_are_whole(void);

/*
 * launch: of the call that it happens in, NULL: it happens in none that launches. 1: a node was
 * made, so that the call has been captured instead.
 */
int graph_calls_resource(
	uint32_t id, const struct cupti_graph *graph, const struct brick_launch *launch);

/* The call that makes an executable graph is over, whether it has made one or not. */
void graph_calls_instantiated(void);
