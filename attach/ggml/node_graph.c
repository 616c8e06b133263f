/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs as their threads see them (node_graph.h): all nodes of a new one are looked up before the
 * first begins, the time up to that and after the last barrier is recorded where there are threads
 * to start and to join, and the barrier that ends all graphs is learnt. Called by hooks_graph.c,
 * and by the hot path for the first node of each graph.
 */
#include "attach/ggml/node_graph.h"

#include "attach/ggml/dataflow.h"
#include "attach/ggml/digests.h"
#include "attach/ggml/method.h"
#include "attach/ggml/node_record.h"
#include "attach/ggml/node_sites.h"
#include "attach/ggml/note_engine.h"
#include "attach/ggml/notes.h"
#include "attach/ggml/phases.h"
#include "brick/brick.h"

enum { AGREEMENTS = 2 }; /* graphs that must end at the same barrier before it is believed */

/* Does every graph of this engine end at the same barrier? Learnt where the end can be seen. */
static void learn_final_barrier(const struct engine *e, uintptr_t barrier)
{
	struct barrier_profile *profile = e->profile;

	if (!barrier || __atomic_load_n(&profile->refuted, __ATOMIC_RELAXED))
		return;
	uintptr_t known = __atomic_load_n(&profile->barrier, __ATOMIC_RELAXED);
	if (!known)
		__atomic_store_n(&profile->barrier, barrier, __ATOMIC_RELAXED);
	else if (known == barrier)
		__atomic_add_fetch(&profile->agreed, 1, __ATOMIC_RELAXED);
	else
		__atomic_store_n(&profile->refuted, 1, __ATOMIC_RELAXED);
}

static uintptr_t final_barrier_of(const struct engine *e)
{
	const struct barrier_profile *profile = e->profile;

	if (__atomic_load_n(&profile->refuted, __ATOMIC_RELAXED) ||
		__atomic_load_n(&profile->agreed, __ATOMIC_RELAXED) < AGREEMENTS)
		return 0;
	return __atomic_load_n(&profile->barrier, __ATOMIC_RELAXED);
}

void node_final_refuted(struct node_thread *t)
{
	if (t->final_barrier && t->engine)
		__atomic_store_n(&t->engine->profile->refuted, 1, __ATOMIC_RELAXED);
	t->final_barrier = 0;
}

void node_graph_enter(struct node_thread *t, int threads, uint32_t serial)
{
	uint64_t entered = t->graph_entered;

	t->graph_serial = serial;
	t->graph_entered = 0;
	t->final_barrier = t->engine ? final_barrier_of(t->engine) : 0;
	node_flush_events(t);
	if (entered && threads > 1)
		node_record_span(phase_brick(PHASE_THREAD_START), entered, brick__now());
	if (!method_records_nodes())
		t->mode = NODE_MODE_OFF;
	else if (threads == 1 && t->has_layout && brick__counter_used && !digests_mode)
		t->mode = NODE_MODE_ALONE;
	else
		t->mode = NODE_MODE_TEAM;
}

/*
 * Look all nodes of a graph up before the first one begins, when they may be new: in one go, with
 * warm caches, it costs a fraction of what it would between the nodes.
 */
static void walk_graph(struct node_thread *t, const void *graph)
{
	const struct engine *e = t->engine;
	uint32_t generation = shared_get(&attach_shared.graph_generation);
	uint32_t first = 0, seen = 0;

	if (!method_is(METHOD_NODES) || (t->walked == generation && t->walked_graph == graph) ||
		!e || !t->has_layout || !e->graph_node || !e->graph_node_count)
		return;
	t->walked = generation;
	t->walked_graph = graph;
	int count = e->graph_node_count((void *)(uintptr_t)graph);
	for (int i = 0; i < count; i++) {
		const void *node = e->graph_node(graph, i), *mul = NULL;
		if (!node || engine_operation(e, node) == OPERATION_EMPTY)
			continue;
		if (i + 1 < count)
			mul = engine_fused(e, node, e->graph_node(graph, i + 1));
		node_site_slow(t, node, mul, 0);
		i += mul != NULL;
		if (!seen++)
			first = t->slot_now;
	}
	t->slot_next = first;
}

void node_graph_begin(struct graph_scope *outer, const void *graph)
{
	struct node_thread *t = &node_thread;

	note_engine(t);
	node_flush();
	walk_graph(t, graph);
	if (brick_enabled())
		dataflow_graph(t->engine, graph);
	digests_graph_begin();
	*outer = (struct graph_scope){t->graph_entered, t->started, t->fused, t->in_graph};
	t->in_graph = 1;
	t->started = t->fused = 0;
	__atomic_add_fetch(&attach_shared.graph_serial, 1, __ATOMIC_RELAXED);
	t->graph_entered = brick__now();
}

void node_graph_end(const struct graph_scope *outer, const void *graph)
{
	struct node_thread *t = &node_thread;

	digests_graph_end(t);
	if (t->open) {
		uint64_t now = brick__now(), joined = t->end ? t->end + t->wait : 0;
		node_flush();
		if (joined) {
			node_record_span(phase_brick(PHASE_THREAD_JOIN), joined, now);
			learn_final_barrier(t->engine, t->last_barrier);
		}
	}
	if (method_records_nodes())
		notes_graph(t->engine, graph, t->started, t->fused);
	t->begun += t->started;
	t->graph_entered = outer->entered;
	t->started = outer->started;
	t->fused = outer->fused;
	t->in_graph = outer->in_graph;
}
