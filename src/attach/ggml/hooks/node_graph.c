/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph's begin, first node and end (node_graph.h). With several threads, the time up to the
 * first node is recorded as ThreadStart, and the time after the last barrier as ThreadJoin. Threads
 * other than the caller do not see the graph's end: they take it from the barrier that ends all
 * graphs of the engine, which is learnt here.
 */
#include "attach/ggml/hooks/node_graph.h"

#include <stdbool.h>
#include "attach/ggml/graphs/ggml_dataflow.h"
#include "attach/ggml/nodes/digests.h"
#include "attach/ggml/nodes/masks.h"
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/nodes/node_thread.h"
#include "attach/ggml/nodes/node_run.h"
#include "attach/ggml/hooks/node_watch.h"
#include "attach/ggml/graphs/known_graphs.h"
#include "attach/ggml/nodes/slots.h"
#include "attach/ggml/steps/phases.h"
#include "attach/ggml/steps/training.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum { AGREEMENTS = 2 }; /* graphs after the first that must end at the same barrier */

/* Does every graph of this engine end at the same barrier? The calling thread sees where. */
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

/*
 * Hook barriers for teams, and skip them for a thread that is alone, whose barriers do not wait.
 * The first thread of a team comes here before its first barrier, so none is missed.
 */
static void expect_barriers(const struct node_thread *t)
{
	if (t->mode == NODE_MODE_TEAM)
		slots_watch_barrier();
	else if (t->plan && !__atomic_load_n(&t->engine->profile->is_past, __ATOMIC_RELAXED) &&
		 !__atomic_exchange_n(&t->engine->profile->is_past, 1, __ATOMIC_RELAXED))
		slots_skip_barrier(t->low, t->barrier);
}

void node_graph_enter(struct node_thread *t, const void *node, int threads, uint32_t serial)
{
	uint64_t entered = t->graph_entered;

	t->graph_serial = serial;
	t->graph_entered = 0;
	t->final_barrier = t->engine ? final_barrier_of(t->engine) : 0;
	if (!t->in_graph) /* another thread called for the graph */
		node_sites_join(t, node);
	(void)brick_thread_ready(); /* a lane begins before the events that it gets later */
	node_flush_events(t);
	if (entered && threads > 1)
		node_record_span(phase_brick(PHASE_THREAD_START), entered, brick__now());
	if (!method_records_nodes())
		t->mode = NODE_MODE_OFF;
	else if (threads != 1 || t->is_whole || !shape_offsets_known(&t->shape_at) ||
		 !brick__counter_used || !brick__crc_usable() || nodes_watched)
		t->mode = NODE_MODE_TEAM;
	else
		t->mode = NODE_MODE_ALONE;
	if (t->mode == NODE_MODE_ALONE)
		node_run_arm(t);
	expect_barriers(t);
	if (t->mode != NODE_MODE_OFF)
		training_node(node, true);
}

void node_graph_hold(struct node_thread *t, const void *graph, bool reads_masks)
{
	bool looked = false;
	uint64_t begin = brick__now();
	struct known_graph *known =
		method_is(METHOD_GRAPHS) ? NULL : known_graph_hold(t->engine, graph, 1, &looked);

	node_sites_of(t, known, known ? known->nodes[known->count].next : 0);
	if (reads_masks && known && known->masks) {
		masks_begin(t->engine, known->masks);
		looked = true;
	}
	if (looked)
		node_record_span(phase_brick(PHASE_LOOKUP), begin, brick__now());
}

void node_graph_begin(struct graph_scope *outer, const void *graph)
{
	struct node_thread *t = &node_thread;

	notes_engine(t->engine, &t->session);
	node_drop_former(t);
	node_run_leave(t);
	node_flush();
	*outer = (struct graph_scope){t->graph_entered, t->graph, t->node_now, t->node_next,
		t->started, t->fused, t->in_graph};
	/* Before any graph is forgotten: see known_graphs.c. */
	__atomic_add_fetch(&attach_shared.graph_serial, 1, __ATOMIC_SEQ_CST);
	node_graph_hold(t, graph, method_records_nodes());
	if (brick_enabled())
		dataflow_graph(t->engine, graph);
	digests_graph_begin();
	t->in_graph = 1;
	t->started = t->fused = 0;
	t->graph_entered = brick__now();
}

void node_graph_end(const struct graph_scope *outer, const void *graph)
{
	struct node_thread *t = &node_thread;

	node_watch_end();
	digests_graph_end(t);
	node_run_leave(t);
	if (t->open) {
		uint64_t now = brick__now(), joined = t->end ? t->end + t->wait : 0;
		node_flush();
		if (joined) {
			node_record_span(phase_brick(PHASE_THREAD_JOIN), joined, now);
			learn_final_barrier(t->engine, t->last_barrier);
		}
	}
	if (method_records_nodes()) {
		notes_graph(t->engine, graph, t->started, t->fused);
		notes_result(t->engine, graph);
	}
	t->begun += t->started;
	node_flush();
	masks_end();
	known_graph_release(t->graph);
	node_sites_of(t, outer->graph, outer->node_next);
	if (outer->graph)
		t->node_now = outer->node_now;
	t->graph_entered = outer->entered;
	t->started = outer->started;
	t->fused = outer->fused;
	t->in_graph = outer->in_graph;
}
