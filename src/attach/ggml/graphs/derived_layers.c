/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a graph for the search (derived_layers.h), once, when it is met first. Only nodes that are
 * executed count; what they read is found through views.
 */
#include "attach/ggml/graphs/derived_layers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/nodes/node_text.h"
#include "attach/common/notes_once.h"
#include "attach/ggml/graphs/repetition.h"
#include "attach/ggml/nodes/site_table.h"
#include "base/hash.h"
#include "base/hashmap.h"

enum { MAX_VIEWS = 16 };

struct reader {
	const struct engine *e;
	struct repetition_node *nodes;
	uint32_t *place; /* of each in the graph */
	int *told;	 /* the layer that the names of what each reads say, -1: none */
	uint32_t count;
	struct hashmap executed; /* index in nodes, by tensor */
};

/* What a chain of views shows: a node that is executed, or something that nobody computes. */
static const void *shown_by(const struct engine *e, const void *tensor)
{
	for (int i = 0; i < MAX_VIEWS && !engine_executes(e, tensor); i++) {
		const void *next = tensor_view_source(&e->layout, tensor);
		next = next ? next : tensor_source(&e->layout, tensor, 0);
		if (!next)
			break;
		tensor = next;
	}
	return tensor;
}

static uint64_t hash_tensor(const struct engine *e, const void *tensor, uint64_t hash)
{
	const int64_t *ne = tensor_ne(&e->layout, tensor);

	for (int i = 0; i < TENSOR_DIMS; i++)
		hash = hash_add(hash, (uint64_t)ne[i]);
	return hash_add(hash, (uint32_t)tensor_int32(tensor, e->layout.type));
}

/* Of two weights that lie in one tensor each is a view with another address. */
static uint64_t place_of(const struct engine *e, const void *tensor, const void *shown)
{
	const void *data = e->get_data ? e->get_data(tensor) : NULL;

	return (uint64_t)(uintptr_t)(data ? data : shown);
}

static void read_sources(struct reader *r, struct repetition_node *n, const void *node)
{
	const struct engine *e = r->e;
	bool is_product = !strncmp(e->op_desc(node), "MUL_MAT", 7);
	int known = 0;

	for (uint32_t i = 0; i < e->layout.source_count; i++) {
		const void *source = tensor_source(&e->layout, node, i);
		if (!source)
			continue;
		const void *shown = shown_by(e, source);
		int computed = engine_executes(e, shown);
		uint64_t from = hashmap_get(&r->executed, (uintptr_t)shown);
		n->kind = hash_add(hash_tensor(e, source, n->kind), (uint64_t)computed << 8 | i);
		if (is_product && !computed && !n->weight && i < 2)
			n->weight = place_of(e, source, shown);
		if (from != HASHMAP_NONE && known < REPETITION_SOURCES)
			n->source[known++] = (int32_t)from;
	}
}

/* Has the program given no name? Then the engine has numbered it, or called it after its source. */
static bool is_nameless(const struct engine *e, const void *node)
{
	const char *name = e->get_name(node);

	return !*name || !strncmp(name, "node_", 5) || strstr(name, " (");
}

static int read_node(struct reader *r, const void *node, uint32_t place)
{
	struct repetition_node *n = &r->nodes[r->count];

	*n = (struct repetition_node){hash_pointer(r->e->op_desc(node)), 0, {-1, -1, -1, -1}};
	n->kind = hash_tensor(r->e, node, n->kind);
	read_sources(r, n, node);
	r->place[r->count] = place;
	return hashmap_set(&r->executed, (uintptr_t)node, r->count++);
}

/* 0; or that its nodes have names, or that there is no memory. */
static int read_graph(struct reader *r, const void *graph, uint32_t count)
{
	int failed = 0;

	for (uint32_t i = 0; i < count && !failed; i++) {
		const void *node = r->e->graph_node(graph, (int)i);
		if (!node || !engine_executes(r->e, node))
			continue;
		int layer = r->told[r->count] = site_table_layer(r->e, node);
		failed = (layer >= 0 && !is_nameless(r->e, node)) || read_node(r, node, i) < 0;
	}
	return failed;
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

/* By the names, or from 0 on; 0: names contradict the blocks. */
static bool number_blocks(int *numbers, const struct reader *r, const struct repetition *found)
{
	for (uint32_t i = 0; i < found->count; i++) {
		numbers[i] = told_of(r, found, i);
		if (numbers[i] < -1 || (numbers[i] < 0) != (numbers[0] < 0))
			return false;
		for (uint32_t k = 0; k < i && numbers[i] >= 0; k++)
			if (numbers[k] == numbers[i])
				return false;
	}
	bool has_names = numbers[0] >= 0;
	for (uint32_t i = 0; !has_names && i < found->count; i++)
		numbers[i] = (int)i;
	return true;
}

static bool number(int16_t *layers, const struct reader *r, const struct repetition *found)
{
	int *numbers = calloc(found->count, sizeof(*numbers));
	int ok = numbers && number_blocks(numbers, r, found);

	for (uint32_t i = 0; ok && i < found->count * found->period; i++)
		layers[r->place[found->begin + i]] = (int16_t)numbers[i / found->period];
	free(numbers);
	return ok;
}

static int16_t *search(struct reader *r, const void *graph, uint32_t count)
{
	struct repetition found;
	int16_t *layers = NULL;

	if (read_graph(r, graph, count) || repetition_find(r->nodes, r->count, &found) ||
		!found.count || !(layers = malloc(count * sizeof(*layers))))
		return NULL;
	memset(layers, -1, count * sizeof(*layers));
	if (!number(layers, r, &found)) {
		free(layers);
		return NULL;
	}
	note_once("layers",
		"repetition (nodes have no names): %u equal blocks of %u nodes in a graph of %u",
		found.count, found.period, r->count);
	return layers;
}

int16_t *derived_layers(const struct engine *e, const void *graph, uint32_t count)
{
	struct reader r = {.e = e};
	int16_t *layers = NULL;

	if (!e->layout_known || !e->op_desc || !e->get_name || given_names_any())
		return NULL;
	r.nodes = calloc(count, sizeof(*r.nodes));
	r.place = calloc(count, sizeof(*r.place));
	r.told = calloc(count, sizeof(*r.told));
	if (r.nodes && r.place && r.told)
		layers = search(&r, graph, count);
	hashmap_fini(&r.executed);
	free(r.nodes);
	free(r.place);
	free(r.told);
	return layers;
}
