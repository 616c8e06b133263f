/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that the node hooks (hooks_node.c) keep for each thread: the node that the thread is
 * executing, and the finished nodes that are not recorded yet. A finished node is an event of 32
 * bytes, or 12 bytes of a run (node_run.h), until the graph ends or the thread records something
 * else; then it becomes a sample.
 *
 * The order of the members of struct node_thread is the cache layout. The engine's weights push
 * other data out of the caches between two hooks, so the members that a hook touches stand together
 * and in front. A new member goes to the end unless every node touches it.
 *
 * Owner thread: all functions take the calling thread's own state.
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
 * The cost of a thread's hooks, measured in place. Reports go to brick_hook_cost(), so that mean
 * cost x number of calls is the whole cost. Outside of runs about one call in 64 is timed: the call
 * that counts node_thread.hook_left down to 0. The calls of a run are all timed.
 */
struct node_cost {
	uint32_t calls;	      /* that the next report of a timed call stands for */
	uint32_t whole_calls; /* calls that were all timed, not reported yet */
	uint64_t whole_ticks; /* their ticks together */
	uint32_t random;      /* state of the generator of node_cost_draw() */
};

/* seed: any number; threads should differ in it. */
void node_cost_init(struct node_cost *cost, uint32_t seed);

/*
 * Draw the distance to the next timed call: 33 to 95 calls, the timed call included. The caller
 * puts it into node_thread.hook_left.
 */
uint32_t node_cost_draw(struct node_cost *cost);

/* Report a timed call. A call of more than 30 us was interrupted, so the next report replaces it.
 */
void node_cost_report(struct node_cost *cost, uint64_t ticks);

/* Add calls that were all timed, with their ticks together. */
void node_cost_add(struct node_cost *cost, uint32_t calls, uint64_t ticks);

enum node_mode {
	NODE_MODE_OFF = 0, /* nodes of this graph are not recorded, or none has begun yet */
	NODE_MODE_ALONE,   /* one thread computes the graph: barriers do not wait, runs are possible
			    */
	NODE_MODE_TEAM,	   /* several threads do, or something else forbids runs */
};

struct node_thread {
	/* A node of a run touches these members only (node_run.h). */
	struct brick__series_timing *run; /* of the expected node; NODE_RUN_NONE: no run goes on */
	uint32_t run_epoch;		  /* upper half of the clock for all times since run_from */
	uint32_t fused;			  /* nodes of this graph so far that are fused pairs */
	extra_forward_fn extra_forward;
	fused_forward_fn fused_forward;
	struct shape_offsets shape_at;
	uintptr_t low;	     /* first address of the engine's object */
	uintptr_t run_bytes; /* its length while a run goes on, else 0 */
	barrier_fn barrier;

	/* Calls from [low, low + bytes) in resolve_generation lead to the functions held here. */
	uintptr_t bytes;     /* 0: no engine is known, or it is not proved */
	uint32_t slow_begin; /* ticks; a node that begins later after its barrier met cold caches */
	uint32_t slow_call;  /* ticks; a hook that took longer met cold caches */
	uint32_t hook_left;  /* calls up to the next timed call, that call included */
	is_empty_fn is_empty;
	uint32_t resolve_generation; /* attach_shared.resolve_generation of the functions here */
	uint8_t open;		     /* 1: a node outside of a run is being executed */
	uint8_t mode;		     /* enum node_mode */
	uint8_t in_graph;	     /* 1: this thread has called for a graph and is inside of it */
	uint8_t ready;		     /* 1 after node_thread_init() */
	uint8_t is_cold;	     /* the last node began later than slow_begin */
	uint8_t marked;		     /* an event has a mark, or the open node has a cost */
	uint8_t is_whole;	     /* the nodes come by the hook of ggml_compute_forward() */
	uint8_t on_device;	 /* 1: the thread computes a graph on a device (device_graph.h) */
	uintptr_t final_barrier; /* return address of the barrier that ends graphs; 0: unknown */

	/* The node being executed outside of a run; the times are ticks. */
	uint64_t begin;
	uint64_t end;		     /* when it entered its last barrier, or left
					ggml_compute_forward(); 0: neither yet */
	uint64_t wait;		     /* in the last barrier */
	uint64_t inner;		     /* in all barriers before the last, so inside of the node */
	uintptr_t last_barrier;	     /* return address of the last barrier; 0: none */
	uint32_t site;		     /* 0: no site, see `brick` and `layer` */
	uint32_t cost;		     /* ticks of its hook if that call was timed, else 0 */
	uint32_t barrier_cost;	     /* 1 + ticks so far of the barrier's hook if timed, else 0 */
	struct brick_timing *events; /* finished nodes; `mark`: `cost` of the node */
	uint32_t event_count, event_capacity;

	/* The graph that the thread works for. */
	struct known_node *nodes;     /* graph->nodes, or a node that matches nothing; never NULL
					 once the thread is ready */
	uint32_t node_now, node_next; /* in `nodes`: the last node; the expected node */
	uint32_t graph_serial;	      /* attach_shared.graph_serial of the graph */
	uint32_t started;	      /* nodes begun; those of a run count from its flush on */

	/* Not every node touches the members below. */
	struct node_plan *plan;		       /* of the run; NULL: no run goes on */
	struct brick__series_timing *run_from; /* the run's first event that is not recorded yet */
	uint64_t run_base;		       /* ticks; when the node before run_from ended */
	uint64_t graph_entered;		       /* ticks; 0 once the graph's first node has begun */
	uint64_t begun;			       /* nodes of all former graphs */
	struct known_graph *graph; /* that `nodes` belongs to; NULL: no graph is known */
	struct node_cost hook_cost;
	const void *whole;	     /* the last node that ggml_compute_forward() was called for */
	uint32_t session;	     /* whose notes name the engine already; 0: none */
	uint16_t brick;		     /* of the open node, if site is 0 */
	int16_t layer;		     /* likewise; -1: none */
	uint32_t entry;		     /* attach_shared.is_late when this began to be filled */
	const struct engine *engine; /* that low and bytes belong to; NULL: none */
} __attribute__((aligned(64)));

/*
 * NODE_RUN_NONE is the expected event without a run. Its key equals no node's key in practice, so
 * node_run_begin() refuses every node.
 */
#define NODE_KEY_NONE 0x133111ebu
/* Events before a run's first node: node_run_last_call() reads two events back. */
enum { NODE_RUN_BEFORE = 2 };
extern struct brick__series_timing node_run_none[];
#define NODE_RUN_NONE (&node_run_none[NODE_RUN_BEFORE])

extern __thread struct node_thread node_thread __attribute__((tls_model("initial-exec")));

/* Do calls from this address lead to the functions that `t` holds? */
static inline int node_thread_knows(const struct node_thread *t, uintptr_t caller)
{
	return caller - t->low < t->bytes &&
	       t->resolve_generation == shared_get(&attach_shared.resolve_generation);
}

/*
 * Drop what the thread noted for a recorder that has left while the thread computed a graph. Does
 * nothing if this is the same recorder.
 */
static inline void node_drop_former(struct node_thread *t)
{
	uint32_t entry = shared_get(&attach_shared.is_late);

	if (BRICK_LIKELY(t->entry == entry))
		return;
	t->entry = entry;
	t->event_count = 0;
	t->open = t->marked = 0;
	t->run = t->run_from = NODE_RUN_NONE;
	t->run_bytes = 0;
	t->plan = NULL;
	t->mode = NODE_MODE_OFF;
}

/* Record the events as samples. The open node and a run stay: see node_flush(). */
void node_flush_events(struct node_thread *t);

/* Record a brick without a site or layer. Times: ticks. */
void node_record_span(uint16_t brick, uint64_t begin, uint64_t end);

/* Record the open node at once: it has no site, or a time that does not fit an event. */
void node_record(struct node_thread *t, uint64_t end);

/*
 * Keep the open node, which ended at `end`, as an event. Files compiled for general registers only
 * call this, too, so it calls other functions by SYS_KEEPING().
 */
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
