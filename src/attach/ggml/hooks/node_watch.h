/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watchers of nodes, which act when each node begins: digests (digests.h), experts
 * (expert_ids.h), `record --nvtx`, which emits each node as a range, and phases of training
 * (training.h). With a watcher each node goes through its hook, and threads have no runs. A new
 * watcher goes into node_watch_begin() and node_watch_read_environment(). Owner thread.
 */
#pragma once

#include "attach/ggml/nodes/node_thread.h"

/* 1: there are watchers. Set when the library is loaded, or by node_watch_training(); never
 * cleared. */
extern uint32_t nodes_watched;

/* From now on training_node() hears of each node. */
void node_watch_training(void);

/* The calling thread is about to begin a node. mul: the second node of a fused pair, or NULL. */
void node_watch_begin(struct node_thread *t, const struct compute_params *params, const void *node,
	const void *mul);

/* A thread enters a barrier of its team. */
void node_watch_barrier(void *pool);

/* The calling thread has no further node of its graph. */
void node_watch_end(void);
