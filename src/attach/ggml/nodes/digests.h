/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests of the results of nodes (brick/digest.h). The recorder asks for them in BRICK_CAPTURE by
 * the word "digest" (nodes whose operation the rules know) or "digest-all". The mode is settled
 * when the library is loaded, because all threads of a team must agree on it: between two nodes the
 * team meets at a barrier, its first thread digests, and the team meets again. Graphs are computed
 * one at a time meanwhile. The time for this is recorded as brick Digest. Nodes take longer than
 * without digests, as results have been read again and threads have slept. Any thread.
 */
#pragma once

#include "attach/ggml/nodes/node_thread.h"

enum digests_mode { DIGESTS_OFF = 0, DIGESTS_KNOWN, DIGESTS_ALL };
extern uint32_t digests_mode; /* enum digests_mode; constant once the library is loaded */

/* Around each graph, on the thread that calls for it; graphs may nest. */
void digests_graph_begin(void);
void digests_graph_end(struct node_thread *t);

/*
 * The calling thread is about to begin a node, as every thread of its team is. mul: the second node
 * of a fused pair, else NULL. Digests the result of the node before.
 */
void digests_node_begin(struct node_thread *t, const struct compute_params *params,
	const void *node, const void *mul);

/* A thread enters a barrier of its team. */
void digests_barrier(void *pool);

/*
 * Digest a node that is over; no thread may change its result meanwhile. norm: the first node of a
 * fused pair, of which `result` is the second, or NULL. site: of the node.
 */
void digests_take(struct node_thread *t, const void *result, const void *norm, uint32_t site);
