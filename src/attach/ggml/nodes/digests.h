/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests of what nodes computed (brick/digest.h), when the recorder asks for them: BRICK_CAPTURE
 * with the word "digest" (nodes that rules know) or "digest-all". This is settled when the library
 * is loaded, because all threads of a team must agree on it: between two nodes they meet, the first
 * of them digests, and they meet again. Graphs are computed one at a time meanwhile. The time for
 * this is recorded as brick Digest; nodes take longer than without, as results have been read again
 * and threads have slept.
 */
#pragma once

#include "attach/ggml/nodes/node_thread.h"

enum digests_mode { DIGESTS_OFF = 0, DIGESTS_KNOWN, DIGESTS_ALL };
extern uint32_t digests_mode;

/* Around each graph, on the thread that calls for it. */
void digests_graph_begin(void);
void digests_graph_end(struct node_thread *t);

/*
 * Every thread is about to begin a node, or a fused pair, of which `mul` is the second, else NULL.
 */
void digests_node_begin(struct node_thread *t, const struct compute_params *params,
	const void *node, const void *mul);

/* A thread enters a barrier of its team. */
void digests_barrier(void *pool);

/*
 * A node that is known to be over and that nobody touches meanwhile. norm: the one that was
 * computed inside of it, or NULL.
 */
void digests_take(struct node_thread *t, const void *result, const void *norm, uint32_t site);
