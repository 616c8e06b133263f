/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine of two dozen layers whose graphs are built anew into the same memory, and what
 * known_graphs.c calls, as doubles: a site is what the node's own text and those of its sources
 * give.
 */
#pragma once

#include <stdio.h>
#include "attach/ggml/graphs/derived_layers.h"
#include "attach/ggml/graphs/known_graphs.h"
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/engine/ggml_shared.h"
#include "attach/ggml/nodes/site_table.h"
#include "base/hash.h"
#include "tests/unit/node_run_kit.h"

enum { LAYERS = 24, TOKENS = 4, KV = 256, MAX_TENSORS = 1024, MAX_SITES = 1 << 20 };
enum { NONE, VIEW, MUL_MAT, ADD, CPY, FLASH_ATTN, ROPE, OPERATIONS };

struct tensor {
	int32_t type;
	int64_t ne[TENSOR_DIMS];
	int32_t op;
	struct tensor *source[TENSOR_SOURCES];
	char name[TENSOR_NAME_BYTES];
};

int site_table_wants_parts;

/* Weights lie apart; a graph is built in `arena`, from its begin on. */
static struct tensor weights[LAYERS][4], cache, arena[MAX_TENSORS];
static const void *nodes[MAX_TENSORS];
static int node_count, tokens, kv, sites_asked;
static uint64_t site_hashes[MAX_SITES];
static uint8_t classes[OPERATION_CLASSES];

static const char *op_desc(const void *tensor)
{
	static const char *const names[] = {
		"NONE", "VIEW", "MUL_MAT", "ADD", "CPY", "FLASH_ATTN_EXT", "ROPE"};

	return names[((const struct tensor *)tensor)->op];
}

static int graph_node_count(const void *graph)
{
	(void)graph;
	return node_count;
}

static const void *graph_node(const void *graph, int index)
{
	(void)graph;
	return nodes[index];
}

static const void *const *graph_nodes(const void *graph)
{
	(void)graph;
	return nodes;
}

static struct engine engine = {
	.op_desc = op_desc,
	.graph_node_count = graph_node_count,
	.graph_node = graph_node,
	.graph_nodes = graph_nodes,
	.layout = {offsetof(struct tensor, type), offsetof(struct tensor, ne),
		offsetof(struct tensor, op), offsetof(struct tensor, source), TENSOR_SOURCES, 0,
		offsetof(struct tensor, name)},
	.layout_known = 1,
	.operation_class = classes,
};

enum operation_class engine_operation_new(const struct engine *e, const void *node)
{
	(void)e, (void)node;
	fail();
	return OPERATION_WORK;
}

const void *engine_fused(const struct engine *e, const void *norm, const void *next)
{
	(void)e, (void)norm, (void)next;
	return NULL;
}

int16_t *derived_layers(const struct engine *e, const void *graph, uint32_t count)
{
	(void)e, (void)graph, (void)count;
	return NULL;
}

void surrounded_layers(const struct engine *e, struct executed_node *executed, uint32_t count)
{
	(void)e, (void)executed, (void)count;
}

struct masks *masks_find(const struct engine *e, const struct known_node *known, uint32_t count)
{
	(void)e, (void)known, (void)count;
	return NULL;
}

void notes_engine(const struct engine *e, uint32_t *told)
{
	(void)e, (void)told;
}

static uint64_t hash_tensor(uint64_t hash, const struct tensor *t)
{
	for (size_t i = 0; i < sizeof t->name; i += 8) {
		uint64_t word;
		memcpy(&word, t->name + i, 8);
		hash = hash_add(hash, word);
	}
	for (int i = 0; i < TENSOR_DIMS; i++)
		hash = hash_add(hash, (uint64_t)t->ne[i]);
	return hash_add(hash, (uint64_t)t->type << 32 | (uint64_t)t->op);
}

/* The truth: of a node and what it reads. */
static uint32_t true_site(const struct tensor *node)
{
	uint64_t hash = hash_tensor(0, node);

	for (int i = 0; i < TENSOR_SOURCES; i++)
		hash = node->source[i] ? hash_tensor(hash_add(hash, (uint64_t)i), node->source[i])
				       : hash;
	uint32_t site = (uint32_t)(hash % MAX_SITES);
	while (!site || (site_hashes[site] && site_hashes[site] != hash))
		site = (site + 1) % MAX_SITES;
	site_hashes[site] = hash;
	return site;
}

void site_table_find(const struct engine *e, const void *node, const void *mul, int part, int layer,
	struct site_found *found)
{
	(void)e, (void)mul, (void)part, (void)layer;
	sites_asked++;
	*found = (struct site_found){true_site(node), 1, -1};
}

static struct tensor *tensor(int op, int64_t a, int64_t b, int64_t c, struct tensor *x,
	struct tensor *y, struct tensor *z)
{
	struct tensor *t = &arena[node_count];

	assert_in_range(node_count, 0, MAX_TENSORS - 1);
	*t = (struct tensor){0, {a, b, c, 1}, op, {x, y, z}, ""};
	snprintf(t->name, sizeof t->name, "%d", node_count);
	nodes[node_count++] = t;
	return t;
}

static struct tensor *layer(struct tensor *x, int il)
{
	struct tensor *w = weights[il];
	struct tensor *q = tensor(MUL_MAT, 64, tokens, 1, &w[0], x, NULL);

	q = tensor(VIEW, 16, 4, tokens, q, NULL, NULL);
	q = tensor(ROPE, 16, 4, tokens, q, NULL, NULL);
	q = tensor(VIEW, 16, tokens, 4, q, NULL, NULL);
	struct tensor *k = tensor(VIEW, 16, kv, 2, &cache, NULL, NULL);
	struct tensor *v = tensor(VIEW, 16, kv, 2, &cache, NULL, NULL);
	struct tensor *a = tensor(FLASH_ATTN, 16, 4, tokens, q, k, v);
	a = tensor(VIEW, 64, tokens, 1, a, NULL, NULL);
	a = tensor(MUL_MAT, 64, tokens, 1, &w[1], a, NULL);
	a = tensor(ADD, 64, tokens, 1, a, x, NULL);
	struct tensor *up = tensor(MUL_MAT, 176, tokens, 1, &w[2], a, NULL);
	up = tensor(MUL_MAT, 64, tokens, 1, &w[3], up, NULL);
	return tensor(ADD, 64, tokens, 1, up, a, NULL);
}

static void build(int with_tokens, int with_kv)
{
	static struct tensor input = {0, {64, TOKENS, 1, 1}, NONE, {NULL}, "input"};

	node_count = 0;
	tokens = with_tokens;
	kv = with_kv;
	input.ne[1] = tokens;
	struct tensor *x = tensor(CPY, 64, tokens, 1, &input, NULL, NULL);
	for (int il = 0; il < LAYERS; il++)
		x = layer(x, il);
	attach_shared.graph_generation++;
}
