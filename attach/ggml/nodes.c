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
#include "attach/ggml/notes.h"
#include "attach/ggml/phases.h"
#include "brick/attach.h"
#include "brick/brick.h"

enum { FIRST_SLOTS = 4096, MOST_SLOTS = 1 << 16, HOOK_INTERVAL = 64 };

__thread struct node_thread node_thread __attribute__((tls_model("initial-exec")));
uint32_t graph_generation = 1;
uint32_t brick__counter_used; /* our own copy for brick__now(): the library hides its */

/* A cache whose thread has ended; the list's link lies in its first slot. */
struct free_cache {
	struct free_cache *next;
	uint32_t mask;
};

static struct free_cache *free_caches;
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t exit_key;

static void take_cache(struct node_thread *t)
{
	pthread_mutex_lock(&cache_lock);
	struct free_cache *cache = free_caches;
	if (cache)
		free_caches = cache->next;
	pthread_mutex_unlock(&cache_lock);
	if (cache) {
		t->slot_mask = cache->mask;
		t->slots = (struct site_slot *)cache;
		memset(t->slots, 0, sizeof *t->slots);
		return;
	}
	if (posix_memalign((void **)&t->slots, 64, FIRST_SLOTS * sizeof *t->slots)) {
		t->slots = NULL;
		return;
	}
	memset(t->slots, 0, FIRST_SLOTS * sizeof *t->slots);
	t->slot_mask = FIRST_SLOTS - 1;
}

static void thread_exits(void *argument)
{
	struct node_thread *t = argument;

	node_finish_open();
	if (t->slots) {
		struct free_cache *cache = (struct free_cache *)t->slots;
		uint32_t mask = t->slot_mask;
		pthread_mutex_lock(&cache_lock);
		cache->mask = mask;
		cache->next = free_caches;
		free_caches = cache;
		pthread_mutex_unlock(&cache_lock);
	}
	memset(t, 0, sizeof *t);
}

static void lock_caches(void)
{
	site_table_lock();
	resolve_lock();
	pthread_mutex_lock(&cache_lock);
}

static void unlock_caches(void)
{
	pthread_mutex_unlock(&cache_lock);
	resolve_unlock();
	site_table_unlock();
}

static void unlock_in_child(void)
{
	node_thread.open = 0; /* its time was the parent's */
	unlock_caches();
}

/*
 * Keys are destroyed in the order of their creation: ours comes before the library's, which gives
 * the thread's lane away.
 */
__attribute__((constructor)) static void watch_threads(void)
{
	pthread_key_create(&exit_key, thread_exits);
	pthread_atfork(lock_caches, unlock_caches, unlock_in_child);
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

void node_thread_prepare(struct node_thread *t, uintptr_t caller)
{
	int saved = errno;

	brick__counter_used = brick_clock_get()->source != BRICK_CLOCK_MONOTONIC;
	t->resolve_generation = __atomic_load_n(&resolve_generation, __ATOMIC_ACQUIRE);
	lead_to(t, engine_at(caller));
	if (!t->slots)
		take_cache(t);
	if (!t->hook_left) {
		t->random = (uint32_t)(uintptr_t)t ^ (uint32_t)brick__now();
		t->hook_left = t->hook_interval = HOOK_INTERVAL;
	}
	if (!t->registered)
		t->registered = !pthread_setspecific(exit_key, t);
	if (brick_enabled()) {
		brick_thread_ready();
		notes_engine(t->engine);
	}
	errno = saved;
}

/*
 * What must be the same for a cached node to be the same after graphs were rebuilt: its name, where
 * its sources are, and the shapes of the first two, which its own does not always show.
 */
static uint64_t identity_of(const struct engine *e, const void *node, const void *mul)
{
	uint64_t hash = (uint64_t)(uintptr_t)mul, word;
	const char *name = tensor_field(mul ? mul : node, e->layout.name);
	uint32_t sources = e->layout.source_count < 4 ? e->layout.source_count : 4;

	for (int i = 0; i < TENSOR_NAME_BYTES; i += 8) {
		memcpy(&word, name + i, sizeof word);
		hash = (hash ^ word) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
		if (memchr(name + i, '\0', sizeof word))
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
	return hash;
}

/* Twice as many slots, so that nodes of one graph do not push each other out. */
static void grow_cache(struct node_thread *t)
{
	uint32_t count = (t->slot_mask + 1) * 2;
	struct site_slot *old = t->slots, *more = NULL;
	uint32_t old_count = t->slot_mask + 1;

	if (count > MOST_SLOTS || posix_memalign((void **)&more, 64, count * sizeof *more))
		return;
	memset(more, 0, count * sizeof *more);
	t->slots = more;
	t->slot_mask = count - 1;
	for (uint32_t i = 0; i < old_count; i++) {
		struct site_slot *slot = &more[node_slot_index(t, old[i].node)];
		if (old[i].node)
			slot[slot->node != NULL] = old[i];
	}
	free(old);
}

/* A slot for the node: its own, a stale one, or the second of the two. */
static struct site_slot *slot_for(struct node_thread *t, const void *node, uint32_t generation)
{
	struct site_slot *slot = &t->slots[node_slot_index(t, node)];

	for (int i = 0; i < 2; i++)
		if (slot[i].node == node)
			return &slot[i];
	for (int i = 0; i < 2; i++)
		if (slot[i].generation != generation)
			return &slot[i];
	grow_cache(t);
	slot = &t->slots[node_slot_index(t, node)];
	return slot->node ? slot + 1 : slot;
}

static uint32_t site_of(struct node_thread *t, const void *node, const void *mul, int part)
{
	struct site_pair pair;

	site_table_find(t->engine, node, mul, &pair);
	t->brick = pair.brick;
	t->layer = pair.layer;
	return part ? pair.part : pair.whole;
}

static uint32_t find_site(struct node_thread *t, const void *node, const void *mul, int part,
	uint64_t shape)
{
	uint32_t generation = __atomic_load_n(&graph_generation, __ATOMIC_RELAXED);

	if (!t->slots || !t->engine)
		return t->engine ? site_of(t, node, mul, part) : 0;
	struct site_slot *slot = slot_for(t, node, generation);
	uint64_t identity = t->has_layout ? identity_of(t->engine, node, mul) : 0;
	if (t->has_layout && slot->node == node && slot->shape == shape &&
		slot->identity == identity) {
		slot->generation = generation;
		return slot->site;
	}
	uint32_t site = site_of(t, node, mul, part);
	if (site)
		*slot = (struct site_slot){node, shape, identity, generation, site};
	return site;
}

uint32_t node_site_slow(struct node_thread *t, const void *node, const void *mul, int part,
	uint64_t shape)
{
	if (!brick_thread_ready())
		notes_session(t->engine);
	return find_site(t, node, mul, part, shape);
}

void node_finish(struct node_thread *t, uint64_t now)
{
	const struct brick_sample sample = {
		.begin = t->begin,
		.end = t->end ? t->end : now,
		.wait = t->wait,
		.inner = t->inner,
		.site = t->site,
		.brick = t->brick,
		.layer = t->layer,
		.source = BRICK_SOURCE_TSC,
	};

	t->open = 0;
	brick_record_sample(&sample);
}

static void record_span(uint16_t brick, uint64_t begin, uint64_t end)
{
	const struct brick_sample sample = {
		.begin = begin, .end = end, .brick = brick, .layer = -1, .source = BRICK_SOURCE_TSC};

	brick_record_sample(&sample);
}

void node_graph_started(struct node_thread *t, int threads)
{
	uint64_t entered = t->graph_entered;

	t->graph_entered = 0;
	if (threads > 1)
		record_span(phase_brick(PHASE_THREAD_START), entered, brick__now());
}

void node_graph_begin(struct graph_scope *outer)
{
	struct node_thread *t = &node_thread;

	node_finish_open();
	*outer = (struct graph_scope){t->graph_entered, t->started, t->fused, t->in_graph};
	t->in_graph = 1;
	t->started = t->fused = 0;
	t->graph_entered = brick__now();
}

void node_graph_end(const struct graph_scope *outer, const void *graph)
{
	struct node_thread *t = &node_thread;

	if (t->open) {
		uint64_t now = brick__now(), left = t->end + t->wait;
		int joined = t->end && !t->alone;
		node_finish(t, now);
		if (joined)
			record_span(phase_brick(PHASE_THREAD_JOIN), left, now);
	}
	notes_graph(t->engine, graph, t->started, t->fused);
	t->graph_entered = outer->entered;
	t->started = outer->started;
	t->fused = outer->fused;
	t->in_graph = outer->in_graph;
}

void node_hook_timed(struct node_thread *t, uint64_t ticks)
{
	brick_hook_cost(t->hook_interval, ticks);
	/* Not a fixed step, which could keep in time with the graph. */
	t->random = t->random * 1664525u + 1013904223u;
	t->hook_interval = HOOK_INTERVAL / 2 + (t->random >> 26);
	t->hook_left = t->hook_interval;
}
