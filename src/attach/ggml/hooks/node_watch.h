/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who looks at nodes while they are computed, rather than at their times afterwards: digests
 * (digests.h), experts (expert_ids.h), `record --nvtx`, which says each node as a range, and phases
 * of training (training.h). Then each node is hooked, and threads keep no runs. Settled when the
 * library is loaded, or when the first graph that trains comes; owner of the thread.
 */
#pragma once

#include "attach/ggml/nodes/node_thread.h"

extern uint32_t nodes_watched;

/* From now on training_node() hears of each node. */
void node_watch_training(void);

/* Every thread is about to begin a node; mul: as digests_node_begin(). */
void node_watch_begin(struct node_thread *t, const struct compute_params *params, const void *node,
	const void *mul);

/* A thread enters a barrier of its team. */
void node_watch_barrier(void *pool);

/* The thread's part of a graph is over. */
void node_watch_end(void);
