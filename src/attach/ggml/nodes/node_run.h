/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: the nodes of a graph that one thread executes alone, in the order of its plan. The plan
 * holds beforehand the key of each node (node_key()) and the sites of all nodes as a series. So a
 * hook only compares one key, reads the clock when it is entered and when it is left, and keeps 8
 * bytes. The run ends at a node that is not expected, or with the graph.
 *
 * In a run t->run points to the expected event. The node before it (t->run[-1]) has its begin; its
 * ticks are written when the next hook is entered. Plans: any thread; runs: owner thread.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/nodes/known_graph.h"
#include "attach/ggml/nodes/node_thread.h"
#include "brick/probe.h"
#include "lib/probe/series.h"
#include "lib/sys/crc.h"

/* The order in which one thread executes the nodes of a known graph. */
struct node_plan {
	struct node_plan *former;     /* older plan, which another thread may still use; or NULL */
	struct brick__series *series; /* the sites of its nodes */
	uint32_t count;		      /* nodes */
	uint32_t is_stale;	      /* 1: a thread has seen another order */
	uint32_t is_taken; /* 1: a thread's run writes `events`, so no other thread has a run */
	uint32_t *known;   /* [count]: index of each node in known_graph.nodes, ascending */
	uint32_t
		*masked; /* per node with a mask (masks_node()): its place here, or MASKS_NOWHERE */

	/*
	 * NODE_RUN_BEFORE events, one per node, and a last one with NODE_KEY_NONE, at which each
	 * run ends. `mark`: node_key() of the node.
	 */
	struct brick__series_timing events[];
};

/*
 * A CRC of the node's address, shape, operation and first two sources. It does not cover the shapes
 * of the views that the node reads: known_graph_hold() has compared those.
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

/* Free the plan and all its former ones. NULL is allowed. */
void node_plans_free(struct node_plan *newest);

/*
 * Begin a run if there can be one: the graph's first node is about to begin, and no other thread
 * computes the graph. Without a plan, or if another thread has it, nothing happens.
 */
void node_run_arm(struct node_thread *t);

/*
 * Record the run's nodes that are not recorded yet. The node being executed counts as ended at
 * `end` (ticks). The run goes on.
 */
void node_run_flush(struct node_thread *t, uint64_t end);

/* Flush and end the run, if there is one. */
void node_run_leave(struct node_thread *t);

/*
 * Handle a node that node_run_begin() has refused. 1: only the epoch was new, and the node has
 * begun in the run. 0: the node was not expected; the run is over, and the caller begins the node.
 */
int node_run_refused(struct node_thread *t, const void *node, int fused);

/*
 * Begin the node if it is expected; returns 1. 0: it is not expected, or an epoch of 2^32 ticks is
 * over, and nothing has been done. Events keep the lower halves of times, so a run is recorded in
 * every epoch. entered: when the hook was entered.
 */
static inline __attribute__((always_inline)) int node_run_begin(
	struct node_thread *t, const void *node, int fused, struct brick__halves entered)
{
	struct brick__series_timing *event = t->run;

	if (BRICK_UNLIKELY(event->mark != node_key(&t->shape_at, node, fused) ||
			   entered.high != t->run_epoch))
		return 0;
	__builtin_prefetch(event + 10, 1); /* 120 bytes ahead: two cache lines */
	event[-1].ticks = entered.low - event[-1].begin;
	t->run = event + 1;
	t->fused += (uint32_t)fused;
	event->begin = brick__counter_halves().low;
	return 1;
}

/* Ticks from the entry of the last node's hook to the node's begin. */
static inline uint32_t node_run_last_call(const struct node_thread *t)
{
	const struct brick__series_timing *event = t->run;

	return event[-1].begin - event[-2].begin - event[-2].ticks;
}

void node_flush_slow(struct node_thread *t);

/*
 * Record the calling thread's run, open node and events. To be called before something else is
 * recorded on the thread, so that samples stay in order.
 */
static inline void node_flush(void)
{
	struct node_thread *t = &node_thread;

	if (BRICK_UNLIKELY(t->open || t->event_count || t->run != t->run_from))
		node_flush_slow(t);
}
