/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the graph itself (ggml_dataflow.h). A tensor's producer is found through views; a view of a
 * cache was produced by the node that wrote there last. This is done when a graph begins, so it
 * costs nothing between nodes.
 */
#include "attach/ggml/graphs/ggml_dataflow.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/ggml/nodes/method.h"
#include "attach/ggml/nodes/node_text.h"
#include "base/fnv.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/scope.h"
#include "brick/brick.h"
#include "brick/abi/dataflow.h"
#include "brick/queue.h"
#include "lib/sys/environment.h"

enum { MAX_GRAPHS = 16, MAX_NODES = 1 << 16, MAX_VIEWS = 16, SIGNED_NODES = 8 };

struct flow {
	const struct engine *engine;
	struct executed {
		const void *node, *mul; /* mul: computed along with it */
	} * nodes;
	int32_t count;
	struct hashmap producers; /* of nodes that are executed, and of caches: index in nodes */
	bool failed;
	FILE *out;
};

static uint64_t dataflow_seen[MAX_GRAPHS];
static uint32_t seen_count;
static bool dataflow_is_wanted;
static pthread_mutex_t dataflow_lock = PTHREAD_MUTEX_INITIALIZER;

ENVIRONMENT_READER(dataflow_read_environment)
{
	dataflow_is_wanted = capture_wants("graph");
}

/* Who produced what. */

static void set_producer(struct flow *f, const void *tensor, int32_t producer)
{
	f->failed |= hashmap_set(&f->producers, (uintptr_t)tensor, (uint64_t)producer) < 0;
}

/* The memory that a tensor lies in: its own, or that of what it is a view of. */
static const void *root_of(const struct engine *e, const void *tensor)
{
	for (int i = 0; i < MAX_VIEWS && tensor_view_source(&e->layout, tensor); i++)
		tensor = tensor_view_source(&e->layout, tensor);
	return tensor;
}

/* -1: a weight or an input. */
static int32_t producer_of(struct flow *f, const void *tensor)
{
	const struct engine *e = f->engine;

	for (int i = 0; tensor && i < MAX_VIEWS; i++) {
		uint64_t producer = hashmap_get(&f->producers, (uintptr_t)tensor);
		if (producer != HASHMAP_NONE)
			return (int32_t)producer;
		const void *next = tensor_view_source(&e->layout, tensor);
		tensor = next			      ? next
			 : engine_executes(e, tensor) ? NULL
						      : tensor_source(&e->layout, tensor, 0);
	}
	return -1;
}

/* The text. */

static void write_node(struct flow *f, int32_t index)
{
	struct node_text text;

	node_text_read(&text, f->engine, f->nodes[index].node, f->nodes[index].mul);
	fprintf(f->out, "%.31s\t%.63s", text.self.operation, text.self.name);
}

static void write_sources(struct flow *f, int32_t consumer, const void *node)
{
	const struct engine *e = f->engine;

	for (uint32_t i = 0; i < e->layout.source_count; i++) {
		const void *source = tensor_source(&e->layout, node, i);
		int32_t producer = source ? producer_of(f, source) : -1;
		if (producer < 0 || producer == consumer)
			continue;
		write_node(f, producer);
		fputc('\t', f->out);
		write_node(f, consumer);
		fputc('\n', f->out);
	}
}

/* Writes the graph's text, and keeps it in the recording. */
static void dataflow_keep(const struct engine *e, const void *graph, int count)
{
	struct flow f = {.engine = e};
	char *text = NULL;
	size_t bytes = 0;

	f.nodes = calloc((size_t)count, sizeof(*f.nodes));
	f.out = f.nodes ? open_memstream(&text, &bytes) : NULL;
	for (int i = 0; f.out && i < count; i++) {
		const void *node = e->graph_node(graph, i);
		if (!node || !engine_executes(e, node))
			continue;
		const void *mul =
			i + 1 < count ? engine_fused(e, node, e->graph_node(graph, i + 1)) : NULL;
		int32_t index = f.count++;
		f.nodes[index] = (struct executed){node, mul};
		write_sources(&f, index, node);
		if (mul)
			write_sources(&f, index, mul);
		set_producer(&f, node, index);
		set_producer(&f, root_of(e, mul ? mul : node), index);
		if (mul)
			set_producer(&f, mul, index);
		i += mul != NULL;
	}
	if (f.out && !fclose(f.out) && bytes && !f.failed) {
		char name[48];
		snprintf(name, sizeof(name), "graph of %d nodes", f.count);
		brick_code_register(text, bytes, name, BRICK_DATAFLOW_PATH);
		brick_note("capture.graph", "on");
	}
	free(text);
	free(f.nodes);
	hashmap_fini(&f.producers);
}

/* Graphs are told apart by the number of their nodes and the names of some. */
static uint64_t signature(const struct engine *e, const void *graph, int count)
{
	uint64_t hash = hash_u64((uint64_t)count);

	for (int k = 0; k < SIGNED_NODES; k++) {
		const void *node =
			e->graph_node(graph, (int)((int64_t)(count - 1) * k / (SIGNED_NODES - 1)));
		const char *name = node ? tensor_field(node, e->layout.name) : "";
		hash = fnv1a_add(hash, name, strnlen(name, TENSOR_NAME_BYTES));
	}
	return hash ? hash : 1;
}

void dataflow_graph(const struct engine *engine, const void *graph)
{
	KEEP_ERRNO();

	if (!dataflow_is_wanted || !engine || !engine->layout_known || !engine->graph_node ||
		!engine->graph_node_count)
		return;
	int count = engine->graph_node_count(graph);
	if (count <= 0 || count > MAX_NODES)
		return;
	HOLD(&dataflow_lock);
	uint64_t hash = signature(engine, graph, count);
	for (uint32_t i = 0; i < seen_count; i++)
		if (dataflow_seen[i] == hash)
			return;
	if (seen_count == MAX_GRAPHS)
		return;
	dataflow_seen[seen_count++] = hash;
	dataflow_keep(engine, graph, count);
}
