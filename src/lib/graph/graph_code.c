/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source code of kernels, by the hash of its text: what `code` of a kernel node refers to.
 */
#include <errno.h>
#include <string.h>
#include "base/fnv.h"
#include "base/sized.h"
#include "lib/graph/graph_core.h"

static void code_fini(struct brick__code *code)
{
	free(code->name);
	free(code->source);
	free(code->path);
}

static int code_init(struct brick__code *code, const struct brick_graph_code *from)
{
	*code = (struct brick__code){.hash = from->hash,
		.name = strdup(from->name),
		.source = strdup(from->source),
		.path = from->path ? strdup(from->path) : NULL};
	if (code->name && code->source && (code->path || !from->path))
		return 0;
	code_fini(code);
	return -ENOMEM;
}

static int add(struct brick_graph *graph, struct brick_graph_code *code)
{
	if (!code->name || !*code->name || !code->source)
		return -EINVAL;
	code->hash = fnv1a_text(code->source);
	uint32_t known = brick__map_get(&graph->code_index, code->hash);
	if (known != BRICK__NONE)
		return strcmp(graph->codes.items[known].source, code->source) ? -EEXIST : 0;
	struct brick__code added;
	if (array_reserve(&graph->codes, 1) || code_init(&added, code) < 0)
		return -ENOMEM;
	if (hashmap_set(&graph->code_index, code->hash, graph->codes.count)) {
		code_fini(&added);
		return -ENOMEM;
	}
	return array_push(&graph->codes, added);
}

int brick_graph_code_add(struct brick_graph *graph, struct brick_graph_code *given)
{
	struct brick_graph_code code = BRICK_GRAPH_CODE_INIT;
	int error = sized_read(&code, sizeof code, given);

	if (!error)
		error = add(graph, &code);
	if (code.hash)
		given->hash = code.hash;
	return error;
}

int brick_graph_code_get(
	const struct brick_graph *graph, uint64_t hash, struct brick_graph_code *out)
{
	uint32_t known = brick__map_get(&graph->code_index, hash);

	if (known == BRICK__NONE)
		return -ENOENT;
	const struct brick__code *code = &graph->codes.items[known];
	const struct brick_graph_code c = {
		.hash = code->hash, .name = code->name, .source = code->source, .path = code->path};
	return sized_write(out, sizeof c, &c);
}

void brick__graph_codes_fini(struct brick_graph *graph)
{
	for (uint32_t i = 0; i < graph->codes.count; i++)
		code_fini(&graph->codes.items[i]);
	array_fini(&graph->codes);
	hashmap_fini(&graph->code_index);
}
