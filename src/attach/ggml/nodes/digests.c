/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests of nodes (digests.h). A node's result is complete when its whole team has met behind it,
 * and any thread's next node may overwrite it. All threads of a graph see the same graph_number, so
 * they agree on which node is its first.
 */
#include "attach/ggml/nodes/digests.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/nodes/node_run.h"
#include "base/hash.h"
#include "brick/brick.h"
#include "lib/session/registry_tables.h"
#include "lib/sys/environment.h"

enum {
	MAX_VIEWS = 16, /* in a chain; a longer chain ends at its 16th view */
	ALIASES = 1024, /* caches that are told apart */
};

/* What a thread remembers of the node that it began last. */
struct digest_thread {
	uint32_t graph;
	const void *result; /* NULL: none in this graph */
	const void *norm;   /* computed along with it, or NULL */
	void *pool;	    /* of its team; NULL: it has met at no barrier yet */
};

uint32_t digests_mode;

static __thread struct digest_thread digests_own __attribute__((tls_model("initial-exec")));
static uint32_t graph_number; /* of the outermost graph, counted from 1 */
static uint32_t suspended;    /* graphs inside of a node; while there is one, nothing is digested */
static pthread_mutex_t digests_graphs = PTHREAD_MUTEX_INITIALIZER;
static __thread uint32_t digests_depth __attribute__((tls_model("initial-exec")));

/*
 * A hash table of caches: the tensors that no node has as its result. Under digests_graphs. An
 * entry with `cache` NULL is free.
 */
static struct alias {
	const void *cache, *written; /* `written`: the node whose result was written last */
} digests_aliases[ALIASES];

static void forget_in_child(void)
{
	pthread_mutex_init(&digests_graphs, NULL);
	suspended = 0;
	digests_depth = 0;
	digests_own = (struct digest_thread){0, NULL, NULL, NULL};
}

ENVIRONMENT_READER(digests_read_environment)
{
	digests_mode = capture_wants("digest-all") ? DIGESTS_ALL
		       : capture_wants("digest")   ? DIGESTS_KNOWN
						   : DIGESTS_OFF;
	static bool is_watched;
	if (digests_mode && !is_watched)
		is_watched = !pthread_atfork(NULL, NULL, forget_in_child);
}

void digests_graph_begin(void)
{
	if (!digests_mode)
		return;
	if (digests_depth++) {
		__atomic_add_fetch(&suspended, 1, __ATOMIC_SEQ_CST);
		return;
	}
	pthread_mutex_lock(&digests_graphs);
	__atomic_add_fetch(&graph_number, 1, __ATOMIC_SEQ_CST);
}

static uint32_t graph_now(void)
{
	return __atomic_load_n(&suspended, __ATOMIC_SEQ_CST)
		       ? 0
		       : __atomic_load_n(&graph_number, __ATOMIC_SEQ_CST);
}

void digests_graph_end(struct node_thread *t)
{
	if (!digests_depth)
		return;
	if (digests_depth == 1) {
		/* the last node, which has ended as its graph has */
		const void *result = digests_own.graph == graph_now() ? digests_own.result : NULL;
		digests_own.result = NULL;
		if (result && brick_digests_wanted()) {
			node_flush();
			digests_take(t, result, digests_own.norm, t->site);
		}
		pthread_mutex_unlock(&digests_graphs);
	} else {
		__atomic_sub_fetch(&suspended, 1, __ATOMIC_SEQ_CST);
	}
	digests_depth--;
}

void digests_barrier(void *pool)
{
	digests_own.pool = pool;
}

void digests_node_begin(struct node_thread *t, const struct compute_params *params,
	const void *node, const void *mul)
{
	uint32_t graph = graph_now();

	if (!graph)
		return;
	if (digests_own.graph != graph)
		digests_own = (struct digest_thread){graph, NULL, NULL, NULL};
	int team = params->nth > 1;
	if (digests_own.result && (!team || digests_own.pool)) {
		if (team)
			t->barrier(digests_own.pool);
		if (!params->ith && brick_digests_wanted() && t->mode != NODE_MODE_OFF) {
			node_flush();
			digests_take(t, digests_own.result, digests_own.norm, t->site);
		}
		if (team)
			t->barrier(digests_own.pool);
	}
	digests_own.result = mul ? mul : node;
	digests_own.norm = mul ? node : NULL;
}

/* One node. */

/* The entry of a cache, or a free one for it; NULL: the table is full. */
static struct alias *alias_of(const void *cache)
{
	size_t at = (size_t)hash_pointer(cache) % ALIASES;

	for (size_t i = 0; i < ALIASES; i++, at = (at + 1) % ALIASES)
		if (!digests_aliases[at].cache || digests_aliases[at].cache == cache)
			return &digests_aliases[at];
	return NULL;
}

/*
 * The node or leaf that a chain of views looks at. For a cache: the node that was written into it
 * last.
 */
static const void *origin(const struct engine *e, const void *tensor)
{
	for (int i = 0; tensor && i < MAX_VIEWS; i++) {
		const void *from = tensor_source(&e->layout, tensor, 0);
		if (engine_executes(e, tensor))
			return tensor;
		if (!from) {
			const struct alias *alias = alias_of(tensor);
			return alias && alias->cache ? alias->written : tensor;
		}
		tensor = from;
	}
	return tensor;
}

/*
 * True if the node writes into a cache: its result is the whole cache, most of which other nodes
 * have written, so it is not digested. Remembers what is written.
 */
static bool note_cache_write(const struct engine *e, const void *node)
{
	const void *cache = tensor_view_source(&e->layout, node);
	const char *operation = e->op_desc ? e->op_desc(node) : "";

	if (!cache || (strcmp(operation, "SET_ROWS") && strcmp(operation, "CPY")))
		return false;
	struct alias *alias = alias_of(cache);
	if (alias)
		*alias = (struct alias){cache, origin(e, tensor_source(&e->layout, node, 0))};
	return true;
}

static uint32_t dtype_of(int32_t type)
{
	return type == TENSOR_TYPE_F32	  ? BRICK_DTYPE_F32
	       : type == TENSOR_TYPE_F16  ? BRICK_DTYPE_F16
	       : type == TENSOR_TYPE_BF16 ? BRICK_DTYPE_BF16
					  : BRICK_DTYPE_OTHER;
}

/* False: the strides read are wrong, as the engine gives the tensor another size. */
static bool read_strides(const struct engine *e, const void *node, struct brick_tensor *t)
{
	uint64_t bytes = t->dtype == BRICK_DTYPE_F32 ? 4 : 2;

	memcpy(t->nb, tensor_nb(&e->layout, node), sizeof(t->nb));
	for (int i = 0; i < 4; i++) {
		uint64_t extent;
		if (!t->ne[i] || __builtin_mul_overflow(t->ne[i] - 1, t->nb[i], &extent))
			return false;
		bytes += extent;
	}
	return bytes == e->byte_count(node);
}

void digests_take(struct node_thread *thread, const void *node, const void *norm, uint32_t site)
{
	const struct engine *e = thread->engine;
	struct brick_tensor t = {
		.size = sizeof(struct brick_tensor), .output = (uint64_t)(uintptr_t)node};

	if (!digests_mode || !e || !shape_offsets_known(&thread->shape_at) || !e->get_data ||
		!e->byte_count || !engine_executes(e, node) || note_cache_write(e, node))
		return;
	const struct brick_session_site *known = brick__site(site);
	if (!known || (digests_mode != DIGESTS_ALL && known->flags & BRICK_SITE_UNKNOWN_OPERATION))
		return;
	t.dtype = dtype_of(tensor_int32(node, e->layout.type));
	memcpy(t.ne, tensor_ne(&e->layout, node), sizeof(t.ne));
	t.data = e->get_data(node);
	if (t.dtype != BRICK_DTYPE_OTHER && (!t.data || !read_strides(e, node, &t)))
		return;
	for (uint32_t i = 0, inputs = 0; i < e->layout.source_count; i++) {
		const void *source = tensor_source(&e->layout, node, i);
		if (!source)
			continue;
		if (source == norm)
			source = tensor_source(&e->layout, norm, 0);
		int32_t type = tensor_int32(source, e->layout.type);
		if (e->block_size(type) > 1)
			t.flags |= BRICK_TENSOR_QUANTIZED;
		else if (type == TENSOR_TYPE_F16 || type == TENSOR_TYPE_BF16)
			t.flags |= BRICK_TENSOR_HALF;
		if (inputs < BRICK_DIGEST_INPUTS)
			t.inputs[inputs++] = (uint64_t)(uintptr_t)origin(e, source);
	}
	brick_digest_site(site, &t);
}
