/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow half of nodes.h: getting a thread ready, its cache of sites, samples, and the begin and
 * end of graphs. Threads come and go with every graph where no pool is attached, so their caches
 * are kept in a list and handed to the next one.
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

enum {
	FIRST_SLOTS = 4096,
	MOST_SLOTS = 1 << 16,
	EVENTS = 1024,
	HOOK_INTERVAL = 64,
	AGREEMENTS = 2, /* graphs that must end at the same barrier before it is believed */
};

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

/* For a thread without memory: never a match, and room for one event before it must be flushed. */
static struct site_slot no_slots[2];
static __thread struct brick_timing one_event[1] __attribute__((tls_model("initial-exec")));
static __thread struct thread_memory *thread_memory __attribute__((tls_model("initial-exec")));

static struct site_slot *new_slots(uint32_t count)
{
	void *slots;

	if (posix_memalign(&slots, 64, count * sizeof(struct site_slot)))
		return NULL;
	return memset(slots, 0, count * sizeof(struct site_slot));
}

static struct thread_memory *new_memory(void)
{
	void *place;

	if (posix_memalign(&place, 64, sizeof(struct thread_memory)))
		return NULL;
	struct thread_memory *memory = memset(place, 0, sizeof *memory);
	memory->slots = new_slots(FIRST_SLOTS);
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
	t->slots = memory ? memory->slots : no_slots;
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

/* Stand-ins for what an engine does not have, although it has just been called. */
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

static void lead_to(struct node_thread *t, const struct engine *e)
{
	t->engine = e;
	t->extra_forward = e && e->extra_forward ? e->extra_forward : no_extra_forward;
	t->fused_forward = e && e->fused_forward ? e->fused_forward : no_fused_forward;
	t->barrier = e && e->barrier ? e->barrier : no_barrier;
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
static void greet(struct node_thread *t)
{
	uint32_t session = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (t->session == session || !t->engine || brick_thread_ready())
		return;
	t->session = session;
	notes_engine(t->engine);
	method_note();
}

void node_thread_init(struct node_thread *t)
{
	int saved = errno;

	brick__counter_used = brick_clock_get()->source != BRICK_CLOCK_MONOTONIC;
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
	lead_to(t, engine_at(caller));
	if (brick_enabled())
		greet(t);
	errno = saved;
}

/*
 * What must be the same for a cached node to be the same after graphs were rebuilt: its name, where
 * its sources are, and the shapes of the first two, which its own does not always show.
 */
static uint32_t identity_of(const struct engine *e, const void *node, const void *mul)
{
	uint64_t hash = (uint64_t)(uintptr_t)mul, word;
	const char *name = tensor_field(mul ? mul : node, e->layout.name);
	uint32_t sources = e->layout.source_count < 4 ? e->layout.source_count : 4;

	for (int i = 0; i < TENSOR_NAME_BYTES; i += 8) {
		memcpy(&word, name + i, sizeof word);
		hash = (hash ^ word) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
		if (memchr(&word, '\0', sizeof word))
			break;
	}
	for (uint32_t i = 0; i < sources; i++) {
		const void *source = tensor_source(&e->layout, node, i);
		hash = (hash ^ (uint64_t)(uintptr_t)source) * 0xc4ceb9fe1a85ec53ull;
		for (int k = 0; source && i < 2 && k < TENSOR_DIMS; k++)
			hash = (hash ^ (uint64_t)tensor_ne(&e->layout, source)[k]) *
				0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	return (uint32_t)(hash >> 32);
}

/* First of the two slots that a node may be in. */
static uint32_t slot_index(const struct node_thread *t, const void *node)
{
	return (uint32_t)(((uint64_t)(uintptr_t)node * 0x9e3779b97f4a7c15ull) >> 32) &
		t->slot_mask & ~1u;
}

/* Twice as many slots, so that nodes of one graph do not push each other out. */
static void grow_slots(struct node_thread *t)
{
	uint32_t count = t->slot_mask + 1;
	struct site_slot *old = t->slots;
	struct site_slot *more = count * 2 <= MOST_SLOTS ? new_slots(count * 2) : NULL;

	if (!more)
		return;
	t->slots = more;
	t->slot_mask = count * 2 - 1;
	t->slot_now = t->slot_next = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct site_slot *slot = &more[slot_index(t, old[i].node)];
		old[i].next = 0;
		if (old[i].node)
			slot[slot->node != NULL] = old[i];
	}
	free(old);
}

/* Its own slot, a stale one, or the second of its two when both are in use and no more can be had. */
static uint32_t slot_for(struct node_thread *t, const void *node, uint32_t generation)
{
	uint32_t index = slot_index(t, node);
	const struct site_slot *slot = &t->slots[index];

	for (uint32_t i = 0; i < 2; i++)
		if (slot[i].node == node)
			return index + i;
	for (uint32_t i = 0; i < 2; i++)
		if (slot[i].generation != generation)
			return index + i;
	grow_slots(t);
	index = slot_index(t, node);
	return index + (t->slots[index].node != NULL);
}

static uint32_t site_of(struct node_thread *t, const void *node, const void *mul, int part)
{
	struct site_found found;

	site_table_find(t->engine, node, mul, part, &found);
	t->brick = found.brick;
	t->layer = found.layer;
	return found.site;
}

/* Make the slot hold the node as it is now; 0: there is no site for it. */
static uint32_t fill_slot(struct node_thread *t, struct site_slot *slot, const void *node,
	const void *mul, int part, uint64_t shape, uint32_t generation)
{
	uint32_t identity = t->has_layout ? identity_of(t->engine, node, mul) : 0;

	if (t->has_layout && slot->node == node && slot->shape == shape &&
		slot->identity == identity) {
		slot->generation = generation;
		return slot->site;
	}
	uint32_t site = site_of(t, node, mul, part);
	if (site)
		*slot = (struct site_slot){node, shape, generation, identity, site, slot->next};
	return site;
}

uint32_t node_site_slow(struct node_thread *t, const void *node, const void *mul, int part)
{
	uint64_t shape = t->has_layout ? node_shape(t, node, part) : (uint64_t)part;
	uint32_t generation = shared_get(&attach_shared.graph_generation);

	greet(t);
	if (!t->engine)
		return 0;
	if (t->slots == no_slots)
		return site_of(t, node, mul, part);
	uint32_t index = slot_for(t, node, generation);
	struct site_slot *slot = &t->slots[index];
	uint32_t site = slot->site;
	if (slot->node != node || slot->shape != shape || slot->generation != generation)
		site = fill_slot(t, slot, node, mul, part, shape, generation);
	t->slots[t->slot_now].next = index;
	t->slot_now = index;
	t->slot_next = slot->next;
	return site;
}

void node_record(struct node_thread *t, uint64_t end)
{
	const struct brick_sample sample = {
		.begin = t->begin,
		.end = end,
		.wait = t->wait,
		.inner = t->inner,
		.site = t->site,
		.brick = t->brick,
		.layer = t->layer,
		.source = BRICK_SOURCE_TSC,
	};

	node_flush(t);
	brick_record_sample(&sample);
}

/* Record what was collected, and what the timed ones among them cost with their share of it. */
static void record_marked(struct node_thread *t, uint32_t count)
{
	uint64_t begin = brick__now();

	brick_record_timings(t->events, count);
	uint64_t share = (brick__now() - begin) / count;
	for (uint32_t i = 0; i < count; i++)
		if (t->events[i].mark)
			node_hook_timed(t->events[i].mark + share);
	t->marked = t->open && t->cost;
}

/*
 * Calls that were all timed are reported as one in HOOK_INTERVAL of average length, so that they
 * weigh as much as those of which only one in as many was.
 */
static void report_cost(struct node_thread *t)
{
	while (t->cost_calls >= HOOK_INTERVAL) {
		uint64_t mean = t->cost_ticks / t->cost_calls;
		brick_hook_cost(HOOK_INTERVAL, mean);
		t->cost_calls -= HOOK_INTERVAL;
		t->cost_ticks -= mean * HOOK_INTERVAL;
	}
}

void node_flush(struct node_thread *t)
{
	uint32_t count = t->event_count;

	t->event_count = 0;
	if (!count)
		return;
	if (t->marked) {
		record_marked(t, count);
		return;
	}
	uint64_t begin = t->cost_ticks ? brick__now() : 0;
	brick_record_timings(t->events, count);
	if (begin) {
		t->cost_ticks += brick__now() - begin;
		t->cost_calls += count;
		report_cost(t);
	}
}

void node_settle_slow(struct node_thread *t)
{
	if (t->open)
		node_finish(t, t->end ? t->end : brick__now());
	node_flush(t);
}

static void record_span(uint16_t brick, uint64_t begin, uint64_t end)
{
	const struct brick_sample sample = {
		.begin = begin, .end = end, .brick = brick, .layer = -1, .source = BRICK_SOURCE_TSC};

	brick_record_sample(&sample);
}

/* Does every graph of this engine end at the same barrier? Learnt where the end can be seen. */
static void learn_final_barrier(const struct engine *e, uintptr_t barrier)
{
	struct barrier_lore *lore = e->lore;

	if (!barrier || __atomic_load_n(&lore->refuted, __ATOMIC_RELAXED))
		return;
	uintptr_t known = __atomic_load_n(&lore->barrier, __ATOMIC_RELAXED);
	if (!known)
		__atomic_store_n(&lore->barrier, barrier, __ATOMIC_RELAXED);
	else if (known == barrier)
		__atomic_add_fetch(&lore->agreed, 1, __ATOMIC_RELAXED);
	else
		__atomic_store_n(&lore->refuted, 1, __ATOMIC_RELAXED);
}

static uintptr_t final_barrier_of(const struct engine *e)
{
	const struct barrier_lore *lore = e->lore;

	if (__atomic_load_n(&lore->refuted, __ATOMIC_RELAXED) ||
		__atomic_load_n(&lore->agreed, __ATOMIC_RELAXED) < AGREEMENTS)
		return 0;
	return __atomic_load_n(&lore->barrier, __ATOMIC_RELAXED);
}

void node_final_refuted(struct node_thread *t)
{
	if (t->final_barrier && t->engine)
		__atomic_store_n(&t->engine->lore->refuted, 1, __ATOMIC_RELAXED);
	t->final_barrier = 0;
}

void node_graph_enter(struct node_thread *t, int threads, uint32_t serial)
{
	uint64_t entered = t->graph_entered;

	t->graph_serial = serial;
	t->graph_entered = 0;
	t->final_barrier = t->engine ? final_barrier_of(t->engine) : 0;
	node_flush(t);
	if (entered && threads > 1)
		record_span(phase_brick(PHASE_THREAD_START), entered, brick__now());
	if (!method_records_nodes())
		t->mode = NODE_MODE_OFF;
	else if (threads == 1 && t->has_layout && brick__counter_used)
		t->mode = NODE_MODE_ALONE;
	else
		t->mode = NODE_MODE_TEAM;
}

/* The MUL that the engine will compute together with this RMS_NORM; NULL when it does not. */
static const void *fused_with(const struct engine *e, const void *norm, const void *next)
{
	if (!e->fused_forward || engine_operation(e, norm) != OPERATION_RMS_NORM ||
		engine_operation(e, next) != OPERATION_MUL)
		return NULL;
	return tensor_source(&e->layout, next, 0) == norm ||
			tensor_source(&e->layout, next, 1) == norm
		? next
		: NULL;
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

	if (!method_is(METHOD_NODES) || (t->walked == generation && t->walked_graph == graph) || !e || !t->has_layout ||
		!e->graph_node || !e->graph_node_count)
		return;
	t->walked = generation;
	t->walked_graph = graph;
	int count = e->graph_node_count((void *)(uintptr_t)graph);
	for (int i = 0; i < count; i++) {
		const void *node = e->graph_node(graph, i), *mul = NULL;
		if (!node || engine_operation(e, node) == OPERATION_EMPTY)
			continue;
		if (i + 1 < count)
			mul = fused_with(e, node, e->graph_node(graph, i + 1));
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

	greet(t);
	node_settle();
	walk_graph(t, graph);
	*outer = (struct graph_scope){t->graph_entered, t->started, t->fused, t->in_graph};
	t->in_graph = 1;
	t->started = t->fused = 0;
	__atomic_add_fetch(&attach_shared.graph_serial, 1, __ATOMIC_RELAXED);
	t->graph_entered = brick__now();
}

void node_graph_end(const struct graph_scope *outer, const void *graph)
{
	struct node_thread *t = &node_thread;

	if (t->open) {
		uint64_t now = brick__now(), joined = t->end ? t->end + t->wait : 0;
		node_settle();
		if (joined) {
			record_span(phase_brick(PHASE_THREAD_JOIN), joined, now);
			learn_final_barrier(t->engine, t->last_barrier);
		}
	}
	notes_graph(t->engine, graph, t->started, t->fused);
	t->begun += t->started;
	t->graph_entered = outer->entered;
	t->started = outer->started;
	t->fused = outer->fused;
	t->in_graph = outer->in_graph;
}

void node_hook_draw(struct node_thread *t)
{
	/* Not a fixed step, which could keep in time with the graph. */
	t->random = t->random * 1664525u + 1013904223u;
	t->hook_left = HOOK_INTERVAL / 2 + 1 + (t->random >> 26) % 63;
	t->hook_calls += t->hook_left;
}

void node_hook_timed(uint64_t ticks)
{
	struct node_thread *t = &node_thread;

	brick_hook_cost(t->hook_calls, ticks);
	t->hook_calls = 0;
}
