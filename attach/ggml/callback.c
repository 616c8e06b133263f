/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluation callback (callback.h): a table of the schedulers seen, with the program's callback
 * of each. A node lies between the answer to "do you want this one" and the call that says it is
 * there. Nodes without work are left to be computed along with the next one.
 */
#include "attach/ggml/callback.h"

#include <pthread.h>
#include <stddef.h>
#include "attach/ggml/digests.h"
#include "attach/ggml/method.h"
#include "attach/ggml/node_graph.h"
#include "attach/ggml/patched.h"
#include "attach/ggml/node_ready.h"
#include "attach/ggml/node_sites.h"
#include "attach/ggml/phases.h"
#include "brick/brick.h"

enum { MAX_SCHEDULERS = 64 };

struct scheduler {
	void *address;
	eval_callback_fn callback; /* the program's */
	void *data;
	int installed;	 /* ours is in its place */
	int wanted;	 /* the program has asked for the node that is being computed */
	brick_span span; /* of that node */
	uint32_t site;
};

static struct scheduler schedulers[MAX_SCHEDULERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_table(void)
{
	pthread_mutex_lock(&lock);
}

static void unlock_table(void)
{
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(lock_table, unlock_table, unlock_table);
}

/* The entry of a scheduler, a new one if need be; NULL when the table is full. */
static struct scheduler *entry_of(void *address)
{
	struct scheduler *entry = NULL;

	lock_table();
	for (int i = 0; i < MAX_SCHEDULERS && !entry; i++)
		if (schedulers[i].address == address)
			entry = &schedulers[i];
	for (int i = 0; i < MAX_SCHEDULERS && !entry; i++)
		if (!schedulers[i].address)
			entry = &schedulers[i];
	if (entry)
		entry->address = address;
	unlock_table();
	return entry;
}

void callback_scheduler_made(void *scheduler)
{
	struct scheduler *entry = scheduler ? entry_of(scheduler) : NULL;

	if (entry)
		*entry = (struct scheduler){.address = scheduler};
}

static int is_work(struct node_thread *t, const void *tensor)
{
	return !t->engine || !t->shape_at.known ||
	       engine_operation(t->engine, tensor) != OPERATION_EMPTY;
}

/* What the node launches and waits for while it is computed lies in its brick. */
static void node_begin(struct scheduler *s, struct node_thread *t, const void *tensor)
{
	s->site = node_site_slow(t, tensor, NULL, 0);
	s->span = brick_begin_from(t->brick, t->layer, BRICK_SOURCE_CALLBACK);
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
	if (tensor && digests_mode && method_cpu_only())
		digests_take(t, tensor, NULL, s->site);
}

static _Bool on_node(void *tensor, _Bool ask, void *data)
{
	struct scheduler *s = data;
	struct node_thread *t = &node_thread;
	uintptr_t caller = (uintptr_t)__builtin_return_address(0);

	if (!node_thread_knows(t, caller))
		node_thread_prepare(t, caller);
	if (ask) {
		s->wanted = s->callback && s->callback(tensor, 1, s->data);
		if (!s->wanted && (!brick_enabled() || !is_work(t, tensor)))
			return 0;
		phase_mute(1);
		node_end(s, t, NULL); /* nobody has told that it is there */
		if (brick_enabled())
			node_begin(s, t, tensor);
		return 1;
	}
	node_end(s, t, tensor);
	phase_mute(0);
	return s->wanted ? s->callback(tensor, 0, s->data) : 1;
}

void callback_set(set_callback_fn set, void *scheduler, eval_callback_fn callback, void *data)
{
	struct scheduler *entry = entry_of(scheduler);

	if (!entry) {
		set(scheduler, callback, data);
		return;
	}
	entry->callback = callback;
	entry->data = data;
	entry->installed = brick_enabled() && method_is(METHOD_CALLBACK);
	if (entry->installed)
		set(scheduler, on_node, entry);
	else
		set(scheduler, callback, data);
}

void callback_compute_begin(set_callback_fn set, void *scheduler, const void *graph)
{
	struct node_thread *t = &node_thread;
	struct scheduler *entry;

	if (!set || !brick_enabled())
		return;
	uintptr_t code = patched_home((uintptr_t)set);
	if (!node_thread_knows(t, code))
		node_thread_prepare(t, code);
	node_graph_hold(t, graph, 0);
	entry = entry_of(scheduler);
	if (!entry || entry->installed)
		return;
	entry->installed = 1;
	set(scheduler, on_node, entry);
}

void callback_compute_end(void *scheduler)
{
	struct scheduler *entry = entry_of(scheduler);

	if (entry)
		node_end(entry, &node_thread, NULL);
	known_graph_release(node_thread.graph);
	node_sites_of(&node_thread, NULL, 0);
	phase_mute(0);
}
