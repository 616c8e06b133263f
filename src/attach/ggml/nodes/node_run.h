/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run: the nodes of a graph that one thread executes alone, in the order of its plan. All that
 * could be settled beforehand is: a hook only sees whether its node is the expected one, reads the
 * clock when it is entered and when it is left, and keeps 8 bytes. It goes on until a node comes
 * that is not expected, or to the end of the graph. Owner thread.
 */
#pragma once

#include "attach/ggml/nodes/node_plan.h"
#include "attach/ggml/nodes/node_record.h"
#include "attach/ggml/nodes/node_thread.h"
#include "brick/probe.h"

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
