/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads of nodes.h: getting one ready for the engine that it runs in, and taking leave of it.
 * Threads come and go with every graph where no pool is attached, so what one has allocated is kept
 * in a list and handed to the next. Also holds all locks of the interposer's over a fork.
 */
#include "attach/ggml/nodes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/method.h"
#include "attach/ggml/notes.h"
#include "attach/ggml/phases.h"
#include "attach/ggml/rule_set.h"
#include "attach/ggml/site_table.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum { FIRST_SLOTS = 4096, EVENTS = 1024 };

__thread struct node_thread node_thread __attribute__((tls_model("initial-exec")));
struct attach_shared attach_shared = {1, 1, 1, METHOD_NODES};

/* What a thread allocates, kept when it ends for the next one. */
struct thread_memory {
	struct thread_memory *next;
	struct site_slot *slots;
	uint32_t slot_mask;
	struct brick_timing events[EVENTS];
};

static struct thread_memory *free_memory;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t exit_key;
static pthread_once_t clock_once = PTHREAD_ONCE_INIT;

/* For a thread without memory: room for one event before it must be flushed. */
static __thread struct brick_timing one_event[1] __attribute__((tls_model("initial-exec")));
static __thread struct thread_memory *thread_memory __attribute__((tls_model("initial-exec")));

static struct thread_memory *new_memory(void)
{
	void *place;

	if (posix_memalign(&place, 64, sizeof(struct thread_memory)))
		return NULL;
	struct thread_memory *memory = memset(place, 0, sizeof *memory);
	memory->slots = node_slots_create(FIRST_SLOTS);
	memory->slot_mask = FIRST_SLOTS - 1;
	if (!memory->slots) {
		free(memory);
		return NULL;
	}
	return memory;
}

static void take_memory(struct node_thread *t)
{
	pthread_mutex_lock(&memory_lock);
	struct thread_memory *memory = free_memory;
	if (memory)
		free_memory = memory->next;
	pthread_mutex_unlock(&memory_lock);
	if (!memory)
		memory = new_memory();
	thread_memory = memory;
	t->slots = memory ? memory->slots : node_no_slots;
	t->slot_mask = memory ? memory->slot_mask : 1;
	t->events = memory ? memory->events : one_event;
	t->event_room = memory ? EVENTS : 1;
}

static void give_memory(struct node_thread *t)
{
	struct thread_memory *memory = thread_memory;

	if (!memory)
		return;
	memory->slots = t->slots;
	memory->slot_mask = t->slot_mask;
	pthread_mutex_lock(&memory_lock);
	memory->next = free_memory;
	free_memory = memory;
	pthread_mutex_unlock(&memory_lock);
	thread_memory = NULL;
}

static void thread_exits(void *argument)
{
	struct node_thread *t = argument;

	node_settle();
	give_memory(t);
	memset(t, 0, sizeof *t);
}

/* exit() on this thread; the library's own end comes after. */
__attribute__((destructor)) static void process_exits(void)
{
	node_settle();
}

static void lock_all(void)
{
	site_table_lock();
	resolve_lock();
	pthread_mutex_lock(&memory_lock);
}

static void unlock_all(void)
{
	pthread_mutex_unlock(&memory_lock);
	resolve_unlock();
	site_table_unlock();
}

static void unlock_in_child(void)
{
	node_thread.open = 0; /* its time was the parent's */
	node_thread.event_count = 0;
	phase_forget();
	unlock_all();
}

/*
 * Keys are destroyed in the order of their creation: ours comes before the library's, which gives
 * the thread's lane away.
 */
__attribute__((constructor)) static void watch_threads(void)
{
	pthread_key_create(&exit_key, thread_exits);
	pthread_atfork(lock_all, unlock_all, unlock_in_child);
}

/* Stand-ins for what cannot be found anywhere, although it has just been called. */
static _Bool no_extra_forward(const struct compute_params *params, void *node)
{
	(void)params;
	(void)node;
	return 0;
}

static void no_fused_forward(const struct compute_params *params, void *norm, void *mul)
{
	(void)params;
	(void)norm;
	(void)mul;
}

static void no_barrier(void *pool)
{
	(void)pool;
}

static void lead_anywhere(struct node_thread *t, uintptr_t caller)
{
	static struct resolve_symbol extra = {"ggml_cpu_extra_compute_forward", NULL};
	static struct resolve_symbol fused = {"ggml_compute_forward_rms_norm_mul_fused", NULL};
	static struct resolve_symbol barrier = {"ggml_barrier", NULL};

	if (!t->extra_forward)
		t->extra_forward = (extra_forward_fn)resolve_slow(&extra, caller);
	if (!t->extra_forward)
		t->extra_forward = no_extra_forward;
	if (!t->barrier)
		t->barrier = (barrier_fn)resolve_slow(&barrier, caller);
	if (!t->barrier)
		t->barrier = no_barrier;
	/* Most engines do not have it, and then do not call it. */
	if (!t->fused_forward && !t->engine)
		t->fused_forward = (fused_forward_fn)resolve_slow(&fused, caller);
	if (!t->fused_forward)
		t->fused_forward = no_fused_forward;
}

static void lead_to(struct node_thread *t, const struct engine *e, uintptr_t caller)
{
	t->engine = e;
	t->extra_forward = e ? e->extra_forward : NULL;
	t->fused_forward = e ? e->fused_forward : NULL;
	t->barrier = e ? e->barrier : NULL;
	lead_anywhere(t, caller);
	t->low = e ? e->object.low : 0;
	t->bytes = e ? e->object.bytes : 0;
	t->has_layout = e && e->layout_known;
	if (t->has_layout) {
		t->ne_offset = e->layout.ne;
		t->op_offset = e->layout.op;
		t->type_offset = e->layout.type;
	}
}

/* The session on this thread is a new one, or its first: its notes shall name the engine. */
void node_thread_greet(struct node_thread *t)
{
	uint32_t session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (t->session == session || !t->engine || brick_thread_ready())
		return;
	t->session = session;
	notes_engine(t->engine);
	method_note();
}

static void init_clock(void)
{
	brick__counter_used = brick_clock_get()->source != BRICK_CLOCK_MONOTONIC;
	node_cost_init();
}

void node_thread_init(struct node_thread *t)
{
	int saved = errno;

	pthread_once(&clock_once, init_clock);
	t->random = (uint32_t)(uintptr_t)t ^ (uint32_t)brick__now();
	node_hook_draw(t);
	t->ready = 1;
	take_memory(t);
	rule_set_ready();
	pthread_setspecific(exit_key, t);
	if (brick_enabled())
		brick_thread_ready();
	errno = saved;
}

void node_thread_prepare(struct node_thread *t, uintptr_t caller)
{
	int saved = errno;

	node_thread_ready(t);
	t->resolve_generation = shared_get(&attach_shared.resolve_generation);
	lead_to(t, engine_at(caller), caller);
	if (brick_enabled())
		node_thread_greet(t);
	errno = saved;
}
