/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: the nodes of a graph that one thread executes alone, in the order of its plan. The plan
 * has settled beforehand what can be: a word to know each node by, and their sites as a series. A
 * hook then only checks that its node is the expected one, reads the clock when it is entered and
 * when it is left, and keeps 8 bytes. The run goes on until an unexpected node comes, or to the end
 * of the graph. Plans: any thread; runs: owner thread.
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
	struct node_plan *former; /* which others may still be at */
	struct brick__series *series;
	uint32_t count;
	uint32_t is_stale; /* another order has been seen */
	uint32_t is_taken; /* by a thread's run: whose `mark` and events those below are */
	uint32_t *known;   /* places of its nodes in the graph */
	uint32_t *masked;  /* places in here of the nodes that have masks */

	/* Behind the nodes' comes one that is no node's; `mark`: node_key(). */
	struct brick__series_timing events[];
};

/*
 * Tells which node it is. This does not see the shapes of the views that the node reads: those were
 * compared when the graph was held (known_graph_hold()).
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

/* The plan and all before it. */
void node_plans_free(struct node_plan *newest);

/* A graph's first node is about to begin, on this thread alone. */
void node_run_arm(struct node_thread *t);

/* Record what is not yet recorded; the node being executed ends here. The run goes on. */
void node_run_flush(struct node_thread *t, uint64_t end);

/* The same, and from here on nodes are in no run. */
void node_run_leave(struct node_thread *t);

/*
 * A node comes that node_run_begin() has refused: one that is not expected, with which the run ends
 * (0), or a new epoch (1: it has begun).
 */
int node_run_refused(struct node_thread *t, const void *node, int fused);

/*
 * Begin the node if it is the expected one. 0: it is not, and nothing has been done. `entered`: the
 * hook. Only lower halves of times are kept, so that in every epoch of 2^32 ticks a run is
 * recorded.
 */
static inline __attribute__((always_inline)) int node_run_begin(
	struct node_thread *t, const void *node, int fused, struct brick__halves entered)
{
	struct brick__series_timing *event = t->run;

	if (BRICK_UNLIKELY(event->mark != node_key(&t->shape_at, node, fused) ||
			   entered.high != t->run_epoch))
		return 0;
	__builtin_prefetch(event + 10, 1);
	event[-1].ticks = entered.low - event[-1].begin;
	t->run = event + 1;
	t->fused += (uint32_t)fused;
	event->begin = brick__counter_halves().low;
	return 1;
}

/* What the hook of the last node took. */
static inline uint32_t node_run_last_call(const struct node_thread *t)
{
	const struct brick__series_timing *event = t->run;

	return event[-1].begin - event[-2].begin - event[-2].ticks;
}

/* Nothing of this thread may be pending when something else is recorded on it. */
void node_flush_slow(struct node_thread *t);

static inline void node_flush(void)
{
	struct node_thread *t = &node_thread;

	if (BRICK_UNLIKELY(t->open || t->event_count || t->run != t->run_from))
		node_flush_slow(t);
}
