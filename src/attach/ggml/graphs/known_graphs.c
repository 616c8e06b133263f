/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of known graphs (known_graphs.h); the graph that was met last is in front. Graphs
 * without users are freed from the end when all have too many nodes together. A thread between two
 * graphs may still point to a freed graph, but does not use it: attach_shared.graph_serial grows
 * before any graph is freed, and the thread then looks for its graph anew.
 */
#include "attach/ggml/graphs/known_graphs.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/graphs/derived_layers.h"
#include "attach/ggml/nodes/masks.h"
#include "attach/ggml/nodes/node_run.h"
#include "attach/ggml/nodes/node_thread.h"
#include "attach/ggml/nodes/site_table.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/scope.h"

enum {
	MAX_NODES = 1 << 20, /* a graph that claims more is not read */
	NAMED_EVERY = 16,    /* the signature has the names of every 16th node: names are long */
	OUTLINE_NODES = 8,
};

static const uint64_t EACH_BYTE = 0x0101010101010101u;

bool shown_graph_read(struct shown_graph *s, const struct engine *e, const void *graph)
{
	int count = e->graph_node_count(graph);

	if (count <= 0 || count > MAX_NODES)
		return false;
	*s = (struct shown_graph){
		e, graph, e->graph_nodes ? e->graph_nodes(graph) : NULL, (uint32_t)count};
	return true;
}

static const void *shown_node(const struct shown_graph *s, uint32_t i)
{
	return s->nodes ? s->nodes[i] : s->engine->graph_node(s->graph, (int)i);
}

static uint64_t known_graphs_mix(uint64_t hash, uint64_t word)
{
	return (known_rotate(hash, 23) ^ word) * HASH_GOLDEN;
}

static uint64_t mix_name(uint64_t hash, const char *name)
{
	uint64_t word;

	for (int i = 0; i < TENSOR_NAME_BYTES; i += 8) {
		memcpy(&word, name + i, sizeof(word));
		hash = known_graphs_mix(hash, word);
		if ((word - EACH_BYTE) & ~word & EACH_BYTE << 7)
			break; /* a byte of the word is 0: the end of the name */
	}
	return hash;
}

static uint64_t mix_node(uint64_t hash, const struct shape_offsets *at, const void *node)
{
	return known_graphs_mix(
		hash, node_shape(at, node, 0) ^ known_rotate((uint64_t)(uintptr_t)node, 7));
}

/*
 * The hash by which graphs are equal: addresses, operations, types, shapes and first sources of all
 * nodes, and some names. A node reads through views, which are nodes too, so the hash covers the
 * shapes of sources. Needs a known layout, as shown_outline() and shown_details() do.
 */
static uint64_t shown_signature(const struct shown_graph *s)
{
	const struct shape_offsets at = engine_shape_offsets(s->engine);
	uint64_t hash = s->count;

	for (uint32_t i = 0; i < s->count; i++) {
		const void *node = shown_node(s, i);
		if (!node)
			continue;
		hash = mix_node(hash, &at, node);
		if (i % NAMED_EVERY == 0)
			hash = mix_name(hash, tensor_field(node, s->engine->layout.name));
	}
	return hash;
}

/* The same of OUTLINE_NODES nodes: the first, the last, and others evenly between them. */
static uint64_t shown_outline(const struct shown_graph *s)
{
	const struct shape_offsets at = engine_shape_offsets(s->engine);
	uint64_t hash = s->count;

	for (uint64_t k = 0; k < OUTLINE_NODES; k++) {
		uint64_t i = (s->count - 1) * k / (OUTLINE_NODES - 1);
		const void *node = shown_node(s, (uint32_t)i);
		if (!node)
			continue;
		hash = mix_node(hash, &at, node);
		hash = mix_name(hash, tensor_field(node, s->engine->layout.name));
	}
	return hash;
}

/* Without the operation, which lies in another cache line of the tensor. */
static inline uint64_t known_graphs_shape_of(const struct shape_offsets *at, const void *node)
{
	const int64_t *ne = tensor_field(node, at->ne);

	return (uint64_t)ne[0] + (uint64_t)ne[1] * 0xd6e8feb86659fd93u +
	       (uint64_t)ne[2] * 0xa0761d6478bd642fu + (uint64_t)ne[3] * 0xe7037ed1a0b428dbu +
	       (uint64_t)(uint32_t)tensor_int32(node, at->type) * 0x8ebc6af09c88c6e3u;
}

/*
 * A hash of the shapes that no hook compares: those of views that nodes read, in which K and V have
 * their length. Sources that can have one shape only, given their reader's, are left out (imply()).
 */
static uint64_t shown_details(const struct shown_graph *shown, const struct unseen_nodes *o)
{
	const struct shape_offsets at = engine_shape_offsets(shown->engine);
	const void *const *nodes = shown->nodes;
	uint64_t hash = 0;

	for (uint32_t i = 0; i < o->count; i++)
		hash = hash * HASH_GOLDEN + known_graphs_shape_of(&at, nodes[o->index[i]]);
	return hash;
}

/* A source's shape follows from its reader's, so hooks compare it; or shown_details() reads it. */
enum { SEEN, LOOKED_AT };

struct implied {
	int64_t ne[TENSOR_DIMS];
	const void *by; /* `ne` also depends on the shape of this tensor; NULL: on none */
};

/*
 * Get the only shape that this source can have, given its reader's, as the engine asserts: what
 * ROPE rotates, what MUL_MAT multiplies, and the queries of attention. False: other shapes are
 * possible.
 */
static bool imply(struct implied *to, const struct engine *e, const void *reader, uint32_t index)
{
	const char *operation = e->op_desc(reader);
	bool is_attention = !strcmp(operation, "FLASH_ATTN_EXT");

	memcpy(to->ne, tensor_ne(&e->layout, reader), sizeof(to->ne));
	to->by = NULL;
	if (!strcmp(operation, "ROPE"))
		return index == 0;
	if (index != !is_attention || (!is_attention && strcmp(operation, "MUL_MAT") != 0))
		return false;
	to->by = tensor_source(&e->layout, reader, !index);
	if (!to->by)
		return false;
	to->ne[0] = tensor_ne(&e->layout, to->by)[0];
	if (is_attention) { /* queries and heads change places */
		int64_t heads = to->ne[1];
		to->ne[1] = to->ne[2];
		to->ne[2] = heads;
	}
	return true;
}

struct unseen_nodes *unseen_nodes(const struct shown_graph *s)
{
	const struct engine *e = s->engine;
	struct hashmap read = {0}; /* what executed nodes read */
	struct unseen_nodes *o = NULL;
	bool failed = false;

	if (s->nodes && e->layout_known && e->op_desc)
		o = calloc(1, sizeof(*o) + s->count * sizeof(o->index[0]));
	if (!o)
		return NULL;
	for (uint32_t i = 0; i < s->count; i++) {
		if (!s->nodes[i] || !engine_executes(e, s->nodes[i]))
			continue;
		for (uint32_t k = 0; k < e->layout.source_count; k++) {
			const void *source = tensor_source(&e->layout, s->nodes[i], k);
			struct implied implied;
			if (!source)
				continue;
			bool is_seen = imply(&implied, e, s->nodes[i], k) &&
				       !memcmp(implied.ne, tensor_ne(&e->layout, source),
					       sizeof(implied.ne));
			if (is_seen && implied.by)
				failed |= hashmap_set(&read, (uintptr_t)implied.by, LOOKED_AT) != 0;
			if (hashmap_get(&read, (uintptr_t)source) == HASHMAP_NONE)
				failed |= hashmap_set(&read, (uintptr_t)source,
						  is_seen ? SEEN : LOOKED_AT) != 0;
		}
	}
	/* Views that are read, and conversions, whose type no hook sees. */
	for (uint32_t i = 0; i < s->count; i++)
		if (s->nodes[i] && engine_executes(e, s->nodes[i])
				? !strcmp(e->op_desc(s->nodes[i]), "CPY")
				: hashmap_get(&read, (uintptr_t)s->nodes[i]) == LOOKED_AT)
			o->index[o->count++] = i;
	hashmap_fini(&read);
	if (failed) {
		free(o);
		return NULL;
	}
	return o;
}

enum { MAX_KNOWN_NODES = 1 << 18 }; /* of all graphs; further graphs replace the oldest */

static struct known_graph *known_graphs;
static uint64_t nodes_known; /* of all graphs */
pthread_mutex_t known_graphs_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Look up the site of a node of the graph. mul: the second node of its fused pair, or NULL. */
static void fill_node(const struct engine *engine, struct known_node *k, const void *mul, int part)
{
	struct site_found found;

	site_table_find(engine, k->node, mul, part, k->layer, &found);
	k->brick = found.brick;
	k->layer = found.layer;
	__atomic_store_n(&k->site[part], found.site, __ATOMIC_RELAXED);
}

static struct known_node *known_graphs_append(
	struct known_graph *g, const void *node, uint64_t shape, int16_t layer)
{
	struct known_node *k = &g->nodes[g->count++];

	*k = (struct known_node){.node = node, .shape = shape, .next = g->count, .layer = layer};
	return k;
}

/*
 * Fill g->nodes with all nodes, also those without work, which some engines execute like others. A
 * fused pair is an element of its own before its two nodes; is_in_order() relies on that. Nodes
 * that will be executed are linked, and their sites looked up: here, in one go and with warm
 * caches, that costs a fraction of what it would cost between the nodes.
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
			known_graphs_append(g, node, 0, layer);
			first = 0;
			continue;
		}
		if (!skip && i + 1 < s->count)
			mul = engine_fused(s->engine, node, shown_node(s, i + 1));
		if (!skip && engine_executes(s->engine, node)) {
			struct known_node *k = known_graphs_append(
				g, node, node_shape(&at, node, mul != NULL), layer);
			fill_node(s->engine, k, mul, 0);
			if (parts)
				fill_node(s->engine, k, mul, 1);
			*(link ? link : &first) = g->count - 1;
			link = &k->next;
			skip = mul ? 2 : 0;
			if (!mul)
				continue;
		}
		known_graphs_append(g, node, node_shape(&at, node, 0), layer);
	}
	if (link)
		*link = g->count;
	g->nodes[g->count] = (struct known_node){.next = first < g->count ? first : g->count};
}

/* Layers of nodes that have no names among others that have some. */
static void known_graphs_read_surroundings(struct known_graph *g)
{
	int parts = __atomic_load_n(&site_table_wants_parts, __ATOMIC_RELAXED);
	struct executed_node *executed = malloc(g->count * sizeof(*executed));
	uint32_t count = 0;

	if (!executed)
		return;
	for (uint32_t i = g->nodes[g->count].next; i < g->count; i = g->nodes[i].next)
		executed[count++] = (struct executed_node){
			.node = g->nodes[i].node, .place = i, .layer = g->nodes[i].layer};
	surrounded_layers(g->engine, executed, count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t place = executed[i].place;
		struct known_node *k = &g->nodes[place];
		/* of a fused pair the first node stands behind it once more */
		bool is_pair = place + 1 < g->count && k[1].node == k->node;
		if (!executed[i].is_settled || is_pair)
			continue;
		k->layer = executed[i].layer;
		fill_node(g->engine, k, NULL, 0);
		if (parts)
			fill_node(g->engine, k, NULL, 1);
	}
	free(executed);
}

static struct known_graph *known_graphs_create(const struct shown_graph *s)
{
	/* One more for each pair, of which there are not more than half as many; and the end. */
	size_t most = (size_t)s->count + s->count / 2 + 1;
	struct known_graph *g = malloc(sizeof(*g) + most * sizeof(g->nodes[0]));

	if (!g)
		return NULL;
	*g = (struct known_graph){.engine = s->engine, .users = 1};
	int16_t *layers = derived_layers(s->engine, s->graph, s->count);
	read_nodes(g, s, layers);
	if (!layers)
		known_graphs_read_surroundings(g);
	free(layers);
	g->masks = masks_find(s->engine, g->nodes, g->count);
	g->shown = s->count;
	g->unseen = unseen_nodes(s);
	if (g->unseen) {
		g->outline = shown_outline(s);
		g->details = shown_details(s, g->unseen);
	}
	return g;
}

/* Under the lock: in front, as the one met last. */
static void put_in_front(struct known_graph *g)
{
	g->next = known_graphs;
	known_graphs = g;
}

/* Under the lock: free the oldest graphs without users until `count` more nodes have room. */
static void forget_oldest(uint32_t count)
{
	while (nodes_known + count > MAX_KNOWN_NODES) {
		struct known_graph **oldest = NULL;
		for (struct known_graph **at = &known_graphs; *at; at = &(*at)->next)
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
		free(g->unseen);
		free(g);
	}
}

/* Under the lock: hold a known graph once more, and put it in front. */
static struct known_graph *known_graphs_take(
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

/* By outline and details. NULL: no known graph has these, or several do. */
static struct known_graph *take_quickly(const struct shown_graph *s, uint32_t generation)
{
	uint64_t outline = shown_outline(s);
	struct known_graph **at = &known_graphs;

	for (; *at; at = &(*at)->next) {
		const struct known_graph *g = *at;
		if (g->engine == s->engine && g->shown == s->count && g->outline == outline &&
			g->unseen && g->details == shown_details(s, g->unseen))
			break;
	}
	if (!*at || (*at)->is_ambiguous)
		return NULL;
	(*at)->is_matched_quickly = 1;
	return known_graphs_take(at, s, generation);
}

/*
 * A node came that the graph does not have. True: the graph was recognised by outline and details
 * only, and wrongly, so its sites must not be used. False: the graph is right, and the node is
 * foreign to it.
 */
static bool refute(struct known_graph *g)
{
	HOLD(&known_graphs_mutex);
	g->is_ambiguous = 1;
	g->graph = NULL;
	return g->is_matched_quickly;
}

static struct known_graph *known_graphs_look_up(const struct shown_graph *s, uint32_t generation)
{
	/* Without a layout, the same address is the same graph until a graph is built. */
	uint64_t signature = s->engine->layout_known
				     ? shown_signature(s)
				     : hash_add(generation, (uint64_t)(uintptr_t)s->graph);

	pthread_mutex_lock(&known_graphs_mutex);
	struct known_graph **at = &known_graphs;
	while (*at && ((*at)->engine != s->engine || (*at)->signature != signature))
		at = &(*at)->next;
	struct known_graph *g = *at ? known_graphs_take(at, s, generation) : NULL;
	if (g)
		g->is_matched_quickly = 0;
	pthread_mutex_unlock(&known_graphs_mutex);
	if (g)
		return g;
	g = known_graphs_create(s);
	if (!g)
		return NULL;
	g->graph = s->graph;
	g->generation = generation;
	g->signature = signature;
	pthread_mutex_lock(&known_graphs_mutex);
	forget_oldest(g->count);
	for (struct known_graph *other = known_graphs; other; other = other->next)
		if (g->unseen && other->engine == g->engine && other->shown == g->shown &&
			other->outline == g->outline && other->details == g->details)
			other->is_ambiguous = g->is_ambiguous = 1;
	nodes_known += g->count;
	put_in_front(g);
	pthread_mutex_unlock(&known_graphs_mutex);
	return g;
}

struct known_graph *known_graph_hold(
	const struct engine *e, const void *graph, bool compares_nodes, bool *looked)
{
	uint32_t generation = shared_get(&attach_shared.graph_generation);
	struct shown_graph s = {e, graph, NULL, 0};

	*looked = false;
	if (!e || !e->graph_node || !e->graph_node_count)
		return NULL;
	pthread_mutex_lock(&known_graphs_mutex);
	struct known_graph **at = &known_graphs;
	while (*at &&
		((*at)->engine != e || (*at)->graph != graph || (*at)->generation != generation))
		at = &(*at)->next;
	struct known_graph *g = *at ? known_graphs_take(at, &s, generation) : NULL;
	if (!g && shown_graph_read(&s, e, graph)) {
		*looked = true;
		if (compares_nodes && s.nodes && e->layout_known)
			g = take_quickly(&s, generation);
	}
	pthread_mutex_unlock(&known_graphs_mutex);
	return g || !s.count ? g : known_graphs_look_up(&s, generation);
}

/* Are the known nodes those that the engine shows, in the same order? */
static bool is_in_order(const struct known_graph *g, const struct shown_graph *s)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < s->count; i++) {
		const void *node = shown_node(s, i);
		if (node && g->nodes[k].node != node)
			return false;
		k += node != NULL;
		k += node && k < g->count && g->nodes[k].node == node;
	}
	return true;
}

struct known_graph *known_graph_again(struct known_graph *g, const void *graph)
{
	struct shown_graph s;

	if (!shown_graph_read(&s, g->engine, graph) || s.count > g->count || is_in_order(g, &s))
		return g;
	return known_graphs_look_up(&s, g->generation);
}

void known_graph_release(struct known_graph *g)
{
	if (!g)
		return;
	HOLD(&known_graphs_mutex);
	g->users--;
}

/* The node's index: the first executed node, or any other; g->count: not there. */
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

/* The nodes of a thread without a known graph: matches no node. */
static struct known_node no_nodes[1];

void node_sites_of(struct node_thread *t, struct known_graph *graph, uint32_t index)
{
	t->graph = graph;
	t->nodes = graph ? graph->nodes : no_nodes;
	t->node_now = graph ? graph->count : 0;
	t->node_next = graph ? index : 0;
}

void node_sites_join(struct node_thread *t, const void *node)
{
	struct known_graph *found = NULL;
	uint32_t index = 0;

	pthread_mutex_lock(&known_graphs_mutex);
	for (struct known_graph *g = known_graphs; g && !found; g = g->next)
		if (g->users && (index = find_node(g, node)) < g->count)
			found = g;
	pthread_mutex_unlock(&known_graphs_mutex);
	node_sites_of(t, found, index);
}

int known_graphs_have(const void *node)
{
	int has = -1;
	HOLD(&known_graphs_mutex);

	for (struct known_graph *g = known_graphs; g && has <= 0; g = g->next)
		if (g->users)
			has = find_node(g, node) < g->count;
	return has;
}

/* The node's index in the thread's graph, searched from t->node_now on; the count: not there. */
static uint32_t known_graphs_find(const struct node_thread *t, const void *node, uint64_t shape)
{
	uint32_t count = t->graph->count, at = t->node_now == count ? 0 : t->node_now;

	for (uint32_t i = 0; i < count; i++, at = at + 1 < count ? at + 1 : 0)
		if (t->nodes[at].node == node && t->nodes[at].shape == shape)
			return at;
	return count;
}

uint32_t node_site_slow(struct node_thread *t, const void *node, const void *mul, int part)
{
	uint64_t shape =
		shape_offsets_known(&t->shape_at) ? node_shape(&t->shape_at, node, mul != NULL) : 0;
	struct known_node unknown = {.node = node, .layer = -1}, *known = &unknown;

	notes_engine(t->engine, &t->session);
	if (!t->engine)
		return 0;
	uint32_t index = t->nodes != no_nodes ? known_graphs_find(t, node, shape) : 0;
	if (t->nodes != no_nodes && index < t->graph->count) {
		known = &t->nodes[index];
		__atomic_store_n(&t->nodes[t->node_now].next, index, __ATOMIC_RELAXED);
		t->node_now = index;
		t->node_next = __atomic_load_n(&known->next, __ATOMIC_RELAXED);
	} else if (t->nodes != no_nodes && refute(t->graph)) {
		t->nodes = no_nodes; /* the graph stays held until its end */
		t->node_now = t->node_next = 0;
	}
	if (!known->site[part])
		fill_node(t->engine, known, mul, part);
	t->brick = known->brick;
	t->layer = known->layer;
	return known->site[part];
}
