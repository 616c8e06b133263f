/* SPDX-License-Identifier: Apache-2.0 */
/* What is looked at of graphs (shown_graph.h). */
#include "attach/ggml/shown_graph.h"

#include <stdlib.h>
#include <string.h>
#include "attach/ggml/known_node.h"
#include "base/hash.h"

enum { MAX_NODES = 1 << 20, NAMED_EVERY = 16, OUTLINE_NODES = 16 };

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

static uint64_t mix_node(
	uint64_t hash, const struct engine *e, const struct shape_offsets *at, const void *node)
{
	const struct tensor_layout *l = &e->layout;
	uint64_t sources = (uint64_t)(uintptr_t)tensor_source(l, node, 0) ^
			   known_rotate((uint64_t)(uintptr_t)tensor_source(l, node, 1), 29);

	return mix(hash, node_shape(at, node, 0) ^ known_rotate((uint64_t)(uintptr_t)node, 7) ^
				 known_rotate(sources, 13));
}

uint64_t shown_signature(const struct shown_graph *s)
{
	const struct shape_offsets at = engine_shape_offsets(s->engine);
	uint64_t hash = s->count;

	for (uint32_t i = 0; i < s->count; i++) {
		const void *node = shown_node(s, i);
		if (!node)
			continue;
		hash = mix_node(hash, s->engine, &at, node);
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
		hash = mix_node(hash, s->engine, &at, node);
		hash = mix_name(hash, tensor_field(node, s->engine->layout.name));
	}
	return hash;
}

static inline uint64_t word_at(const void *node, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, (const char *)node + offset, sizeof word);
	return word;
}

/* No word waits for the ones before it but with an addition. */
struct sums {
	uint64_t of_words, of_sums;
};

static inline void add_word(struct sums *s, uint64_t word)
{
	s->of_words += word * (known_rotate(word, 32) | 1);
	s->of_sums += s->of_words;
}

uint64_t shown_details(const struct shown_graph *shown, const struct shown_order *o)
{
	const uint32_t source = shown->engine->layout.source;
	const struct shape_offsets at = engine_shape_offsets(shown->engine);
	const void *const *nodes = shown->nodes;
	struct sums s = {0, 0};
	uint32_t i = 0;

	for (; i < o->executed; i++) {
		const void *node = nodes[o->index[i]];
		add_word(&s, word_at(node, source) ^ known_rotate(word_at(node, source + 8), 29));
	}
	for (; i < o->count; i++)
		add_word(&s, node_shape(&at, nodes[o->index[i]], 0));
	return s.of_words ^ known_rotate(s.of_sums, 32);
}

/* Views are not; of a conversion the type is not seen by a hook either. */
static int shows_itself(const struct engine *e, const void *node)
{
	return engine_operation(e, node) != OPERATION_EMPTY && strcmp(e->op_desc(node), "CPY") != 0;
}

struct shown_order *shown_order(const struct shown_graph *s)
{
	const struct engine *e = s->engine;

	if (!s->nodes || !e->layout_known || !e->op_desc)
		return NULL;
	struct shown_order *o = malloc(sizeof *o + 2 * s->count * sizeof o->index[0]);
	if (!o)
		return NULL;
	o->executed = o->count = 0;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->nodes[i] && engine_operation(e, s->nodes[i]) != OPERATION_EMPTY)
			o->index[o->executed++] = i;
	o->count = o->executed;
	for (uint32_t i = 0; i < s->count; i++)
		if (s->nodes[i] && !shows_itself(e, s->nodes[i]))
			o->index[o->count++] = i;
	return o;
}
