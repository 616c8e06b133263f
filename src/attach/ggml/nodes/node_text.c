/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a node, and the table of given names (node_text.h). Texts are zeroed before they are
 * filled, so that equal nodes are equal bytes. Engines build their graphs at the same addresses
 * again, so the table of names stops growing.
 */
#include "attach/ggml/nodes/node_text.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/scope.h"
#include "brick/registry.h"

enum { MAX_GIVEN = 1 << 16 }; /* further tensors get no names */

struct given {
	const void *tensor;
	char own[16]; /* the first bytes of its name in the engine; not terminated if all are used
		       */
	char name[GIVEN_NAME_BYTES];
};

static ARRAY(struct given) node_text_names;
static struct hash_index by_address;
static uint32_t node_text_used; /* 1: a name was given */
pthread_mutex_t given_names_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. */
static struct given *node_text_find(const void *tensor)
{
	struct hash_probe probe = hash_probe(hash_pointer(tensor));

	for (uint32_t i; (i = hash_index_next(&by_address, &probe)) != HASH_INDEX_NONE;)
		if (node_text_names.items[i].tensor == tensor)
			return &node_text_names.items[i];
	return NULL;
}

void given_name_set(const void *tensor, const char *own, const char *given)
{
	HOLD(&given_names_mutex);
	struct given *g = node_text_find(tensor);
	if (!g) {
		const struct given new = {.tensor = tensor};
		if (node_text_names.count >= MAX_GIVEN || hash_index_reserve(&by_address) ||
			array_push(&node_text_names, new))
			return;
		uint32_t at = (uint32_t)node_text_names.count - 1;
		hash_index_add(&by_address, hash_pointer(tensor), at);
		g = &node_text_names.items[at];
	}
	memset(g->own, 0, sizeof(g->own));
	memcpy(g->own, own, strnlen(own, sizeof(g->own)));
	snprintf(g->name, sizeof(g->name), "%s", given);
	__atomic_store_n(&node_text_used, 1, __ATOMIC_RELEASE);
}

bool given_names_any(void)
{
	return __atomic_load_n(&node_text_used, __ATOMIC_ACQUIRE) != 0;
}

const char *given_name_of(const void *tensor, const char *own)
{
	const struct given *g = node_text_find(tensor);

	return g && !strncmp(g->own, own, sizeof(g->own)) ? g->name : NULL;
}

static void node_text_copy(char *to, size_t bytes, const char *from)
{
	size_t n = from ? strnlen(from, bytes - 1) : 0;

	memcpy(to, from ? from : "", n);
}

/* has_given: there are given names, and the caller holds their lock. */
static void read_tensor(
	struct tensor_text *text, const struct engine *e, const void *tensor, bool has_given)
{
	if (e->op_desc)
		node_text_copy(text->operation, sizeof(text->operation), e->op_desc(tensor));
	const char *name = e->get_name ? e->get_name(tensor) : NULL;
	const char *given = name && has_given ? given_name_of(tensor, name) : NULL;
	if (name)
		node_text_copy(text->name, sizeof(text->name), given ? given : name);
	if (!e->layout_known)
		return;
	text->type = tensor_int32(tensor, e->layout.type);
	memcpy(text->ne, tensor_ne(&e->layout, tensor), sizeof(text->ne));
}

static void node_text_read_sources(struct node_text *text, const struct engine *e,
	const void *tensor, const void *except, bool has_given)
{
	for (uint32_t i = 0; i < e->layout.source_count; i++) {
		const void *source = tensor_source(&e->layout, tensor, i);

		if (text->source_count == TENSOR_SOURCES)
			return;
		/* An absent source keeps its place: formulas count on the order. */
		if (source && source != except)
			read_tensor(&text->source[text->source_count], e, source, has_given);
		if (source != except)
			text->source_count++;
	}
}

/*
 * See node_text.results. Both factors are results of nodes, no weight, as in the two products of
 * attention.
 */
static const char *results_of(
	const struct engine *e, const void *node, const struct tensor_text *self)
{
	const char *results = "RESULTS";

	if (strcmp(self->operation, "MUL_MAT") || !tensor_is_nameless(self->name))
		return "";
	for (uint32_t i = 0; i < 2; i++) {
		const void *source = tensor_source(&e->layout, node, i);
		source = source ? engine_shown(e, source) : NULL;
		if (!source || !engine_executes(e, source))
			return "";
		if (!strncmp(e->op_desc(source), "SOFT_MAX", 8))
			results = "SOFT_MAX";
	}
	return results;
}

static void trim_sources(struct node_text *text)
{
	while (text->source_count && !text->source[text->source_count - 1].operation[0])
		text->source_count--;
}

static void node_text_read_all(struct node_text *text, const struct engine *e, const void *node,
	const void *mul, bool has_given)
{
	read_tensor(&text->self, e, mul ? mul : node, has_given);
	if (mul)
		snprintf(text->self.operation, sizeof(text->self.operation), "RMS_NORM+MUL");
	if (!e->layout_known) {
		if (e->element_count)
			text->elements = (uint64_t)e->element_count(mul ? mul : node);
		return;
	}
	node_text_read_sources(text, e, node, NULL, has_given);
	trim_sources(text);
	if (!mul && e->op_desc)
		text->results = results_of(e, node, &text->self);
	if (mul) {
		node_text_read_sources(text, e, mul, node, has_given);
		trim_sources(text);
	}
}

void node_text_read(
	struct node_text *text, const struct engine *e, const void *node, const void *mul)
{
	bool has_given = given_names_any();

	memset(text, 0, sizeof(*text));
	text->has_shapes = e->layout_known;
	text->results = "";
	if (has_given)
		pthread_mutex_lock(&given_names_mutex);
	node_text_read_all(text, e, node, mul, has_given);
	if (has_given)
		pthread_mutex_unlock(&given_names_mutex);
}

static uint64_t node_text_hash_bytes(uint64_t hash, const char *text, size_t bytes)
{
	uint64_t word;

	for (size_t i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
		memcpy(&word, text + i, sizeof(word));
		hash = hash_add(hash, word);
		if (!text[i + sizeof(word) - 1]) /* zeroed from its end on */
			break;
	}
	return hash;
}

static uint64_t hash_names(uint64_t hash, const struct tensor_text *tensor)
{
	hash = node_text_hash_bytes(hash, tensor->name, sizeof(tensor->name));
	return node_text_hash_bytes(hash, tensor->operation, sizeof(tensor->operation));
}

static uint64_t hash_shape(uint64_t hash, const struct tensor_text *tensor)
{
	for (int i = 0; i < TENSOR_DIMS; i++)
		hash = hash_add(hash, (uint64_t)tensor->ne[i]);
	return hash_add(hash, (uint32_t)tensor->type);
}

struct node_hash node_text_hash(const struct node_text *text)
{
	uint64_t names = hash_names(hash_u64(text->source_count), &text->self);

	for (uint32_t i = 0; i < text->source_count; i++)
		names = hash_names(names, &text->source[i]);
	if (*text->results)
		names = hash_add(names, (uint64_t)*text->results);
	uint64_t all = hash_shape(hash_add(names, text->elements), &text->self);
	for (uint32_t i = 0; i < text->source_count; i++)
		all = hash_shape(all, &text->source[i]);
	return (struct node_hash){names, all};
}

static void node_text_fill_work(
	struct work_tensor *work, const struct tensor_text *text, const struct engine *e)
{
	if (!text->operation[0])
		return;
	memcpy(work->ne, text->ne, sizeof(work->ne));
	int64_t block = e->block_size(text->type);
	work->block = block > 0 ? (uint64_t)block : 0;
	work->block_bytes = e->type_size(text->type);
}

void node_text_fill(const struct node_text *text, const struct engine *e, struct work_node *node)
{
	*node = (struct work_node){.operation = text->self.operation};
	node_text_fill_work(&node->out, &text->self, e);
	for (uint32_t i = 0; i < text->source_count; i++)
		node_text_fill_work(&node->source[i], &text->source[i], e);
}

void node_text_work(
	const struct node_text *text, const struct engine *e, struct work_counts *counts)
{
	struct work_node node;

	if (!text->has_shapes) {
		*counts = (struct work_counts){
			e->element_count ? BRICK_SITE_HAS_ELEMENTS : 0, text->elements, 0, 0};
		return;
	}
	node_text_fill(text, e, &node);
	work_count(&node, counts);
}
