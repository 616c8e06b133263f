/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a node (node_text.h). Texts are zeroed before they are filled, so that equal nodes are
 * equal bytes. Called by the site table when a thread's cache does not know a node.
 */
#include "attach/ggml/node_text.h"

#include <stdio.h>
#include <string.h>
#include "brick/registry.h"

static void copy_text(char *to, size_t bytes, const char *from)
{
	size_t n = from ? strnlen(from, bytes - 1) : 0;

	memcpy(to, from ? from : "", n);
}

static void read_tensor(struct tensor_text *text, const struct engine *e, const void *tensor)
{
	if (e->op_desc)
		copy_text(text->operation, sizeof text->operation, e->op_desc(tensor));
	if (e->get_name)
		copy_text(text->name, sizeof text->name, e->get_name(tensor));
	if (!e->layout_known)
		return;
	text->type = tensor_int32(tensor, e->layout.type);
	memcpy(text->ne, tensor_ne(&e->layout, tensor), sizeof text->ne);
}

static void read_sources(
	struct node_text *text, const struct engine *e, const void *tensor, const void *except)
{
	for (uint32_t i = 0; i < e->layout.source_count; i++) {
		const void *source = tensor_source(&e->layout, tensor, i);

		if (text->source_count == TENSOR_SOURCES)
			return;
		/* An absent source keeps its place: formulas count on the order. */
		if (source && source != except)
			read_tensor(&text->source[text->source_count], e, source);
		if (source != except)
			text->source_count++;
	}
}

static void trim_sources(struct node_text *text)
{
	while (text->source_count && !text->source[text->source_count - 1].operation[0])
		text->source_count--;
}

void node_text_read(
	struct node_text *text, const struct engine *e, const void *node, const void *mul)
{
	memset(text, 0, sizeof *text);
	text->has_shapes = e->layout_known;
	read_tensor(&text->self, e, mul ? mul : node);
	if (mul)
		snprintf(text->self.operation, sizeof text->self.operation, "RMS_NORM+MUL");
	if (!e->layout_known) {
		if (e->element_count)
			text->elements = (uint64_t)e->element_count(mul ? mul : node);
		return;
	}
	read_sources(text, e, node, NULL);
	trim_sources(text);
	if (mul) {
		read_sources(text, e, mul, node);
		trim_sources(text);
	}
}

uint64_t node_text_hash(const struct node_text *text)
{
	uint64_t hash = 0x9e3779b97f4a7c15ull;
	size_t bytes =
		offsetof(struct node_text, source) + text->source_count * sizeof text->source[0];

	_Static_assert(sizeof(struct tensor_text) % 8 == 0 || sizeof(struct tensor_text) % 4 == 0,
		"hashed in words");
	for (size_t i = 0; i + 4 <= bytes; i += 4) {
		uint32_t word;
		memcpy(&word, (const char *)text + i, sizeof word);
		hash = (hash ^ word) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	hash = (hash ^ text->elements) * 0xff51afd7ed558ccdull;
	hash ^= hash >> 29;
	return hash ? hash : 1;
}

static void fill_work(
	struct work_tensor *work, const struct tensor_text *text, const struct engine *e)
{
	if (!text->operation[0])
		return;
	memcpy(work->ne, text->ne, sizeof work->ne);
	int64_t block = e->block_size(text->type);
	work->block = block > 0 ? (uint64_t)block : 0;
	work->block_bytes = e->type_size(text->type);
}

void node_text_work(
	const struct node_text *text, const struct engine *e, struct work_counts *counts)
{
	struct work_node node = {.operation = text->self.operation};

	if (!text->has_shapes) {
		*counts = (struct work_counts){
			e->element_count ? BRICK_SITE_HAS_ELEMENTS : 0, text->elements, 0, 0};
		return;
	}
	fill_work(&node.out, &text->self, e);
	for (uint32_t i = 0; i < text->source_count; i++)
		fill_work(&node.source[i], &text->source[i], e);
	work_count(&node, counts);
}
