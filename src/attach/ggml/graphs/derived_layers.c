/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding equal blocks in a row (derived_layers.h). For each period the search takes the stretches
 * in which every node is like the one a period later; among those that may be layers it prefers the
 * longest, then the shortest period. A stretch may be longer than its blocks, as what surrounds
 * them may begin or end like one, so the blocks begin where the fewest results cross from one to
 * the next.
 *
 * A graph is read for the search once, when it is met first. Only nodes that are executed count;
 * what they read is found through views.
 */
#include "attach/ggml/graphs/derived_layers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/common/notes_once.h"
#include "attach/ggml/nodes/node_text.h"
#include "attach/ggml/nodes/site_table.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/scope.h"

enum { MAX_NODES = 1 << 13, MIN_BLOCKS = 3 };

struct search {
	const struct repetition_node *nodes;
	uint32_t count, products;
	uint32_t *last_reader; /* of each node's result; 0: nobody reads it */
};

/* The blocks of a stretch that is `slack` nodes longer than they are. */
static struct repetition derived_place(
	const struct search *s, uint32_t begin, uint32_t slack, uint32_t period, uint32_t blocks)
{
	uint32_t best = begin, least = UINT32_MAX;

	for (uint32_t at = begin; at <= begin + slack; at++) {
		uint32_t crossing = 0; /* results of a block that nodes behind it read */
		for (uint32_t i = at; i < at + period; i++)
			crossing += s->last_reader[i] >= at + period;
		if (crossing < least) {
			least = crossing;
			best = at;
		}
	}
	return (struct repetition){best, period, blocks};
}

/* Has each product of a block another weight in each, and are these most of all products? */
static bool have_own_weights(const struct search *s, const struct repetition *r)
{
	uint32_t own = 0;

	for (uint32_t at = 0; at < r->period; at++) {
		const struct repetition_node *first = s->nodes + r->begin + at;
		if (!first->weight)
			continue;
		for (uint32_t i = 0; i < r->count; i++)
			for (uint32_t k = i + 1; k < r->count; k++)
				if (first[i * r->period].weight == first[k * r->period].weight)
					return false;
		own++;
	}
	return 2 * own * r->count >= s->products && own;
}

/* Does each block read something that lies in the one before it? */
static bool is_chain(const struct search *s, const struct repetition *r)
{
	for (uint32_t block = 1; block < r->count; block++) {
		uint32_t begin = r->begin + block * r->period;
		bool continues = false;
		for (uint32_t i = begin; i < begin + r->period && !continues; i++)
			for (int k = 0; k < REPETITION_SOURCES; k++) {
				uint32_t from = (uint32_t)s->nodes[i].source[k];
				continues |= from < begin && from >= begin - r->period;
			}
		if (!continues)
			return false;
	}
	return true;
}

int repetition_find(const struct repetition_node *nodes, uint32_t count, struct repetition *found)
{
	struct search s = {.nodes = nodes, .count = count};

	*found = (struct repetition){0, 0, 0};
	if (count < MIN_BLOCKS || count > MAX_NODES)
		return 0;
	s.last_reader = calloc(count, sizeof(*s.last_reader));
	if (!s.last_reader)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		s.products += nodes[i].weight != 0;
		for (int k = 0; k < REPETITION_SOURCES; k++)
			if (nodes[i].source[k] >= 0)
				s.last_reader[nodes[i].source[k]] = i;
	}
	for (uint32_t period = 1; s.products >= MIN_BLOCKS && period <= count / MIN_BLOCKS;
		period++) {
		uint32_t length = 0; /* of the stretch whose nodes are like those a period later */
		for (uint32_t i = 0; i + period <= count; i++) {
			if (i + period < count && nodes[i].kind == nodes[i + period].kind) {
				length++;
				continue;
			}
			uint32_t blocks = length / period + 1;
			if (blocks >= MIN_BLOCKS &&
				blocks * period > found->count * found->period) {
				struct repetition r = derived_place(
					&s, i - length, length % period, period, blocks);
				if (have_own_weights(&s, &r) && is_chain(&s, &r))
					*found = r;
			}
			length = 0;
		}
	}
	free(s.last_reader);
	return 0;
}

struct reader {
	const struct engine *e;
	struct repetition_node *nodes;
	uint32_t *place; /* of each in the graph */
	int *told;	 /* the layer that the names of what each reads say, -1: none */
	uint32_t count;
	struct hashmap executed; /* index in nodes, by tensor */
};

static uint64_t hash_tensor(const struct engine *e, const void *tensor, uint64_t hash)
{
	const int64_t *ne = tensor_ne(&e->layout, tensor);

	for (int i = 0; i < TENSOR_DIMS; i++)
		hash = hash_add(hash, (uint64_t)ne[i]);
	return hash_add(hash, (uint32_t)tensor_int32(tensor, e->layout.type));
}

/* 0; or that its nodes have names, or that there is no memory. */
static int read_graph(struct reader *r, const void *graph, uint32_t count)
{
	const struct engine *e = r->e;

	for (uint32_t place = 0; place < count; place++) {
		const void *node = e->graph_node(graph, (int)place);
		if (!node || !engine_executes(e, node))
			continue;
		int layer = r->told[r->count] = site_table_layer(e, node);
		if (layer >= 0 && !tensor_is_nameless(e->get_name(node)))
			return 1;
		struct repetition_node *n = &r->nodes[r->count];
		bool is_product = !strncmp(e->op_desc(node), "MUL_MAT", 7);
		int known = 0;
		*n = (struct repetition_node){hash_pointer(e->op_desc(node)), 0, {-1, -1, -1, -1}};
		n->kind = hash_tensor(e, node, n->kind);
		for (uint32_t i = 0; i < e->layout.source_count; i++) {
			const void *source = tensor_source(&e->layout, node, i);
			if (!source)
				continue;
			const void *shown = engine_shown(e, source);
			int computed = engine_executes(e, shown);
			uint64_t from = hashmap_get(&r->executed, (uintptr_t)shown);
			n->kind = hash_add(
				hash_tensor(e, source, n->kind), (uint64_t)computed << 8 | i);
			if (is_product && !computed && !n->weight && i < 2) {
				/* of two weights in one tensor each is a view with another address
				 */
				const void *data = e->get_data ? e->get_data(source) : NULL;
				n->weight = (uint64_t)(uintptr_t)(data ? data : shown);
			}
			if (from != HASHMAP_NONE && known < REPETITION_SOURCES)
				n->source[known++] = (int32_t)from;
		}
		r->place[r->count] = place;
		if (hashmap_set(&r->executed, (uintptr_t)node, r->count++))
			return 1;
	}
	return 0;
}

/* The layer that names say of a block, -1: none, -2: more than one. */
static int told_of(const struct reader *r, const struct repetition *found, uint32_t block)
{
	const int *told = r->told + found->begin + block * found->period;
	int layer = -1;

	for (uint32_t i = 0; i < found->period; i++) {
		if (told[i] >= 0 && layer >= 0 && told[i] != layer)
			return -2;
		layer = told[i] >= 0 ? told[i] : layer;
	}
	return layer;
}

/* Numbers blocks by the names, or from 0 on. False: names contradict the blocks, or no memory. */
static bool derived_number(int16_t *layers, const struct reader *r, const struct repetition *found)
{
	SCOPED int *numbers = calloc(found->count, sizeof(*numbers));

	if (!numbers)
		return false;
	for (uint32_t i = 0; i < found->count; i++) {
		numbers[i] = told_of(r, found, i);
		if (numbers[i] < -1 || (numbers[i] < 0) != (numbers[0] < 0))
			return false;
		for (uint32_t k = 0; k < i && numbers[i] >= 0; k++)
			if (numbers[k] == numbers[i])
				return false;
	}
	bool has_names = numbers[0] >= 0;
	for (uint32_t i = 0; i < found->count * found->period; i++)
		layers[r->place[found->begin + i]] =
			(int16_t)(has_names ? numbers[i / found->period]
					    : (int)(i / found->period));
	return true;
}

/* Layers as names say them, -1: none; and what this adds. */
enum { NOWHERE = -1, SEVERAL = -2 };

static int16_t derived_join(int16_t a, int16_t b)
{
	return a == NOWHERE || a == b ? b : b == NOWHERE ? a : SEVERAL;
}

struct surroundings {
	const struct engine *e;
	struct executed_node *nodes;
	int16_t *from, *to; /* layers of what a node reads, and of what reads it */
	uint32_t count;
	struct hashmap executed; /* index in nodes, by tensor */
};

static bool derived_is_open(const struct surroundings *s, uint32_t i)
{
	return s->nodes[i].layer < 0 && tensor_is_nameless(s->e->get_name(s->nodes[i].node));
}

/* Layer of a node, as far as it is known from one side. */
static int16_t seen_from(const struct surroundings *s, const int16_t *side, uint32_t i)
{
	return s->nodes[i].layer >= 0  ? s->nodes[i].layer
	       : derived_is_open(s, i) ? side[i]
				       : SEVERAL;
}

/* The executed node that source k shows; HASHMAP_NONE: it shows none. */
static uint64_t derived_source_of(const struct surroundings *s, uint32_t i, uint32_t k)
{
	const void *source = tensor_source(&s->e->layout, s->nodes[i].node, k);

	return source ? hashmap_get(&s->executed, (uintptr_t)engine_shown(s->e, source))
		      : HASHMAP_NONE;
}

static int derived_read_surroundings(struct surroundings *s)
{
	uint32_t sources = s->e->layout.source_count;
	uint64_t at;

	for (uint32_t i = 0; i < s->count; i++) {
		s->from[i] = s->to[i] = NOWHERE;
		for (uint32_t k = 0; k < sources; k++)
			if ((at = derived_source_of(s, i, k)) != HASHMAP_NONE)
				s->from[i] = derived_join(
					s->from[i], seen_from(s, s->from, (uint32_t)at));
		if (hashmap_set(&s->executed, (uintptr_t)s->nodes[i].node, i))
			return -ENOMEM;
	}
	for (uint32_t i = s->count; i-- > 0;)
		for (uint32_t k = 0; k < sources; k++)
			if ((at = derived_source_of(s, i, k)) < i)
				s->to[at] = derived_join(s->to[at], seen_from(s, s->to, i));
	return 0;
}

void surrounded_layers(const struct engine *e, struct executed_node *nodes, uint32_t count)
{
	struct surroundings s = {.e = e, .nodes = nodes, .count = count};
	uint32_t open = 0;

	if (!e->layout_known || !e->op_desc || !e->get_name || given_names_any())
		return;
	while (open < count && !derived_is_open(&s, open))
		open++;
	s.from = open < count ? malloc(2 * count * sizeof(*s.from)) : NULL;
	s.to = s.from ? s.from + count : NULL;
	if (s.from && !derived_read_surroundings(&s)) {
		/* A norm reads what the layer before has made: it lies where its weight does. */
		for (uint32_t i = 0; i < count; i++)
			nodes[i].is_settled = derived_is_open(&s, i) && s.to[i] >= 0 &&
					      (s.from[i] == s.to[i] ||
						      operation_is_norm(e->op_desc(nodes[i].node)));
		for (uint32_t i = 0; i < count; i++)
			if (nodes[i].is_settled)
				nodes[i].layer = s.to[i];
	}
	hashmap_fini(&s.executed);
	free(s.from);
}

int16_t *derived_layers(const struct engine *e, const void *graph, uint32_t count)
{
	struct reader r = {.e = e};
	struct repetition found;
	int16_t *layers = NULL;

	if (!e->layout_known || !e->op_desc || !e->get_name || given_names_any())
		return NULL;
	r.nodes = calloc(count, sizeof(*r.nodes));
	r.place = calloc(count, sizeof(*r.place));
	r.told = calloc(count, sizeof(*r.told));
	if (r.nodes && r.place && r.told && !read_graph(&r, graph, count) &&
		!repetition_find(r.nodes, r.count, &found) && found.count)
		layers = malloc(count * sizeof(*layers));
	if (layers) {
		memset(layers, -1, count * sizeof(*layers));
		if (derived_number(layers, &r, &found)) {
			note_once("layers",
				"repetition (nodes have no names): %u equal blocks of %u nodes in "
				"a "
				"graph of %u",
				found.count, found.period, r.count);
		} else {
			free(layers);
			layers = NULL;
		}
	}
	hashmap_fini(&r.executed);
	free(r.nodes);
	free(r.place);
	free(r.told);
	return layers;
}
