/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node that each thread is executing. A node begins when its forward hook is called. Every
 * ggml_barrier() after that may be its last: entering it ends the work, what follows is waiting.
 * Only the next beginning, or the end of the graph, tells which barrier was the last one; then the
 * node becomes a sample, and the barriers before become waits inside of it. All of it is
 * thread-local; nothing here is shared but the generation of graphs.
 */
#ifndef BRICK_ATTACH_GGML_NODES_H
#define BRICK_ATTACH_GGML_NODES_H

#include <stdint.h>
#include "attach/ggml/engine.h"
#include "attach/ggml/site_table.h"
#include "lib/sys/ticks.h"

/* What a thread remembers of a tensor: 32 bytes, two to a cache line. */
struct site_slot {
	const void *node;
	uint64_t shape;    /* of operation, type and own shape; what the hot path compares */
	uint64_t identity; /* of name and sources as well: compared when graphs were rebuilt */
	uint32_t generation;
	uint32_t site;
};

struct node_thread {
	/* Where hooks lead to, as long as they are called from this range in this generation. */
	uintptr_t low, bytes;
	uint32_t resolve_generation;
	uint32_t hook_left; /* calls until one is timed */
	extra_forward_fn extra_forward;
	fused_forward_fn fused_forward;
	barrier_fn barrier;

	/* The node being executed, if `open`. */
	uint8_t open;
	uint8_t alone; /* the graph runs on one thread: its barriers return at once */
	uint8_t in_graph;
	uint8_t registered; /* with the destructor of threads */
	uint32_t site;
	uint64_t begin, end, wait, inner; /* ticks; end 0: no barrier yet */

	/* The graph that this thread has called for. */
	uint64_t graph_entered; /* ticks; 0 once its first node has begun */
	uint32_t started, fused;

	/* Its cache of sites, `slot_mask` + 1 of them. */
	struct site_slot *slots;
	uint32_t slot_mask;
	uint32_t hook_interval;
	uint16_t ne_offset, op_offset, type_offset, has_layout;
	uint32_t random;
	uint64_t slow; /* ticks spent on the slow path since it was last set to 0 */
	const struct engine *engine;
	uint16_t brick; /* of a node without a site */
	int16_t layer;
};

extern __thread struct node_thread node_thread __attribute__((tls_model("initial-exec")));

/* Grows whenever a graph may have been built anew: cached tensors are then compared in full. */
extern uint32_t graph_generation;

static inline void graph_generation_next(void)
{
	__atomic_add_fetch(&graph_generation, 1, __ATOMIC_RELAXED);
}

static inline int node_thread_knows(const struct node_thread *t, uintptr_t caller)
{
	return caller - t->low < t->bytes &&
		t->resolve_generation == __atomic_load_n(&resolve_generation, __ATOMIC_RELAXED);
}

/* Make the thread fit for calls from this address. Afterwards all its functions can be called. */
void node_thread_prepare(struct node_thread *t, uintptr_t caller);

/* First of the two slots that a node may be in. */
static inline uint32_t node_slot_index(const struct node_thread *t, const void *node)
{
	return (uint32_t)(((uint64_t)(uintptr_t)node * 0x9e3779b97f4a7c15ull) >> 32) &
		t->slot_mask & ~1u;
}

/* The site of a node that the thread's cache does not know as it is; 0: none, see brick and layer. */
uint32_t node_site_slow(struct node_thread *t, const void *node, const void *mul, int part,
	uint64_t shape);

/* Record the node that is open. `now` ends it when it had no barrier. */
void node_finish(struct node_thread *t, uint64_t now);

/* The first node of a graph on the thread that called for it is about to begin. */
void node_graph_started(struct node_thread *t, int threads);

/* A graph on the calling thread; graphs may nest (operations of the program's own). */
struct graph_scope {
	uint64_t entered;
	uint32_t started, fused;
	uint8_t in_graph;
};
void node_graph_begin(struct graph_scope *outer);
void node_graph_end(const struct graph_scope *outer, const void *graph);

/* One in about 64 hook calls is timed. Call when hook_left has come down to 0. */
void node_hook_timed(struct node_thread *t, uint64_t ticks);

static inline void node_finish_open(void)
{
	if (BRICK_UNLIKELY(node_thread.open))
		node_finish(&node_thread, brick__now());
}

#endif
