/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node that each thread is executing, the nodes that are over, and all else that the node hooks
 * keep of a thread (hooks_node.c tells how it is used). It is thread-local; the threads share two
 * counters of graphs (ggml_shared.h). The engine streams its weights through the caches between two
 * hooks, so what a hook touches lies in few cache lines, in the order below.
 *
 * A node that is over is kept as an event of 32 bytes until it becomes a sample, at the end of the
 * graph or before something else is recorded on the thread. Owner thread.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"
#include "attach/ggml/nodes/known_graph.h"
#include "brick/attach.h"
#include "brick/probe.h"
#include "lib/probe/series.h"
#include "lib/sys/pass_on.h"
#include "lib/sys/ticks.h"

/*
 * What the hooks of a thread cost, measured in place and reported so that mean cost x number of
 * calls is the whole. One in about 64 calls is timed: the one with which node_thread.hook_left,
 * which every hook counts down, comes to 0. A run's calls are all timed.
 */
struct node_cost {
	uint32_t calls;	      /* made since the last one that was timed and reported */
	uint32_t whole_calls; /* of runs, not reported yet, and their ticks */
	uint64_t whole_ticks;
	uint32_t random;
};

void node_cost_init(struct node_cost *cost, uint32_t seed);

/* How many calls until the next one that is to be timed, that one included. */
uint32_t node_cost_draw(struct node_cost *cost);

/* What the one that was timed took. */
void node_cost_timed(struct node_cost *cost, uint64_t ticks);

/* Calls that were all timed. */
void node_cost_add(struct node_cost *cost, uint32_t calls, uint64_t ticks);

enum node_mode {
	NODE_MODE_OFF = 0, /* nodes of this graph are not recorded, or none has begun yet */
	NODE_MODE_ALONE,   /* its graph runs on one thread: barriers are nothing; the short path */
	NODE_MODE_TEAM,
};

struct node_thread {
	/* All that a node of a run touches (node_run.h). */
	struct brick__series_timing *run; /* the event of the node that is expected */
	uint32_t run_epoch;		  /* upper half of the clock */
	uint32_t fused;			  /* nodes of its graph that stand for two */
	extra_forward_fn extra_forward;
	fused_forward_fn fused_forward;
	struct shape_offsets shape_at;
	uintptr_t low, run_bytes; /* where barriers of the run are called from */
	barrier_fn barrier;

	/* Where hooks lead to, for calls from `bytes` at `low` in this generation. */
	uintptr_t bytes;
	uint32_t slow_begin; /* ticks from a barrier to the next node; more: caches were cold */
	uint32_t slow_call;  /* ticks of a hook; more: the same */
	uint32_t hook_left;  /* calls until one is timed */
	is_empty_fn is_empty;
	uint32_t resolve_generation;
	uint8_t open;	  /* a node that is in no run is being executed: 0 or 1 */
	uint8_t mode;	  /* enum node_mode */
	uint8_t in_graph; /* this thread has called for a graph */
	uint8_t ready;
	uint8_t is_cold;	 /* the last node began later than slow_begin */
	uint8_t marked;		 /* some events have a mark */
	uint8_t is_whole;	 /* one hook is around each node, see ggml_compute_forward() */
	uint8_t on_device;	 /* it computes a graph there (device_graph.h) */
	uintptr_t final_barrier; /* where the barrier that ends graphs is called from; or 0 */

	/* The node being executed, in no run. */
	uint64_t begin, end, wait, inner; /* ticks; end 0: no barrier was met */
	uintptr_t last_barrier;		  /* where the last one was called from */
	uint32_t site, cost;
	uint32_t barrier_cost;	     /* of the barrier that it is in, if timed, and 1; else 0 */
	struct brick_timing *events; /* nodes that are over; `mark`: what its hook cost, if timed */
	uint32_t event_count, event_capacity;

	/* The graph that it works for. */
	struct known_node *nodes;     /* of the graph, or none at all */
	uint32_t node_now, node_next; /* the last node; the one that is expected */
	uint32_t graph_serial;
	uint32_t started; /* nodes of its graph, without those of a run that goes on */

	/* What follows is not touched for every node. */
	struct node_plan *plan;		       /* of the run; NULL: none goes on */
	struct brick__series_timing *run_from; /* the first event that is not recorded yet */
	uint64_t run_base;		       /* when the node before that one ended */
	uint64_t graph_entered;		       /* ticks; 0 once the graph's first node has begun */
	uint64_t begun;			       /* nodes of all former graphs */
	struct known_graph *graph;	       /* that `nodes` are of, or NULL */
	struct node_cost hook_cost;
	const void *whole; /* the node that the hook around nodes was last called for */
	uint32_t session;  /* whose notes name the engine */
	uint16_t brick;	   /* of a node without a site */
	int16_t layer;
	const struct engine *engine;
} __attribute__((aligned(64)));

/* Without a run this is expected: an event of no node, with a key that no node has. */
#define NODE_KEY_NONE 0x133111ebu
enum { NODE_RUN_BEFORE = 2 }; /* events before a run's first node, for what was before it */
extern struct brick__series_timing node_run_none[];
#define NODE_RUN_NONE (&node_run_none[NODE_RUN_BEFORE])

extern __thread struct node_thread node_thread __attribute__((tls_model("initial-exec")));

static inline int node_thread_knows(const struct node_thread *t, uintptr_t caller)
{
	return caller - t->low < t->bytes &&
	       t->resolve_generation == shared_get(&attach_shared.resolve_generation);
}

/* Turn what has been kept into samples. */
void node_flush_events(struct node_thread *t);

/* A brick without a site, below whatever is open. */
void node_record_span(uint16_t brick, uint64_t begin, uint64_t end);

/* Record the open node at once, for what fits no event. */
void node_record(struct node_thread *t, uint64_t end);

/* The open node is over. Hooks of general registers only call this, too. */
static inline void node_finish(struct node_thread *t, uint64_t end)
{
	uint64_t length = end - t->begin;

	t->open = 0;
	if (BRICK_UNLIKELY((length | t->wait | t->inner) >> 32 || !t->site)) {
		SYS_KEEPING(node_record, t, end);
		return;
	}
	t->events[t->event_count] = (struct brick_timing){t->begin, (uint32_t)length,
		(uint32_t)t->wait, (uint32_t)t->inner, t->site, t->cost};
	if (BRICK_UNLIKELY(++t->event_count >= t->event_capacity))
		SYS_KEEPING(node_flush_events, t);
}
