/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA graphs (cuda_graphs.h). A node gets the brick that was open when it was made; its copies in
 * an executable graph inherit it. CUPTI may announce a copy both as made and as copied, in either
 * order, so during an instantiation only the announcement as copied counts. Destroyed nodes are
 * removed when there are twice as many nodes as after the last removal.
 */
#include "attach/cuda/cuda_graphs.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include "attach/cuda/cupti.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/scope.h"
#include "brick/abi/session.h"
#include "brick/registry.h"

/* Nodes. */

enum {
	FIRST_SWEEP = 1 << 12, /* nodes at the first removal of destroyed nodes */
	MAX_NODES = 3 << 19,   /* further nodes are counted by nodes_lost() */
	KEPT_ROUNDS = 50,      /* for which a destroyed node is kept: its records may still come */
};

static pthread_mutex_t cuda_graphs_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hashmap nodes; /* id -> cuda_graphs_value_of() */
static struct hashmap execs; /* executable graph -> shape above, records of a launch below */
static size_t sweep_at = FIRST_SWEEP;
static uint32_t round_number = 1, full_round; /* the latter had too many nodes */
static uint64_t cuda_graphs_lost;

/*
 * The bricks that nodes were made for, each once: at most as many as nodes in an engine's graphs.
 */
struct parent {
	uint32_t brick;
	int32_t layer;
	const struct brick_launch_owner *work;
};
static ARRAY(struct parent) parents;
static struct hashmap parent_index; /* hash of it -> its place */

/* A node's value; in the upper half the round in which it was destroyed, 0: it is there. */
static uint64_t cuda_graphs_value_of(
	uint32_t brick, int32_t layer, const struct brick_launch_owner *work)
{
	const struct parent parent = {brick, layer, work};
	uint64_t key =
		hash_add(hash_add(hash_u64((uintptr_t)work), brick), (uint64_t)(int64_t)layer);
	uint64_t place = hashmap_get(&parent_index, key);

	if (place != HASHMAP_NONE)
		return place;
	if (array_push(&parents, parent))
		return HASHMAP_NONE;
	if (hashmap_set(&parent_index, key, parents.count - 1))
		parents.count--;
	return hashmap_get(&parent_index, key);
}

/* Drops nodes that are long gone. Without memory all stay. */
static void cuda_graphs_sweep(void)
{
	struct hashmap kept = {0};

	for (const struct hashmap_slot *s = NULL; (s = hashmap_next(&nodes, s));) {
		uint32_t gone = (uint32_t)(s->value >> 32);
		bool is_kept = !gone || round_number - gone <= KEPT_ROUNDS;
		if (is_kept && hashmap_set(&kept, s->key, s->value)) {
			hashmap_fini(&kept);
			return;
		}
	}
	hashmap_fini(&nodes);
	nodes = kept;
}

static void cuda_graphs_put(uint64_t id, uint64_t value)
{
	if (!id)
		return;
	if (value == HASHMAP_NONE) {
		cuda_graphs_lost++;
		return;
	}
	if (nodes.count >= sweep_at && full_round != round_number) {
		cuda_graphs_sweep();
		sweep_at = 2 * nodes.count < FIRST_SWEEP ? FIRST_SWEEP : 2 * nodes.count;
		if (nodes.count >= MAX_NODES)
			full_round = round_number; /* a sweep costs a pass over all: once a round */
	}
	if (nodes.count >= MAX_NODES || hashmap_set(&nodes, id, value))
		cuda_graphs_lost++;
}

void nodes_created(
	uint64_t node, uint32_t brick, int32_t layer, const struct brick_launch_owner *work)
{
	HOLD(&cuda_graphs_lock);
	uint64_t known = hashmap_get(&nodes, node);
	if (known == HASHMAP_NONE || known >> 32) /* else it is a copy, which was told of as such */
		cuda_graphs_put(node, cuda_graphs_value_of(brick, layer, work));
}

void nodes_cloned(uint64_t node, uint64_t original)
{
	HOLD(&cuda_graphs_lock);
	uint64_t from = hashmap_get(&nodes, original);
	if (from != HASHMAP_NONE)
		cuda_graphs_put(node, from & UINT32_MAX);
}

void nodes_destroyed(uint64_t id)
{
	HOLD(&cuda_graphs_lock);
	uint64_t value = hashmap_get(&nodes, id);
	if (value != HASHMAP_NONE)
		hashmap_set(&nodes, id, (uint64_t)round_number << 32 | (value & UINT32_MAX));
}

/* A node's number: its graph's above, its place in that below. */
static uint32_t graph_of(uint64_t id)
{
	return (uint32_t)(id >> 32);
}

enum { NESTED_COPIES = 16, MAX_NESTED = 1 << 12 };

/* In place of a parent: two nodes of a graph have different parents, or one parent is not known. */
#define NO_PARENT (HASHMAP_NONE - 1)

/* The nodes that were copied into one graph. */
struct copies {
	uint32_t graph, nodes, leaves;
	uint64_t parent; /* of all leaves, or NO_PARENT; HASHMAP_NONE: there are no leaves */
	bool holds_graph, holds_conditional;
};

/* The copies that the thread was told of since an executable graph was made. */
static __thread struct {
	struct copies graphs[NESTED_COPIES];
	uint32_t count;
	bool is_full;
} cuda_graphs_copied;

struct nested {
	uint32_t first, end; /* places */
	uint64_t parent;
};
static ARRAY(struct nested) nested;
static struct hashmap nested_of; /* number of an executable graph -> its place */

static uint64_t common_parent(uint64_t a, uint64_t b)
{
	return a == HASHMAP_NONE ? b : b == HASHMAP_NONE || a == b ? a : NO_PARENT;
}

static void forget_copied(void)
{
	cuda_graphs_copied.count = 0;
	cuda_graphs_copied.is_full = false;
}

static struct copies *copies_of(uint32_t graph)
{
	for (uint32_t i = 0; i < cuda_graphs_copied.count; i++)
		if (cuda_graphs_copied.graphs[i].graph == graph)
			return &cuda_graphs_copied.graphs[i];
	cuda_graphs_copied.is_full |= cuda_graphs_copied.count == NESTED_COPIES;
	if (cuda_graphs_copied.is_full)
		return NULL;
	cuda_graphs_copied.graphs[cuda_graphs_copied.count] =
		(struct copies){.graph = graph, .parent = HASHMAP_NONE};
	return &cuda_graphs_copied.graphs[cuda_graphs_copied.count++];
}

void nested_copied(uint64_t node, uint64_t original, uint32_t type)
{
	struct copies *to = copies_of(graph_of(node));

	if (!to)
		return;
	to->nodes++;
	to->holds_graph |= type == CUDA_NODE_GRAPH;
	to->holds_conditional |= type == CUDA_NODE_CONDITIONAL;
	if (type > CUDA_NODE_MEMSET)
		return;
	HOLD(&cuda_graphs_lock);
	uint64_t value = hashmap_get(&nodes, original);
	to->leaves++;
	to->parent =
		common_parent(to->parent, value == HASHMAP_NONE ? NO_PARENT : value & UINT32_MAX);
}

/* Under the lock. */
static void forget_nested(void)
{
	hashmap_clear(&nested_of);
	nested.count = 0;
}

/* Under the lock. A full table begins anew: most of its graphs are gone by then. */
static void put_nested(const struct copies *outer)
{
	struct nested n = {.first = outer->nodes, .end = outer->nodes, .parent = HASHMAP_NONE};

	for (uint32_t i = 0; i < cuda_graphs_copied.count; i++) {
		const struct copies *inner = &cuda_graphs_copied.graphs[i];
		if (inner->holds_conditional)
			return;
		if (inner == outer)
			continue;
		n.end += inner->leaves;
		n.parent = common_parent(n.parent, inner->parent);
	}
	if (n.parent >= NO_PARENT)
		return;
	if (nested.count >= MAX_NESTED)
		forget_nested();
	if (!array_push(&nested, n) && hashmap_set(&nested_of, outer->graph, nested.count - 1))
		nested.count--;
}

/* Nobody tells which of the graphs is the outermost one: those inside are in no record. */
void nested_exec_created(void)
{
	HOLD(&cuda_graphs_lock);
	for (uint32_t i = 0; i < cuda_graphs_copied.count && !cuda_graphs_copied.is_full; i++)
		if (cuda_graphs_copied.graphs[i].holds_graph)
			put_nested(&cuda_graphs_copied.graphs[i]);
	forget_copied();
}

void nested_forget(void)
{
	HOLD(&cuda_graphs_lock);
	forget_nested();
}

/* Under the lock. */
static uint64_t nested_parent(uint64_t id)
{
	uint64_t place = hashmap_get(&nested_of, graph_of(id));

	if (place == HASHMAP_NONE)
		return HASHMAP_NONE;
	const struct nested *n = &nested.items[place];
	return (uint32_t)id >= n->first && (uint32_t)id < n->end ? n->parent : HASHMAP_NONE;
}

int nodes_find(uint64_t id, uint32_t *brick, int32_t *layer, const struct brick_launch_owner **work)
{
	HOLD(&cuda_graphs_lock);
	uint64_t value = hashmap_get(&nodes, id);
	if (value == HASHMAP_NONE)
		value = nested_parent(id);
	if (value != HASHMAP_NONE) {
		const struct parent *parent = &parents.items[(uint32_t)value];
		*brick = parent->brick;
		*layer = parent->layer;
		*work = parent->work;
	}
	return value != HASHMAP_NONE;
}

void nodes_next_round(void)
{
	HOLD(&cuda_graphs_lock);
	round_number += round_number < UINT32_MAX - 1;
}

uint64_t nodes_lost(void)
{
	return cuda_graphs_lost;
}

/* Under the lock. */
static void put_exec(cuda_handle exec, uint32_t records)
{
	uint64_t shape = records ? replays_new_shape() : 0;

	if (hashmap_set(&execs, (uintptr_t)exec, shape << 32 | records)) /* not known, then */
		hashmap_take(&execs, (uintptr_t)exec);
}

void nodes_exec(cuda_handle exec, uint32_t records)
{
	HOLD(&cuda_graphs_lock);
	put_exec(exec, records);
}

void nodes_exec_updated(cuda_handle exec)
{
	HOLD(&cuda_graphs_lock);
	uint64_t launch = hashmap_get(&execs, (uintptr_t)exec);
	if (launch != HASHMAP_NONE)
		put_exec(exec, (uint32_t)launch);
}

void nodes_exec_gone(cuda_handle exec)
{
	HOLD(&cuda_graphs_lock);
	hashmap_take(&execs, (uintptr_t)exec);
}

struct exec_launch nodes_exec_launch(cuda_handle exec)
{
	HOLD(&cuda_graphs_lock);
	uint64_t launch = hashmap_get(&execs, (uintptr_t)exec);
	return launch == HASHMAP_NONE
		       ? (struct exec_launch){0, 0}
		       : (struct exec_launch){(uint32_t)launch, (replay_shape)(launch >> 32)};
}

/*
 * ---- the order of nodes ----
 * What is left of graphs that are gone is overwritten, or goes when there is too much of it: then
 * no update is followed until graphs are made anew.
 */

enum { MAX_PLACES = 1 << 20 };

static pthread_mutex_t order_lock = PTHREAD_MUTEX_INITIALIZER;
static struct hashmap order_of; /* executable graph -> the name that its copies were told under */
static struct hashmap order_counts; /* graph -> order_nodes */
static struct hashmap order_nodes;  /* cuda_graphs_key_of(graph, place) -> id */
static struct hashmap order_places; /* id -> place in its graph, or in its original's */

static uint64_t cuda_graphs_key_of(cuda_handle graph, uint64_t place)
{
	return hash_add(hash_u64((uintptr_t)graph), place);
}

static void order_put(cuda_handle graph, uint64_t place, uint64_t node)
{
	uint64_t count = hashmap_get(&order_counts, (uintptr_t)graph);

	if (order_nodes.count >= MAX_PLACES || order_places.count >= MAX_PLACES) {
		hashmap_clear(&order_counts);
		hashmap_clear(&order_nodes);
		hashmap_clear(&order_places);
		return;
	}
	if (!hashmap_set(&order_nodes, cuda_graphs_key_of(graph, place), node) &&
		!hashmap_set(&order_places, node, place))
		hashmap_set(&order_counts, (uintptr_t)graph, count == HASHMAP_NONE ? 1 : count + 1);
}

void graph_places_created(cuda_handle graph, uint64_t node)
{
	HOLD(&order_lock);
	uint64_t count = hashmap_get(&order_counts, (uintptr_t)graph);
	order_put(graph, count == HASHMAP_NONE ? 0 : count, node);
}

void graph_places_cloned(cuda_handle exec, uint64_t node, uint64_t original)
{
	HOLD(&order_lock);
	uint64_t place = hashmap_get(&order_places, original);
	if (place != HASHMAP_NONE)
		order_put(exec, place, node);
}

void graph_places_exec(cuda_handle exec, cuda_handle copies)
{
	HOLD(&order_lock);
	hashmap_set(&order_of, (uintptr_t)exec, (uintptr_t)copies); /* no memory: not known */
}

void graph_places_forget(cuda_handle graph)
{
	HOLD(&order_lock);
	uint64_t copies = hashmap_take(&order_of, (uintptr_t)graph);
	hashmap_take(&order_counts, copies != HASHMAP_NONE ? copies : (uintptr_t)graph);
}

void graph_places_updated(cuda_handle exec, cuda_handle graph)
{
	HOLD(&order_lock);
	exec = (cuda_handle)(uintptr_t)hashmap_get(&order_of, (uintptr_t)exec);
	uint64_t count = hashmap_get(&order_counts, (uintptr_t)exec);
	if (count == HASHMAP_NONE || count != hashmap_get(&order_counts, (uintptr_t)graph))
		count = 0;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t to = hashmap_get(&order_nodes, cuda_graphs_key_of(exec, i));
		uint64_t from = hashmap_get(&order_nodes, cuda_graphs_key_of(graph, i));
		if (to != HASHMAP_NONE && from != HASHMAP_NONE)
			nodes_cloned(to, from);
	}
}

/* Calls from CUPTI. */

/* The executable graph that the thread is making. */
static __thread struct {
	bool is_begun;
	cuda_handle copies; /* stands for it until it has a handle */
	uint32_t records;   /* the number of records that a launch brings */
	uint32_t varies;    /* the graph itself decides how many records there are */
} making;

static int are_whole;

void graph_calls_are_whole(void)
{
	are_whole = 1;
}

static int cuda_graphs_id_of(cuda_handle node, uint64_t *id)
{
	return cupti.graph_node_id && cupti.graph_node_id(node, id) == CUPTI_FINE;
}

static int node_made(const struct cupti_graph *graph, const struct brick_launch *launch,
	const struct brick_launch_owner *work)
{
	struct brick_launch parent;
	uint64_t id;

	if (making.is_begun)
		return 0;
	if (launch)
		parent = *launch;
	else
		brick_launch_parent(&parent);
	if (cuda_graphs_id_of(graph->node, &id)) {
		nodes_created(id, parent.brick, parent.layer, work);
		graph_places_created(graph->graph, id);
	}
	return 1;
}

static void node_cloned(const struct cupti_graph *graph)
{
	uint64_t id, original;

	if (making.is_begun) {
		making.records += graph->node_type <= CUDA_NODE_MEMSET;
		making.varies |= graph->node_type == CUDA_NODE_GRAPH ||
				 graph->node_type == CUDA_NODE_CONDITIONAL;
	}
	if (cuda_graphs_id_of(graph->node, &id) &&
		cuda_graphs_id_of(graph->original_node, &original)) {
		nested_copied(id, original, graph->node_type);
		nodes_cloned(id, original);
		if (making.is_begun)
			graph_places_cloned(making.copies, id, original);
	}
}

int graph_calls_resource(uint32_t id, const struct cupti_graph *graph,
	const struct brick_launch *launch, const struct brick_launch_owner *work)
{
	static uintptr_t last_copies = 1; /* odd, unlike handles of CUDA's, and never used again */
	uint64_t node;

	switch (id) {
	case CUPTI_GRAPH_NODE_CREATED:
		return node_made(graph, launch, work);
	case CUPTI_GRAPH_NODE_CLONED:
		node_cloned(graph);
		break;
	case CUPTI_GRAPH_NODE_DESTROYING:
		graph_places_forget(graph->graph);
		if (cuda_graphs_id_of(graph->node, &node))
			nodes_destroyed(node);
		break;
	case CUPTI_GRAPH_EXEC_STARTING:
		making.is_begun = true;
		making.copies = (cuda_handle)__atomic_add_fetch(&last_copies, 2, __ATOMIC_RELAXED);
		making.records = making.varies = 0;
		break;
	case CUPTI_GRAPH_EXEC_CREATED:
		nodes_exec(graph->exec, are_whole ? 1 : making.varies ? 0 : making.records);
		graph_places_exec(graph->exec, making.copies);
		nested_exec_created();
		making.is_begun = false;
		break;
	case CUPTI_GRAPH_EXEC_DESTROYING:
		nodes_exec_gone(graph->exec);
		graph_places_forget(graph->exec);
		break;
	default:
		break;
	}
	return 0;
}

static struct {
	uint64_t done, refused; /* atomic */
} cuda_graphs_counts[GRAPH_CALLS];

void graph_calls_count(enum graph_call call, bool has_failed)
{
	__atomic_fetch_add(
		has_failed ? &cuda_graphs_counts[call].refused : &cuda_graphs_counts[call].done, 1,
		__ATOMIC_RELAXED);
}

static int last_refusal; /* of an update: enum CUgraphExecUpdateResult, atomic */

void graph_calls_updated(const struct cuda_graph_update *update, bool has_info, bool has_failed)
{
	graph_calls_count(GRAPH_UPDATED, has_failed);
	if (!has_failed)
		nested_forget();
	if (update && !has_failed) {
		nodes_exec_updated(update->exec);
		graph_places_updated(update->exec, update->graph);
	} else if (update && has_info && update->info)
		__atomic_store_n(&last_refusal, update->info->result, __ATOMIC_RELAXED);
}

/* By the values of CUgraphExecUpdateResult, from 2 on. */
static const char *cuda_graphs_refusal_text(void)
{
	static const char *const texts[] = {"its topology had changed",
		"the type of a node had changed", "the function of a node had changed",
		"the parameters of a node had changed in a way that cannot be updated",
		"something of a node cannot be updated",
		"the function of a node had changed in a way that cannot be updated",
		"the attributes of a node had changed in a way that cannot be updated"};
	unsigned value = (unsigned)__atomic_load_n(&last_refusal, __ATOMIC_RELAXED);

	return value - 2 < sizeof(texts) / sizeof(*texts) ? texts[value - 2] : NULL;
}

void graph_calls_instantiated(bool has_failed)
{
	making.is_begun = false;
	forget_copied();
	graph_calls_count(GRAPH_INSTANTIATED, has_failed);
}

static uint64_t launched_without; /* atomic */

void graph_calls_without(void)
{
	__atomic_fetch_add(&launched_without, 1, __ATOMIC_RELAXED);
}

void graph_calls_restart(void)
{
	for (int i = 0; i < GRAPH_CALLS; i++) {
		__atomic_store_n(&cuda_graphs_counts[i].done, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&cuda_graphs_counts[i].refused, 0, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&launched_without, 0, __ATOMIC_RELAXED);
}

int graph_calls_describe(char *text, size_t bytes)
{
	static const char *const names[] = {"captured", "instantiated", "updated", "launched"};
	const char *why = cuda_graphs_refusal_text();
	size_t at = 0;
	uint64_t all = 0;

	for (int i = 0; i < GRAPH_CALLS && at < bytes; i++) {
		uint64_t done = __atomic_load_n(&cuda_graphs_counts[i].done, __ATOMIC_RELAXED);
		uint64_t refused =
			__atomic_load_n(&cuda_graphs_counts[i].refused, __ATOMIC_RELAXED);
		all += done + refused;
		at += (size_t)snprintf(text + at, bytes - at, "%s%llu %s", i ? ", " : "",
			(unsigned long long)done, names[i]);
		if (refused && at < bytes)
			at += (size_t)snprintf(text + at, bytes - at, " (%llu refused%s%s)",
				(unsigned long long)refused, i == GRAPH_UPDATED && why ? ": " : "",
				i == GRAPH_UPDATED && why ? why : "");
	}
	if (at < bytes)
		snprintf(text + at, bytes - at, "; %llu kernels launched without",
			(unsigned long long)__atomic_load_n(&launched_without, __ATOMIC_RELAXED));
	return all != 0;
}
