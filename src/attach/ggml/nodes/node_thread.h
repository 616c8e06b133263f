/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node that each thread is executing. A node begins when its forward hook is called.
 *
 * On several threads every ggml_barrier() after that may be its last: entering it ends the work,
 * what follows is waiting. Only the next beginning, or the end of the graph, tells which one was
 * the last; the barriers before were waits inside of the node. On one thread barriers return at
 * once and are not looked at: a node ends where the next hook is entered.
 *
 * Nodes that are over are kept as events, of 8 bytes in a run (node_run.h) and 32 otherwise, and
 * become samples when the graph is: the
 * engine streams its weights through the caches, so that whatever a hook touches between two nodes
 * comes from main memory, and a hundred samples in a row are far cheaper than a hundred at a time.
 * All of it is thread-local; nothing here is shared but two counters of graphs.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/ggml_engine.h"
#include "attach/ggml/graphs/known_graphs.h"
#include "attach/ggml/nodes/node_cost.h"
#include "attach/ggml/nodes/node_plan.h"
#include "brick/attach.h"
#include "lib/probe/series.h"
#include "lib/sys/ticks.h"

enum node_mode {
	NODE_MODE_OFF = 0, /* nodes of this graph are not recorded, or none has begun yet */
	NODE_MODE_ALONE,   /* its graph runs on one thread: barriers are nothing; the short path */
	NODE_MODE_TEAM,
};

struct node_thread {
	/* A run (node_run.h), all that a node of it touches. */
	struct brick__series_timing *run; /* where the node that is expected is kept */
	uint32_t run_epoch;		  /* upper half of the clock */
	uint32_t fused;			  /* nodes of its graph that stand for two */
	extra_forward_fn extra_forward;
	fused_forward_fn fused_forward;
	struct shape_offsets shape_at;
	uintptr_t low, run_bytes; /* where barriers of the run are called from */
	barrier_fn barrier;

	/* Where hooks lead to, as long as they are called from `low` on in this generation. */
	uintptr_t bytes;
	uint32_t slow_begin; /* the same, from a barrier to the node behind it */
	uint32_t slow_call;  /* ticks: whatever takes longer found the caches cold */
	uint32_t hook_left;  /* calls until one is timed */
	is_empty_fn is_empty;
	uint32_t resolve_generation;
	uint8_t open;	  /* a node that is in no run is being executed: 0 or 1 */
	uint8_t mode;	  /* enum node_mode */
	uint8_t in_graph; /* which this thread has called for */
	uint8_t ready;
	uint8_t is_cold;	 /* the last node began so late */
	uint8_t marked;		 /* some events have a mark */
	uint8_t on_device;	 /* it computes a graph there (device_graph.h) */
	uintptr_t final_barrier; /* where the barrier that ends a graph is called from; 0: not known
				  */

	/* The node being executed, in no run. */
	uint64_t begin, end, wait, inner; /* ticks; end 0: no barrier that was looked at */
	uintptr_t last_barrier;		  /* where it was called from */
	uint32_t site, cost;
	struct brick_timing *events; /* nodes that are over; `mark`: what its hook cost, if timed */
	uint32_t event_count, event_capacity;

	/* The graph that it works for. */
	struct known_node *nodes;     /* of the graph, or none at all */
	uint32_t node_now, node_next; /* the last one; the one that is expected */
	uint32_t graph_serial;
	uint32_t started; /* nodes of its graph, but of a run that goes on */

	/* What follows is not touched for every node. */
	struct node_plan *plan;		       /* of the run; NULL: none goes on */
	struct brick__series_timing *run_from; /* the first that is not recorded yet */
	uint64_t run_base;		       /* when what is before that one was over */
	uint64_t graph_entered;		       /* ticks; 0 once the graph's first node has begun */
	uint64_t begun;			       /* nodes of all former graphs */
	struct known_graph *graph;	       /* that `nodes` are of, or NULL */
	struct node_cost hook_cost;
	uint32_t session; /* whose notes name the engine */
	uint16_t brick;	  /* of a node without a site */
	int16_t layer;
	const struct engine *engine;
} __attribute__((aligned(64)));

/* What is expected where no run goes on: no node. */
extern struct brick__series_timing node_run_none[];
#define NODE_RUN_NONE (&node_run_none[NODE_PLAN_BEFORE])

extern __thread struct node_thread node_thread __attribute__((tls_model("initial-exec")));

static inline int node_thread_knows(const struct node_thread *t, uintptr_t caller)
{
	return caller - t->low < t->bytes &&
	       t->resolve_generation == shared_get(&attach_shared.resolve_generation);
}
