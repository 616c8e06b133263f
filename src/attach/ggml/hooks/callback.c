/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluation callback (callback.h), with a table of the schedulers seen and the program's
 * callback of each. A node lies between the answer to "do you want this one" and the call that says
 * it is there. Nodes without work are computed along with the next one, except every 31st: it is
 * computed alone, and shows what a graph of one node costs in the engine.
 */
#include "attach/ggml/hooks/callback.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include "attach/common/notes_once.h"
#include "attach/ggml/nodes/digests.h"
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/hooks/node_graph.h"
#include "attach/ggml/engine/patched.h"
#include "attach/ggml/graphs/node_ready.h"
#include "attach/ggml/graphs/known_graphs.h"
#include "attach/ggml/steps/phases.h"
#include "base/scope.h"
#include "brick/brick.h"

enum {
	MAX_SCHEDULERS = 64, /* nodes of further schedulers are not timed */
	SPLITS_BETWEEN = 31, /* a prime, so that it does not keep in time with the graph */
	SPLIT_FIRST = 4,     /* node without work that is the first to be computed alone */
};

struct scheduler {
	void *address;
	eval_callback_fn callback; /* the program's */
	void *data;
	bool installed;	 /* ours is in its place */
	bool wanted;	 /* the program has asked for the node that is being computed */
	brick_span span; /* of that node */
	uint32_t site;	 /* of that node; 0: none */
	uint32_t empty;	 /* nodes without work so far */
	bool is_split;	 /* the node being computed has no work: it measures the cost of a split */
};

static uint32_t callback_is_used; /* ours was installed somewhere */
static struct scheduler schedulers[MAX_SCHEDULERS];
static pthread_mutex_t callback_lock = PTHREAD_MUTEX_INITIALIZER;

LOCK_OVER_FORKS(callback_lock)

/* The entry of a scheduler, a new one if need be; NULL when the table is full. */
static struct scheduler *callback_entry_of(void *address)
{
	struct scheduler *entry = NULL;

	HOLD(&callback_lock);
	for (int i = 0; i < MAX_SCHEDULERS && !entry; i++)
		if (schedulers[i].address == address)
			entry = &schedulers[i];
	for (int i = 0; i < MAX_SCHEDULERS && !entry; i++)
		if (!schedulers[i].address)
			entry = &schedulers[i];
	if (entry)
		entry->address = address;
	return entry;
}

void callback_scheduler_made(void *scheduler)
{
	struct scheduler *entry = scheduler ? callback_entry_of(scheduler) : NULL;

	if (entry)
		*entry = (struct scheduler){.address = scheduler};
}

/*
 * Is this node without work to be computed alone? Never if the program has a callback: its own
 * splits cannot be told from ours.
 */
static bool is_split(struct scheduler *s)
{
	return !s->callback && ++s->empty % SPLITS_BETWEEN == SPLIT_FIRST;
}

static void node_end(struct scheduler *s, struct node_thread *t, const void *tensor)
{
	if (!s->span)
		return;
	if (s->site)
		brick_end_site(s->span, s->site);
	else
		brick_end(s->span);
	s->span = 0;
	if (tensor && !s->is_split && digests_mode && method_cpu_only())
		digests_take(t, tensor, NULL, s->site);
}

/* The head of struct ggml_cplan, in all versions seen. */
struct graph_plan {
	size_t work_bytes;
	void *work;
	int threads;
};

void callback_part_computed(const void *plan)
{
	static uint32_t most; /* threads of any part so far; a part of views has one */
	uint32_t threads = (uint32_t)((const struct graph_plan *)plan)->threads;

	if (threads <= __atomic_load_n(&most, __ATOMIC_RELAXED) || !brick_enabled())
		return;
	__atomic_store_n(&most, threads, __ATOMIC_RELAXED);
	if (threads > 1)
		note_once("callback.threads", "%u", threads);
}

static _Bool on_node(void *tensor, _Bool ask, void *data)
{
	struct scheduler *s = data;
	struct node_thread *t = &node_thread;
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);

	if (!node_thread_knows(t, caller))
		(void)node_thread_prepare(t, caller);
	if (ask) {
		s->wanted = s->callback && s->callback(tensor, 1, s->data);
		bool is_due = !s->wanted && t->engine && shape_offsets_known(&t->shape_at) &&
			      !engine_executes(t->engine, tensor);
		if (!s->wanted && (!brick_enabled() || (is_due && !is_split(s))))
			return 0;
		phase_mute(true);
		node_end(s, t, NULL); /* the last node, if the scheduler did not tell its end */
		s->is_split = is_due;
		if (!brick_enabled())
			return 1;
		/* What the node launches and waits for while it is computed lies in its brick. */
		s->site = is_due ? 0 : node_site_slow(t, tensor, NULL, 0);
		s->span = brick_begin_from(is_due ? phase_brick(PHASE_SPLIT) : t->brick,
			is_due ? -1 : t->layer, BRICK_SOURCE_CALLBACK);
		return 1;
	}
	node_end(s, t, tensor);
	phase_mute(false);
	return s->wanted ? s->callback(tensor, 0, s->data) : 1;
}

static void install(set_callback_fn set, struct scheduler *entry, bool ours)
{
	entry->installed = ours;
	if (ours) {
		__atomic_store_n(&callback_is_used, 1, __ATOMIC_RELAXED);
		set(entry->address, on_node, entry);
	} else {
		set(entry->address, entry->callback, entry->data);
	}
}

void callback_set(set_callback_fn set, void *scheduler, eval_callback_fn callback, void *data)
{
	struct scheduler *entry = callback_entry_of(scheduler);

	if (!entry) {
		set(scheduler, callback, data);
		return;
	}
	entry->callback = callback;
	entry->data = data;
	install(set, entry, brick_enabled() && method_is(METHOD_CALLBACK));
}

void callback_compute_plain(set_callback_fn set, void *scheduler)
{
	struct scheduler *entry;

	if (!set || !__atomic_load_n(&callback_is_used, __ATOMIC_RELAXED))
		return;
	entry = callback_entry_of(scheduler);
	if (entry && entry->installed)
		install(set, entry, 0);
}

void callback_compute_begin(set_callback_fn set, void *scheduler, const void *graph)
{
	struct node_thread *t = &node_thread;
	struct scheduler *entry;

	if (!set || !brick_enabled())
		return;
	uintptr_t code = patched_home((uintptr_t)set);
	if (!node_thread_knows(t, code) && !node_thread_prepare(t, code))
		return;
	node_graph_hold(t, graph, 0);
	entry = callback_entry_of(scheduler);
	if (entry && !entry->installed)
		install(set, entry, 1);
}

void callback_compute_end(void *scheduler)
{
	struct scheduler *entry = callback_entry_of(scheduler);

	if (entry)
		node_end(entry, &node_thread, NULL);
	known_graph_release(node_thread.graph);
	node_sites_of(&node_thread, NULL, 0);
	phase_mute(false);
}
