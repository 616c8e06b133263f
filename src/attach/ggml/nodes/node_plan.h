/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which the nodes of a known graph are executed, as one thread alone needs it: a word
 * to know each by, and their sites as a series. Made when the graph is computed for the first time
 * that way, made anew when another order has shown itself. Any thread.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/nodes/known_node.h"
#include "lib/probe/series.h"
#include "lib/sys/crc.h"

struct masks;

enum { NODE_PLAN_BEFORE = 2 }; /* events before the first node's, for what was before it */

struct node_plan {
	struct node_plan *former; /* which others may still be at */
	struct brick__series *series;
	uint32_t count;
	uint32_t is_stale; /* another order has been seen */
	uint32_t is_taken; /* by a thread's run: whose `mark` and events those below are */
	uint32_t *known;   /* places of its nodes in the graph */
	uint32_t *masked;  /* places in here of the nodes of masks_node() */

	/* Behind the nodes' comes one that is no node's; `mark`: node_key(). */
	struct brick__series_timing events[];
};

/* No node's key. */
#define NODE_KEY_NONE 0x133111ebu

/*
 * Which node it is. What this does not show, the shapes of views that it reads, has been looked at
 * when the graph was held (shown_details()).
 */
static inline __attribute__((always_inline)) uint32_t node_key(
	const struct shape_offsets *at, const void *node, int fused)
{
	const int64_t *ne = tensor_field(node, at->ne);
	uint64_t key = (uintptr_t)node + (uint32_t)fused; /* tensors begin at even addresses */

#pragma GCC unroll 4
	for (int i = 0; i < TENSOR_DIMS; i++)
		key = brick__crc_add(key, (uint64_t)ne[i]);
	key = brick__crc_add(key, (uint32_t)tensor_int32(node, at->op));
	key = brick__crc_add(key, node_source(at, node, 0));
	return (uint32_t)brick__crc_add(key, node_source(at, node, 1));
}

/* What a plan is made of: a graph. */
struct node_plan_graph {
	const struct engine *engine;
	const struct known_node *nodes; /* [count + 1]: the last one leads to the first */
	uint32_t count;
	const struct masks *masks; /* or NULL */
};

/*
 * The graph's newest, of those at *newest. To be given back. NULL: no memory, not all of its sites
 * are known, or another thread has it.
 */
struct node_plan *node_plan_take(struct node_plan **newest, const struct node_plan_graph *graph);
void node_plan_give(struct node_plan *plan);

/* It and all before it. */
void node_plans_free(struct node_plan *newest);
