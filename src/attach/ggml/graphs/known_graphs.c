/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of graphs (known_graphs.h): a list, the one that was met last in front. Graphs that
 * nobody computes are forgotten from its end when they take too much memory. A thread that is
 * between graphs may still point to one that is gone; it looks for its graph anew before it uses
 * it, because the serial number of graphs grows before any is forgotten.
 */
#include "attach/ggml/graphs/known_graphs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/graphs/derived_layers.h"
#include "attach/ggml/nodes/masks.h"
#include "attach/ggml/nodes/node_plan.h"
#include "attach/ggml/ggml_shared.h"
#include "attach/ggml/graphs/shown_graph.h"
#include "attach/ggml/nodes/site_table.h"
#include "base/hash.h"

enum { MAX_KNOWN_NODES = 1 << 18 };

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
static void read_nodes(struct known_graph *g, const struct shown_graph *s, const int16_t *layers)
{
	const struct shape_offsets at = engine_shape_offsets(s->engine);
	uint32_t *link = NULL, first = s->count * 2;
	int parts = __atomic_load_n(&site_table_wants_parts, __ATOMIC_RELAXED);

	for (uint32_t i = 0, skip = 0; i<s->count; i++, skip -= skip> 0) {
		const void *node = shown_node(s, i), *mul = NULL;
		int16_t layer = layers ? layers[i] : -1;
		if (!node)
			continue;
		if (!shape_offsets_known(&at)) {
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

static struct known_graph *create(const struct shown_graph *s)
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
	g->shown = s->count;
	g->order = shown_order(s);
	if (g->order) {
		g->outline = shown_outline(s);
		g->details = shown_details(s, g->order);
	}
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
		free(g->order);
		free(g);
	}
}

/* Under the lock: one that is known, now held once more and in front. */
static struct known_graph *take(
	struct known_graph **at, const struct shown_graph *s, uint32_t generation)
{
	struct known_graph *g = *at;

	*at = g->next;
	put_in_front(g);
	g->graph = s->graph;
	g->generation = generation;
	g->users++;
	return g;
}

static struct known_graph *take_same(const struct shown_graph *s, uint32_t generation)
{
	for (struct known_graph **at = &graphs; *at; at = &(*at)->next)
		if ((*at)->engine == s->engine && (*at)->graph == s->graph &&
			(*at)->generation == generation)
			return take(at, s, generation);
	return NULL;
}

static struct known_graph *take_signed(
	const struct shown_graph *s, uint32_t generation, uint64_t signature)
{
	for (struct known_graph **at = &graphs; *at; at = &(*at)->next)
		if ((*at)->engine == s->engine && (*at)->signature == signature) {
			(*at)->is_taken_by_looks = 0;
			return take(at, s, generation);
		}
	return NULL;
}

static int looks_like(const struct known_graph *g, const struct shown_graph *s, uint64_t outline)
{
	return g->engine == s->engine && g->shown == s->count && g->outline == outline &&
	       g->order && g->details == shown_details(s, g->order);
}

/* NULL: none of them looks like it, or more than one may be it. */
static struct known_graph *take_alike(const struct shown_graph *s, uint32_t generation)
{
	uint64_t outline = shown_outline(s);
	struct known_graph **at = &graphs;

	while (*at && !looks_like(*at, s, outline))
		at = &(*at)->next;
	if (!*at || (*at)->is_ambiguous)
		return NULL;
	(*at)->is_taken_by_looks = 1;
	return take(at, s, generation);
}

int known_graph_refute(struct known_graph *g)
{
	known_graphs_lock();
	int is_taken_by_looks = g->is_taken_by_looks;
	g->is_ambiguous = 1;
	g->graph = NULL;
	known_graphs_unlock();
	return is_taken_by_looks;
}

/* Under the lock: a new one, which others may look like. */
static void add(struct known_graph *g)
{
	for (struct known_graph *other = graphs; other; other = other->next)
		if (g->order && other->engine == g->engine && other->shown == g->shown &&
			other->outline == g->outline && other->details == g->details)
			other->is_ambiguous = g->is_ambiguous = 1;
	nodes_known += g->count;
	put_in_front(g);
}

static struct known_graph *look_up(const struct shown_graph *s, uint32_t generation)
{
	/* Without the layout nothing shows that it is the same but that nothing was built since. */
	uint64_t signature = s->engine->layout_known
				     ? shown_signature(s)
				     : hash_add(generation, (uint64_t)(uintptr_t)s->graph);

	known_graphs_lock();
	struct known_graph *g = take_signed(s, generation, signature);
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
	add(g);
	known_graphs_unlock();
	return g;
}

struct known_graph *known_graph_hold(
	const struct engine *e, const void *graph, int compares_nodes, int *looked)
{
	uint32_t generation = shared_get(&attach_shared.graph_generation);
	struct shown_graph s = {e, graph, NULL, 0};

	*looked = 0;
	if (!e || !e->graph_node || !e->graph_node_count)
		return NULL;
	known_graphs_lock();
	struct known_graph *g = take_same(&s, generation);
	if (!g && shown_graph_read(&s, e, graph)) {
		*looked = 1;
		if (compares_nodes && s.nodes && e->layout_known)
			g = take_alike(&s, generation);
	}
	known_graphs_unlock();
	return g || !s.count ? g : look_up(&s, generation);
}

/* A pair that is fused stands before its two. */
static int is_in_order(const struct known_graph *g, const struct shown_graph *s)
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
	struct shown_graph s;

	if (!shown_graph_read(&s, g->engine, graph) || s.count > g->count || is_in_order(g, &s))
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
