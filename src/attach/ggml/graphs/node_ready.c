/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads' state (node_ready.h). Without an attached pool, an engine starts and ends threads with
 * every graph, so the memory of an ended thread is kept in a list for the next thread.
 */
#include "attach/ggml/graphs/node_ready.h"

#include <stdlib.h>
#include <string.h>
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/graphs/known_graphs.h"
#include "attach/ggml/nodes/node_run.h"
#include "attach/ggml/nodes/site_table.h"
#include "attach/ggml/nodes/slots.h"
#include "base/scope.h"
#include "base/thread.h"
#include "brick/brick.h"

enum {
	EVENTS = 1024, /* per thread; a full array is recorded and reused */
	SLOW_NS = 40,  /* node_thread.slow_call */
};

/* The memory of a thread; in free_memory after the thread's end. */
struct thread_memory {
	struct thread_memory *next;
	struct brick_timing events[EVENTS];
};

static struct thread_memory *free_memory;
pthread_mutex_t node_memory_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct thread_exit node_ready_exit_of_thread;
static pthread_once_t clock_once = PTHREAD_ONCE_INIT;

/* The events of a thread for which malloc() failed: each is recorded at once. */
static __thread struct brick_timing one_event[1] __attribute__((tls_model("initial-exec")));
static __thread struct thread_memory *thread_memory __attribute__((tls_model("initial-exec")));

static void node_ready_thread_exits(void *argument)
{
	struct node_thread *t = argument;

	node_run_leave(t);
	node_flush();
	if (thread_memory) {
		pthread_mutex_lock(&node_memory_mutex);
		thread_memory->next = free_memory;
		free_memory = thread_memory;
		pthread_mutex_unlock(&node_memory_mutex);
		thread_memory = NULL;
	}
	memset(t, 0, sizeof(*t));
	t->run = t->run_from = NODE_RUN_NONE;
}

/* exit() on this thread; the library's own end comes after. */
__attribute__((destructor)) static void process_exits(void)
{
	node_flush();
}

/*
 * Keys are destroyed in the order of their creation: ours comes before the library's, which gives
 * the thread's lane away.
 */
__attribute__((constructor)) static void node_ready_watch_threads(void)
{
	thread_exit_create(&node_ready_exit_of_thread, node_ready_thread_exits);
}

/* Stand-ins for functions that are not found anywhere, although a hook for them was called. */
static _Bool no_extra_forward(const struct compute_params *params, void *node)
{
	(void)params, (void)node;
	return 0;
}

static void no_fused_forward(const struct compute_params *params, void *norm, void *mul)
{
	(void)params, (void)norm, (void)mul;
}

static void no_barrier(void *pool)
{
	(void)pool;
}

static _Bool no_is_empty(const void *tensor)
{
	(void)tensor;
	return 0;
}

static void lead_to(struct node_thread *t, const struct engine *e, uintptr_t caller)
{
	static const struct engine none;
	const struct engine *from = e ? e : &none;

	node_run_leave(t); /* the run belongs to the former engine */
	t->is_whole = 0;
	t->engine = e;
	t->extra_forward = from->extra_forward;
	t->fused_forward = from->fused_forward;
	t->barrier = from->barrier;
	t->is_empty = from->is_empty;
	/* An engine whose compute_forward() stands in calls none of these elsewhere. */
	if (!e || !e->stands_in) {
		/* The engine calls these without defining them: any object may. */
		if (!t->extra_forward)
			t->extra_forward =
				(extra_forward_fn)resolve_slow(GGML_NODE_FORWARD, caller);
		if (!t->barrier)
			t->barrier = (barrier_fn)resolve_slow(GGML_BARRIER, caller);
		if (!t->is_empty)
			t->is_empty = (is_empty_fn)resolve_slow(GGML_IS_EMPTY, caller);
		/* Most engines have no fused function, and then do not call it. */
		if (!t->fused_forward && !e)
			t->fused_forward =
				(fused_forward_fn)resolve_slow(GGML_FUSED_FORWARD, caller);
	}
	if (!t->extra_forward)
		t->extra_forward = no_extra_forward;
	if (!t->barrier)
		t->barrier = no_barrier;
	if (!t->is_empty)
		t->is_empty = no_is_empty;
	if (!t->fused_forward)
		t->fused_forward = no_fused_forward;
	slots_skip_is_empty(e);
	t->low = from->object.low;
	t->bytes = from->is_proved ? from->object.bytes : 0; /* 0: no fast path for it */
	t->shape_at = engine_shape_offsets(from);
}

static void init_clock(void)
{
	brick__counter_used = brick_clock_get()->source != BRICK_CLOCK_MONOTONIC;
}

void node_thread_init(struct node_thread *t)
{
	KEEP_ERRNO();

	pthread_once(&clock_once, init_clock);
	node_cost_init(&t->hook_cost, (uint32_t)(uintptr_t)t ^ (uint32_t)brick__now());
	t->hook_left = node_cost_draw(&t->hook_cost);
	t->slow_call = (uint32_t)(brick_clock_get()->frequency / 1000 * SLOW_NS / 1000000);
	t->slow_begin = 3 * t->slow_call;
	t->ready = 1;
	pthread_mutex_lock(&node_memory_mutex);
	struct thread_memory *memory = free_memory;
	if (memory)
		free_memory = memory->next;
	pthread_mutex_unlock(&node_memory_mutex);
	/* memset(): page faults happen now, not between nodes. */
	if (!memory && (memory = malloc(sizeof(*memory))))
		memset(memory, 0, sizeof(*memory));
	thread_memory = memory;
	t->events = memory ? memory->events : one_event;
	t->event_capacity = memory ? EVENTS : 1;
	node_sites_of(t, NULL, 0);
	site_table_ready();
	thread_exit_set(&node_ready_exit_of_thread, t);
	if (brick_enabled())
		brick_thread_ready();
}

bool node_thread_prepare(struct node_thread *t, uintptr_t caller)
{
	KEEP_ERRNO();
	uint32_t generation = shared_get(&attach_shared.resolve_generation);

	node_thread_ready(t);
	node_drop_former(t);
	const struct engine *e = engine_at(caller);
	if (!e || e != t->engine || t->resolve_generation != generation) {
		t->resolve_generation = generation;
		lead_to(t, e, caller);
	}
	if (!e || !e->is_proved)
		return false;
	if (brick_enabled())
		notes_engine(e, &t->session);
	return true;
}
