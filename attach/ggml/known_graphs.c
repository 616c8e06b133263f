/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of graphs (known_graphs.h): a list, the one that was met last in front. Graphs that
 * nobody computes are forgotten from its end when they take too much memory. A thread that is
 * between graphs may still point to one that is gone; it looks for its graph anew before it uses
 * it, because the serial number of graphs grows before any is forgotten.
 */
#include "attach/ggml/known_graphs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/derived_layers.h"
#include "attach/ggml/masks.h"
#include "attach/ggml/node_plan.h"
#include "attach/ggml/shared.h"
#include "attach/ggml/site_table.h"
#include "base/hash.h"

enum { MAX_KNOWN_NODES = 1 << 18, MAX_NODES = 1 << 20, NAMED_EVERY = 16 };

static const uint64_t EACH_BYTE = 0x0101010101010101u;

static struct known_graph *graphs;
static uint64_t nodes_known; /* of all graphs */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void known_graphs_lock(void)
{
	pthread_mutex_lock(&lock);
}

void known_graphs_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* A graph as its engine shows it. */
struct shown {
	const struct engine *engine;
	const void *graph;
	const void *const *nodes; /* NULL: ask for each */
	uint32_t count;
};

static const void *shown_node(const struct shown *s, uint32_t i)
{
	return s->nodes ? s->nodes[i] : s->engine->graph_node(s->graph, (int)i);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
	return (known_rotate(hash, 23) ^ word) * HASH_GOLDEN;
}

static uint64_t mix_name(uint64_t hash, const char *name)
{
	uint64_t word;

	for (int i = 0; i < TENSOR_NAME_BYTES; i += 8) {
		memcpy(&word, name + i, sizeof word);
		hash = mix(hash, word);
		if ((word - EACH_BYTE) & ~word & EACH_BYTE << 7)
			break; /* one of them is 0 */
	}
	return hash;
}

/*
 * What makes a graph the same as another: addresses, operations, types, shapes and sources of all
 * nodes, and some names. A node reads through views, which are nodes too, so that shapes of sources
 * are among these.
 */
static uint64_t signature_of(const struct shown *s)
{
	const struct tensor_layout *l = &s->engine->layout;
	const struct shape_offsets at = engine_shape_offsets(s->engine);
	uint64_t hash = s->count;

	for (uint32_t i = 0; i < s->count; i++) {
		const void *node = shown_node(s, i);
		if (!node)
			continue;
		uint64_t sources = (uint64_t)(uintptr_t)tensor_source(l, node, 0) ^
				   known_rotate((uint64_t)(uintptr_t)tensor_source(l, node, 1), 29);
		hash = mix(hash, node_shape(&at, node, 0) ^
					 known_rotate((uint64_t)(uintptr_t)node, 7) ^
					 known_rotate(sources, 13));
		if (i % NAMED_EVERY == 0)
			hash = mix_name(hash, tensor_field(node, l->name));
	}
	return hash;
}

void known_node_fill(const struct engine *engine, struct known_node *k, const void *mul, int part)
{
	struct site_found found;

	site_table_find(engine, k->node, mul, part, k->layer, &found);
	k->brick = found.brick;
	k->layer = found.layer;
	__atomic_store_n(&k->site[part], found.site, __ATOMIC_RELAXED);
}

static struct known_node *append(
	struct known_graph *g, const void *node, uint64_t shape, int16_t layer)
{
	struct known_node *k = &g->nodes[g->count++];

	*k = (struct known_node){.node = node, .shape = shape, .next = g->count, .layer = layer};
	return k;
}

/*
 * All nodes, those without work too, which some engines execute like others; a pair that will be
 * fused stands before its two. What is expected to be executed is linked and looked up: here, in
 * one go and with warm caches, that costs a fraction of what it would between the nodes.
 */
static void read_nodes(struct known_graph *g, const struct shown *s, const int16_t *layers)
{
	const struct shape_offsets at = engine_shape_offsets(s->engine);
	uint32_t *link = NULL, first = s->count * 2;
	int parts = __atomic_load_n(&site_table_wants_parts, __ATOMIC_RELAXED);

	for (uint32_t i = 0, skip = 0; i<s->count; i++, skip -= skip> 0) {
		const void *node = shown_node(s, i), *mul = NULL;
		int16_t layer = layers ? layers[i] : -1;
		if (!node)
			continue;
		if (!at.known) {
			append(g, node, 0, layer);
			first = 0;
			continue;
		}
		if (!skip && i + 1 < s->count)
			mul = engine_fused(s->engine, node, shown_node(s, i + 1));
		if (!skip && engine_operation(s->engine, node) != OPERATION_EMPTY) {
			struct known_node *k =
				append(g, node, node_shape(&at, node, mul != NULL), layer);
			known_node_fill(s->engine, k, mul, 0);
			if (parts)
				known_node_fill(s->engine, k, mul, 1);
			*(link ? link : &first) = g->count - 1;
			link = &k->next;
			skip = mul ? 2 : 0;
			if (!mul)
				continue;
		}
		append(g, node, node_shape(&at, node, 0), layer);
	}
	if (link)
		*link = g->count;
	g->nodes[g->count] = (struct known_node){.next = first < g->count ? first : g->count};
}

static struct known_graph *create(const struct shown *s)
{
	/* One more for each pair, of which there are not more than half as many; and the end. */
	size_t most = (size_t)s->count + s->count / 2 + 1;
	struct known_graph *g = malloc(sizeof *g + most * sizeof g->nodes[0]);

	if (!g)
		return NULL;
	*g = (struct known_graph){.engine = s->engine, .users = 1};
	int16_t *layers = derived_layers(s->engine, s->graph, s->count);
	read_nodes(g, s, layers);
	free(layers);
	g->masks = masks_find(s->engine, g->nodes, g->count);
	return g;
}

/* Under the lock: in front, as the one met last. */
static void put_in_front(struct known_graph *g)
{
	g->next = graphs;
	graphs = g;
}

/* Under the lock: the oldest that nobody computes go until there is room for so many nodes. */
static void forget_oldest(uint32_t count)
{
	while (nodes_known + count > MAX_KNOWN_NODES) {
		struct known_graph **oldest = NULL;
		for (struct known_graph **at = &graphs; *at; at = &(*at)->next)
			if (!(*at)->users)
				oldest = at;
		if (!oldest)
			return;
		struct known_graph *g = *oldest;
		*oldest = g->next;
		nodes_known -= g->count;
		free(g->masks);
		node_plans_free(g->plan);
		free(g->launched);
		free(g);
	}
}

/* Under the lock: one that is known, now held once more and in front. */
static struct known_graph *take(
	const struct shown *s, uint32_t generation, const uint64_t *signature)
{
	for (struct known_graph **at = &graphs; *at; at = &(*at)->next) {
		struct known_graph *g = *at;
		if (g->engine != s->engine ||
			(signature ? g->signature != *signature
				   : g->graph != s->graph || g->generation != generation))
			continue;
		*at = g->next;
		put_in_front(g);
		g->graph = s->graph;
		g->generation = generation;
		g->users++;
		return g;
	}
	return NULL;
}

static struct known_graph *look_up(const struct shown *s, uint32_t generation)
{
	/* Without the layout nothing shows that it is the same but that nothing was built since. */
	uint64_t signature = s->engine->layout_known
				     ? signature_of(s)
				     : mix(generation, (uint64_t)(uintptr_t)s->graph);

	known_graphs_lock();
	struct known_graph *g = take(s, generation, &signature);
	known_graphs_unlock();
	if (g)
		return g;
	g = create(s);
	if (!g)
		return NULL;
	g->graph = s->graph;
	g->generation = generation;
	g->signature = signature;
	known_graphs_lock();
	forget_oldest(g->count);
	nodes_known += g->count;
	put_in_front(g);
	known_graphs_unlock();
	return g;
}

struct known_graph *known_graph_hold(const struct engine *e, const void *graph, int *looked)
{
	uint32_t generation = shared_get(&attach_shared.graph_generation);
	struct shown s = {e, graph, NULL, 0};

	*looked = 0;
	if (!e || !e->graph_node || !e->graph_node_count)
		return NULL;
	known_graphs_lock();
	struct known_graph *g = take(&s, generation, NULL);
	known_graphs_unlock();
	if (g)
		return g;
	int count = e->graph_node_count((void *)(uintptr_t)graph);
	if (count <= 0 || count > MAX_NODES)
		return NULL;
	*looked = 1;
	s.count = (uint32_t)count;
	s.nodes = e->graph_nodes ? e->graph_nodes((void *)(uintptr_t)graph) : NULL;
	return look_up(&s, generation);
}

/* A pair that is fused stands before its two. */
static int is_in_order(const struct known_graph *g, const struct shown *s)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const void *node = shown_node(s, i);
		if (node && g->nodes[k].node != node)
			return 0;
		k += node != NULL;
		k += node && k < g->count && g->nodes[k].node == node;
	}
	return 1;
}

struct known_graph *known_graph_again(struct known_graph *g, const void *graph)
{
	const struct engine *e = g->engine;
	int count = e->graph_node_count((void *)(uintptr_t)graph);
	struct shown s = {e, graph,
		e->graph_nodes ? e->graph_nodes((void *)(uintptr_t)graph) : NULL, (uint32_t)count};

	if (count <= 0 || (uint32_t)count > g->count || is_in_order(g, &s))
		return g;
	return look_up(&s, g->generation);
}

void known_graph_release(struct known_graph *g)
{
	if (!g)
		return;
	known_graphs_lock();
	g->users--;
	known_graphs_unlock();
}

/* The node that is executed first, or any. */
static uint32_t find_node(const struct known_graph *g, const void *node)
{
	uint32_t first = __atomic_load_n(&g->nodes[g->count].next, __ATOMIC_RELAXED);

	if (g->nodes[first].node == node)
		return first;
	for (uint32_t i = 0; i < g->count; i++)
		if (g->nodes[i].node == node)
			return i;
	return g->count;
}

struct known_graph *known_graph_with(const void *node, uint32_t *index)
{
	struct known_graph *found = NULL;

	known_graphs_lock();
	for (struct known_graph *g = graphs; g && !found; g = g->next)
		if (g->users && (*index = find_node(g, node)) < g->count)
			found = g;
	known_graphs_unlock();
	return found;
}
