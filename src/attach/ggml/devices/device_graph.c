/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the place in the backend's code that walks the graph (device_graph.h). Other places ask
 * about the sources of an operation, or search the graph from its end. The first place that asks
 * about a graph's first node counts as the walker. Another place takes over if it goes on from the
 * first node through AGREEMENTS others while the walker does not ask, or if it begins when the
 * walker is through. Backends that walk twice (a dry run first, a look at the whole graph) do so in
 * the same order each time, so a former walker never takes over again. CUDA's backend gives nodes
 * streams of their own and reorders the graph for that before it walks, so the order is read when a
 * walk begins.
 */
#include "attach/ggml/devices/device_graph.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/ggml/graphs/device_nodes.h"
#include "attach/ggml/graphs/known_graphs.h"
#include "attach/ggml/nodes/node_thread.h"
#include "attach/ggml/nodes/slots.h"
#include "attach/ggml/steps/phases.h"
#include "attach/ggml/steps/training.h"
#include "base/thread.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum {
	AGREEMENTS = 4,	    /* nodes after which a candidate takes over, and a walker is trusted */
	UNASKED_GRAPHS = 2, /* graphs without a question, after which a note says so */
};

/* On the heap, as static TLS of preloaded libraries is short. */
struct device_graph {
	struct known_graph *graph; /* NULL: this thread computes none on a device */
	const void *shown;	   /* the engine's graph */
	uint32_t at;	 /* index of the last node that was asked about; count: none yet */
	uint32_t asked;	 /* nodes with work that the backend has asked about */
	brick_span span; /* RecordCommands of that node; 0: none is open */
	const struct brick_launch_owner *outside; /* of launches between nodes */
	const struct brick_launch_owner
		*before; /* of launches before the graph, restored after it */

	/*
	 * Return addresses in the code of the backend seen last (0: none): the walker asks about
	 * the nodes that it launches, in order; other places may ask, too (device_graph.c).
	 */
	const void *backend;
	uintptr_t walker;
	uintptr_t former;      /* the walker before this one */
	uintptr_t candidate;   /* a place that may take over */
	uint32_t trusted;      /* nodes that the walker has asked about since it took over */
	uint32_t candidate_at; /* index of the node that the candidate asked about last */
	uint32_t agreed;       /* nodes in a row, in order, that the candidate has asked about */
};

static __thread struct device_graph *device_graph_here __attribute__((tls_model("initial-exec")));
static struct thread_exit device_graph_exit_of_thread;

static void device_graph_thread_exits(void *own)
{
	device_graph_here = NULL;
	free(own);
}

__attribute__((constructor)) static void device_graph_watch_threads(void)
{
	thread_exit_create(&device_graph_exit_of_thread, device_graph_thread_exits);
}

void device_graph_begin(
	const struct engine *engine, const void *backend, const void *graph, uint16_t brick)
{
	bool looked = false;
	uint64_t begin = brick__now();

	device_graph_end(); /* an exception may have left one behind */
	if (!device_graph_here)
		device_graph_here = thread_exit_allocate(
			&device_graph_exit_of_thread, sizeof(*device_graph_here));
	struct device_graph *d = device_graph_here;
	if (!d)
		return;
	struct known_graph *known = known_graph_hold(engine, graph, 0, &looked);
	if (!known)
		return;
	if (device_nodes_ready(known)) {
		known_graph_release(known);
		return;
	}
	if (looked)
		node_record_span(phase_brick(PHASE_LOOKUP), begin, brick__now());
	if (d->backend != backend)
		*d = (struct device_graph){.backend = backend};
	d->at = known->count;
	d->asked = 0;
	d->graph = known;
	d->shown = graph;
	node_thread.on_device = 1;
	slots_watch_is_empty();
	d->outside = device_phase_owner(brick);
	d->before = brick_launch_owner_set(d->outside);
}

/* End the node that was asked about last. next: index of the node that comes now, or the count. */
static void device_graph_leave(struct device_graph *d, uint32_t next)
{
	if (d->at < d->graph->count && next > d->at)
		device_nodes_taken(d->graph, d->at, next);
	if (d->span)
		brick_end(d->span);
	d->span = 0;
	brick_launch_owner_set(d->outside);
}

void device_graph_end(void)
{
	static uint32_t any_asked, unasked;
	struct device_graph *d = device_graph_here;

	if (!d || !d->graph)
		return;
	/* If no backend ever asks (the question is inlined), no node can be timed. */
	if (d->asked)
		__atomic_store_n(&any_asked, 1, __ATOMIC_RELAXED);
	else if (!__atomic_load_n(&any_asked, __ATOMIC_RELAXED) &&
		 __atomic_add_fetch(&unasked, 1, __ATOMIC_RELAXED) == UNASKED_GRAPHS)
		note_once("ggml.device",
			"nodes are not timed one by one: the backend calls no function for each "
			"(link-time optimisation, or it sends graphs elsewhere), so the time is "
			"the whole graph's");
	device_graph_leave(d, d->graph->count);
	brick_launch_owner_set(d->before);
	known_graph_release(d->graph);
	d->graph = NULL;
	node_thread.on_device = 0;
	node_thread.begun += d->asked;
}

/* The node's index, searched from the node that the caller asked about last; the count: not there.
 */
static uint32_t device_graph_find(const struct device_graph *d, const void *node, uintptr_t caller)
{
	const struct known_graph *g = d->graph;
	uint32_t at = caller != d->walker && caller == d->candidate ? d->candidate_at : d->at;

	for (uint32_t i = at < g->count ? at + 1 : 0; i < g->count; i++)
		if (g->nodes[i].node == node)
			return i;
	return g->count && g->nodes[0].node == node ? 0 : g->count;
}

/* Has a caller other than the walker walked on from the first node, alone? */
static bool overtakes(struct device_graph *d, uintptr_t caller, uint32_t index)
{
	if (!index) {
		d->candidate = caller;
		d->candidate_at = d->agreed = 0;
		return false;
	}
	if (caller != d->candidate || index <= d->candidate_at)
		return false;
	d->candidate_at = index;
	return ++d->agreed == AGREEMENTS;
}

/* Does this caller walk the graph, from now on or as before? */
static bool is_walker(struct device_graph *d, uintptr_t caller, uint32_t index)
{
	if (caller == d->walker) {
		d->candidate = 0;
		d->trusted++;
		return true;
	}
	if (caller == d->former && d->trusted >= AGREEMENTS)
		return false;
	/* A place that begins when the walker is through makes the round that launches. */
	bool begins_anew = !index && (!d->walker || d->at + 1 == d->graph->count);
	if (!begins_anew && !overtakes(d, caller, index))
		return false;
	d->former = d->walker;
	d->walker = caller;
	d->candidate = 0;
	d->trusted = 0;
	return true;
}

static void device_graph_ask_node(struct device_graph *d, const void *node, uintptr_t caller)
{
	if (d->walker && caller != d->walker && caller != d->candidate &&
		node != d->graph->nodes[0].node)
		return;
	uint32_t index = device_graph_find(d, node, caller);
	if (index == d->graph->count || !is_walker(d, caller, index))
		return;
	device_graph_leave(d, index);
	struct known_graph *now = index ? NULL : known_graph_again(d->graph, d->shown);
	if (now && now != d->graph) {
		/* Use the new order, or, if there is no memory, go on with the old. */
		struct known_graph *unused = device_nodes_ready(now) ? now : d->graph;
		if (unused != now)
			d->graph = now;
		known_graph_release(unused);
	}
	/* The backend passed over the nodes before this one: views, and nodes that it fuses. */
	if (index <= d->at)
		training_walk_again();
	for (uint32_t i = index <= d->at ? 0 : d->at + 1; i < index; i++)
		training_pass(d->graph->nodes[i].node);
	d->at = index;
	const struct brick_launch_owner *owner = d->graph->launched[index].owner;
	if (!owner)
		return;
	d->asked++;
	training_node(d->graph->nodes[index].node, true);
	d->span = brick_begin_layer(phase_brick(PHASE_RECORD_COMMANDS), owner->layer);
	brick_launch_owner_set(owner);
}

void device_graph_ask(const void *node, uintptr_t caller)
{
	struct node_thread *t = &node_thread;
	int timed = --t->hook_left == 0;
	uint64_t entered = BRICK_UNLIKELY(timed) ? brick__now() : 0;

	device_graph_ask_node(device_graph_here, node, caller);
	if (BRICK_UNLIKELY(timed)) {
		node_cost_report(&t->hook_cost, brick__now() - entered);
		t->hook_left = node_cost_draw(&t->hook_cost);
	}
}

void device_graph_forget(void)
{
	if (device_graph_here)
		memset(device_graph_here, 0, sizeof(*device_graph_here));
}
