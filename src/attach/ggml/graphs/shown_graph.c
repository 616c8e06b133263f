/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked at of graphs (shown_graph.h). */
#include "attach/ggml/graphs/shown_graph.h"

#include <stdlib.h>
#include <string.h>
#include "attach/ggml/nodes/known_node.h"
#include "base/hash.h"
#include "base/hashmap.h"

enum { MAX_NODES = 1 << 20, NAMED_EVERY = 16, OUTLINE_NODES = 8 };

static const uint64_t EACH_BYTE = 0x0101010101010101u;

int shown_graph_read(struct shown_graph *s, const struct engine *e, const void *graph)
{
	int count = e->graph_node_count((void *)(uintptr_t)graph);

	if (count <= 0 || count > MAX_NODES)
		return 0;
	*s = (struct shown_graph){e, graph,
		e->graph_nodes ? e->graph_nodes((void *)(uintptr_t)graph) : NULL, (uint32_t)count};
	return 1;
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

static uint64_t mix_node(uint64_t hash, const struct shape_offsets *at, const void *node)
{
	return mix(hash, node_shape(at, node, 0) ^ known_rotate((uint64_t)(uintptr_t)node, 7));
}

uint64_t shown_signature(const struct shown_graph *s)
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

/* The first, the last, and some between them. */
uint64_t shown_outline(const struct shown_graph *s)
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

/* Without its operation, which lies in another line. */
static inline uint64_t shape_of(const struct shape_offsets *at, const void *node)
{
	const int64_t *ne = tensor_field(node, at->ne);

	return (uint64_t)ne[0] + (uint64_t)ne[1] * 0xd6e8feb86659fd93u +
	       (uint64_t)ne[2] * 0xa0761d6478bd642fu + (uint64_t)ne[3] * 0xe7037ed1a0b428dbu +
	       (uint64_t)(uint32_t)tensor_int32(node, at->type) * 0x8ebc6af09c88c6e3u;
}

uint64_t shown_details(const struct shown_graph *shown, const struct shown_order *o)
{
	const struct shape_offsets at = engine_shape_offsets(shown->engine);
	const void *const *nodes = shown->nodes;
	uint64_t hash = 0;

	for (uint32_t i = 0; i < o->count; i++)
		hash = hash * HASH_GOLDEN + shape_of(&at, nodes[o->index[i]]);
	return hash;
}

static int is_executed(const struct engine *e, const void *node)
{
	return node && engine_operation(e, node) != OPERATION_EMPTY;
}

enum { SEEN, LOOKED_AT }; /* shapes of what is read: where its reader is compared, or before */

struct implied {
	int64_t ne[TENSOR_DIMS];
	const void *by; /* and the shape of this; NULL: of none */
};

/* What shape that source has by the reader's own, as the engine asserts. 0: it may have others. */
static int imply(struct implied *to, const struct engine *e, const void *reader, uint32_t index)
{
	const char *operation = e->op_desc(reader);
	int is_attention = !strcmp(operation, "FLASH_ATTN_EXT");

	memcpy(to->ne, tensor_ne(&e->layout, reader), sizeof to->ne);
	to->by = NULL;
	if (!strcmp(operation, "ROPE"))
		return index == 0;
	if (index != !is_attention || (!is_attention && strcmp(operation, "MUL_MAT") != 0))
		return 0;
	to->by = tensor_source(&e->layout, reader, !index);
	if (!to->by)
		return 0;
	to->ne[0] = tensor_ne(&e->layout, to->by)[0];
	if (is_attention) { /* queries and heads change places */
		int64_t heads = to->ne[1];
		to->ne[1] = to->ne[2];
		to->ne[2] = heads;
	}
	return 1;
}

/* Non-zero: no memory. */
static int note_read(
	struct hashmap *read, const struct engine *e, const void *reader, uint32_t index)
{
	const void *source = tensor_source(&e->layout, reader, index);
	struct implied implied;

	if (!source)
		return 0;
	int is_seen = imply(&implied, e, reader, index) &&
		      !memcmp(implied.ne, tensor_ne(&e->layout, source), sizeof implied.ne);
	int failed =
		is_seen && implied.by ? hashmap_set(read, (uintptr_t)implied.by, LOOKED_AT) : 0;
	if (hashmap_get(read, (uintptr_t)source) == HASHMAP_NONE)
		failed |= hashmap_set(read, (uintptr_t)source, is_seen ? SEEN : LOOKED_AT);
	return failed;
}

/* What those that are executed read. Non-zero: no memory. */
static int find_read(const struct shown_graph *s, struct hashmap *read)
{
	int failed = 0;

	for (uint32_t i = 0; i < s->count; i++)
		for (uint32_t k = 0;
			is_executed(s->engine, s->nodes[i]) && k < s->engine->layout.source_count;
			k++)
			failed |= note_read(read, s->engine, s->nodes[i], k);
	return failed;
}

/* Views that are read; and conversions, whose type no hook sees. */
static void add_unseen(
	struct shown_order *o, const struct shown_graph *s, const struct hashmap *read)
{
	const struct engine *e = s->engine;

	for (uint32_t i = 0; i < s->count; i++)
		if (is_executed(e, s->nodes[i])
				? !strcmp(e->op_desc(s->nodes[i]), "CPY")
				: hashmap_get(read, (uintptr_t)s->nodes[i]) == LOOKED_AT)
			o->index[o->count++] = i;
}

struct shown_order *shown_order(const struct shown_graph *s)
{
	struct hashmap read = {0};
	struct shown_order *o = NULL;

	if (s->nodes && s->engine->layout_known && s->engine->op_desc)
		o = calloc(1, sizeof *o + s->count * sizeof o->index[0]);
	if (o && find_read(s, &read)) {
		free(o);
		o = NULL;
	}
	if (o)
		add_unseen(o, s, &read);
	hashmap_fini(&read);
	return o;
}
