/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node that each thread is executing. A node begins when its forward hook is called.
 *
 * On several threads every ggml_barrier() after that may be its last: entering it ends the work,
 * what follows is waiting. Only the next beginning, or the end of the graph, tells which one was
 * the last; the barriers before were waits inside of the node. On one thread barriers return at
 * once and are not looked at: a node ends where the next hook is entered.
 *
 * Nodes that are over are kept as events, 32 bytes each, and become samples when the graph is: the
 * engine streams its weights through the caches, so that whatever a hook touches between two nodes
 * comes from main memory, and a hundred samples in a row are far cheaper than a hundred at a time.
 * All of it is thread-local; nothing here is shared but two counters of graphs.
 */
#ifndef BRICK_ATTACH_GGML_NODES_H
#define BRICK_ATTACH_GGML_NODES_H

#include <stdint.h>
#include "attach/ggml/engine.h"
#include "brick/attach.h"
#include "lib/sys/ticks.h"

/* What a thread remembers of a tensor. */
struct site_slot {
	const void *node;
	uint64_t shape;	     /* of operation, type and own shape; what the hot path compares */
	uint32_t generation; /* of graphs; compared too */
	uint32_t identity;   /* of name and sources: compared when graphs were rebuilt */
	uint32_t site;
	uint32_t next; /* the slot that was wanted after this one, the last time */
};

enum node_mode {
	NODE_MODE_OFF = 0, /* nodes of this graph are not recorded, or none has begun yet */
	NODE_MODE_ALONE,   /* its graph runs on one thread: barriers are nothing; the short path */
	NODE_MODE_TEAM,
};

struct node_thread {
	/* Where hooks lead to, as long as they are called from this range in this generation. */
	uintptr_t low, bytes;
	extra_forward_fn extra_forward;
	fused_forward_fn fused_forward;
	barrier_fn barrier;
	uint32_t resolve_generation;
	uint32_t hook_left; /* calls until one is timed */
	uint8_t open;	    /* a node is being executed: 0 or 1 */
	uint8_t mode;	    /* enum node_mode */
	uint8_t in_graph;   /* which this thread has called for */
	uint8_t ready;
	uint32_t marked;	 /* some events have a mark */
	uintptr_t final_barrier; /* where the barrier that ends a graph is called from; 0: not known
				  */

	/* The node being executed. */
	uint64_t begin, end, wait, inner; /* ticks; end 0: no barrier that was looked at */
	uintptr_t last_barrier;		  /* where it was called from */
	uint32_t site, cost;
	struct brick_timing *events; /* nodes that are over; `mark`: what its hook cost, if timed */
	uint32_t event_count, event_room;

	/* Its cache of sites. */
	struct site_slot *slots; /* slot_mask + 1 */
	uint32_t slot_mask;
	uint32_t slot_now, slot_next; /* of the last node; where the next one is expected */
	uint16_t ne_offset, op_offset, type_offset, has_layout;
	uint32_t graph_serial;
	uint32_t started, fused; /* nodes of its graph */
	uint64_t call_ticks;	 /* that calls of the short path took since the last flush */

	/* What follows is not touched for every node. */
	uint64_t graph_entered;	  /* ticks; 0 once the graph's first node has begun */
	uint64_t begun;		  /* nodes of all former graphs */
	const void *walked_graph; /* all nodes of which were looked up */
	uint32_t walked;	  /* in this generation of graphs */
	uint32_t hook_calls;	  /* made since the last one that was timed and reported */
	uint32_t cost_calls; /* of the short path, all timed, not reported yet, and their ticks */
	uint64_t cost_ticks;
	uint32_t random;
	uint32_t session; /* whose notes name the engine */
	uint16_t brick;	  /* of a node without a site */
	int16_t layer;
	const struct engine *engine;
} __attribute__((aligned(64)));

extern __thread struct node_thread node_thread __attribute__((tls_model("initial-exec")));

/* A graph may have been built anew: cached tensors are compared in full from now on. */
static inline void graph_generation_next(void)
{
	__atomic_add_fetch(&attach_shared.graph_generation, 1, __ATOMIC_RELAXED);
}

static inline int node_thread_knows(const struct node_thread *t, uintptr_t caller)
{
	return caller - t->low < t->bytes &&
	       t->resolve_generation == shared_get(&attach_shared.resolve_generation);
}

/* Everything but the engine: clock, counters, the destructor. */
void node_thread_init(struct node_thread *t);

static inline void node_thread_ready(struct node_thread *t)
{
	if (BRICK_UNLIKELY(!t->ready))
		node_thread_init(t);
}

/* The session on this thread may be a new one: its notes shall name the engine. */
void node_thread_greet(struct node_thread *t);

/* Zeroed, two of them to a cache line; NULL: no memory. What a thread without any looks into. */
struct site_slot *node_slots_create(uint32_t count);
extern struct site_slot node_no_slots[2];

/* Make the thread fit for calls from this address. Afterwards all its functions can be called. */
void node_thread_prepare(struct node_thread *t, uintptr_t caller);

static inline uint64_t node_rotate(uint64_t value, int bits)
{
	return value << bits | value >> (64 - bits);
}

/*
 * Shape, type and operation in one word. Not a good hash: it only has to tell the few shapes apart
 * that a tensor at one address takes on. Needs a known layout.
 */
static inline __attribute__((always_inline)) uint64_t node_shape(
	const struct node_thread *t, const void *node, int part)
{
	const int64_t *ne = tensor_field(node, t->ne_offset);
	uint32_t kind = (uint32_t)tensor_int32(node, t->op_offset) << 8 ^
			(uint32_t)tensor_int32(node, t->type_offset);
	return (uint64_t)ne[0] ^ node_rotate((uint64_t)ne[1], 20) ^
	       node_rotate((uint64_t)ne[2], 37) ^ node_rotate((uint64_t)ne[3], 51) ^
	       ((uint64_t)kind << 45 | (uint64_t)part << 63);
}

/* The site of a node that is not where it was expected; 0: none, see brick and layer. */
uint32_t node_site_slow(struct node_thread *t, const void *node, const void *mul, int part);

/* Turn what has been kept into samples. */
void node_flush(struct node_thread *t);

/* A brick without a site, below whatever is open. */
void node_record_span(uint16_t brick, uint64_t begin, uint64_t end);

/* Record the open node at once, for what fits no event. */
void node_record(struct node_thread *t, uint64_t end);

/* The open node is over. */
static inline void node_finish(struct node_thread *t, uint64_t end)
{
	uint64_t length = end - t->begin;

	t->open = 0;
	if (BRICK_UNLIKELY((length | t->wait | t->inner) >> 32 || !t->site)) {
		node_record(t, end);
		return;
	}
	t->events[t->event_count] = (struct brick_timing){t->begin, (uint32_t)length,
		(uint32_t)t->wait, (uint32_t)t->inner, t->site, t->cost, 0};
	if (BRICK_UNLIKELY(++t->event_count >= t->event_room))
		node_flush(t);
}

/* Nothing of this thread may be pending when something else is recorded on it. */
void node_settle_slow(struct node_thread *t);

static inline void node_settle(void)
{
	struct node_thread *t = &node_thread;

	if (BRICK_UNLIKELY(t->open || t->event_count))
		node_settle_slow(t);
}

/* The first node of a graph on this thread is about to begin. */
void node_graph_enter(struct node_thread *t, int threads, uint32_t serial);

/* The barrier that was taken for the last of all graphs was followed by another node. */
void node_final_refuted(struct node_thread *t);

/* A graph on the calling thread; graphs may nest (operations of the program's own). */
struct graph_scope {
	uint64_t entered;
	uint32_t started, fused;
	uint8_t in_graph;
};
void node_graph_begin(struct graph_scope *outer, const void *graph);
void node_graph_end(const struct graph_scope *outer, const void *graph);

/*
 * One in about 64 hook calls is timed: the one with which hook_left comes down to 0. Draw the next
 * one then, and report how long this one took.
 */
void node_hook_draw(struct node_thread *t);
void node_hook_timed(uint64_t ticks);
void node_cost_init(void);

#endif
