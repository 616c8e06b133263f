/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution graph as JSON (all of it) and as compressed sparse rows in JSON arrays (what other
 * graph libraries load). What is not known is left out of the one and null in the other.
 */
#include "lib/graph/graph_text.h"

#include <errno.h>
#include "base/order.h"
#include "base/scope.h"

static void put_key_text(struct brick__sink *sink, const char *key, const char *text)
{
	brick__put(sink, key);
	brick__put_json(sink, text);
}

static void graph_json_put_triple(struct brick__sink *sink, const char *key, const uint32_t *triple)
{
	brick__put(sink, key);
	for (int i = 0; i < 3; i++) {
		brick__put(sink, i ? "," : "[");
		brick__put_u64(sink, triple[i]);
	}
	brick__put(sink, "]");
}

static void graph_json_put_kernel(struct brick__sink *sink, const struct brick_graph_node *node)
{
	const struct brick_graph_kernel *k = &node->kernel;

	if (k->code) {
		brick__put(sink, ",\"code\":\"");
		brick__put_hex(sink, k->code);
		brick__put(sink, "\"");
	}
	if (k->grid[0])
		graph_json_put_triple(sink, ",\"grid\":", k->grid);
	if (k->block[0])
		graph_json_put_triple(sink, ",\"block\":", k->block);
	if (k->grid[0] || k->shared_bytes)
		brick__put_key_u64(sink, ",\"shared_bytes\":", k->shared_bytes);
	if (node->flags & BRICK_NODE_HAS_INTENSITY) {
		brick__put(sink, ",\"intensity\":");
		brick__put_double(sink, k->intensity);
	}
	if (node->flags & BRICK_NODE_HAS_TFLOPS) {
		brick__put(sink, ",\"tflops\":");
		brick__put_double(sink, k->tflops);
	}
}

static void graph_json_put_details(struct brick__sink *sink, const struct brick_graph_node *node)
{
	switch (node->kind) {
	case BRICK_NODE_KERNEL:
		graph_json_put_kernel(sink, node);
		break;
	case BRICK_NODE_TRANSFER:
		put_key_text(sink, ",\"source\":", node->transfer.source);
		put_key_text(sink, ",\"target\":", node->transfer.target);
		put_key_text(sink, ",\"direction\":", brick__directions[node->transfer.direction]);
		break;
	case BRICK_NODE_FUNCTION:
		if (!node->function.file)
			break;
		put_key_text(sink, ",\"file\":", node->function.file);
		brick__put_key_u64(sink, ",\"line\":", node->function.line);
		break;
	case BRICK_NODE_TASK:
		brick__put_key_u64(sink, ",\"polls\":", node->task.polls);
		brick__put_key_u64(sink, ",\"yields\":", node->task.yields);
		brick__put_key_u64(sink, ",\"poll_ns\":", node->task.poll_ns);
		break;
	}
}

static void graph_json_put_node(struct brick_graph *graph, struct brick__sink *sink, uint32_t id)
{
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;

	brick_graph_node_get(graph, id, &node);
	brick__put_key_u64(sink, "{\"id\":", id);
	put_key_text(sink, ",\"kind\":", brick__node_kinds[node.kind]);
	put_key_text(sink, ",\"name\":", node.name);
	if (node.label)
		put_key_text(sink, ",\"label\":", node.label);
	brick__put_key_u64(sink, ",\"lane\":", node.lane);
	if (node.flags & BRICK_NODE_HAS_LAYER) {
		brick__put(sink, ",\"layer\":");
		brick__put_i64(sink, node.layer);
	}
	if (node.flags & BRICK_NODE_HAS_BEGIN)
		brick__put_key_u64(sink, ",\"begin_ns\":", node.begin_ns);
	if (node.flags & BRICK_NODE_HAS_TIME)
		brick__put_key_u64(sink, ",\"time_ns\":", node.time_ns);
	if (node.wait_ns)
		brick__put_key_u64(sink, ",\"wait_ns\":", node.wait_ns);
	if (node.flags & BRICK_NODE_HAS_ELEMENTS)
		brick__put_key_u64(sink, ",\"elements\":", node.elements);
	if (node.flags & BRICK_NODE_HAS_BYTES)
		brick__put_key_u64(sink, ",\"bytes\":", node.bytes);
	graph_json_put_details(sink, &node);
	if (node.flags & BRICK_NODE_MARKED)
		brick__put(sink, ",\"marked\":true");
	brick__put(sink, "}");
}

COMPARATOR(compare_lanes, struct hashmap_slot, ORDER(x->key, y->key))

/* Lanes with a name, by number. */
static int put_lanes(struct brick_graph *graph, struct brick__sink *sink)
{
	const struct hashmap *map = &graph->lane_names;
	SCOPED struct hashmap_slot *lanes = malloc((map->count + 1) * sizeof(*lanes));
	uint32_t n = 0;

	if (!lanes)
		return -ENOMEM;
	for (const struct hashmap_slot *s = NULL; (s = hashmap_next(map, s));)
		lanes[n++] = *s;
	qsort(lanes, n, sizeof(*lanes), compare_lanes);
	for (uint32_t i = 0; i < n; i++) {
		brick__put_key_u64(sink, i ? ",\n{\"lane\":" : "\n{\"lane\":", lanes[i].key);
		put_key_text(
			sink, ",\"name\":", brick__graph_text(graph, (uint32_t)lanes[i].value));
		brick__put(sink, "}");
	}
	return 0;
}

int brick__graph_put_json(struct brick_graph *graph, struct brick__sink *sink)
{
	brick__put(sink, "{\"schema\":\"brick/graph/1\",\n\"nodes\":[");
	for (uint32_t i = 0; i < graph->nodes.count; i++) {
		brick__put(sink, i ? ",\n" : "\n");
		graph_json_put_node(graph, sink, i);
	}
	brick__put(sink, "],\n\"edges\":[");
	for (uint32_t i = 0; i < graph->edges.count; i++) {
		const struct brick__edge *edge = &graph->edges.items[i];
		brick__put_key_u64(sink, i ? ",\n{\"from\":" : "\n{\"from\":", edge->from);
		brick__put_key_u64(sink, ",\"to\":", edge->to);
		put_key_text(sink, ",\"kind\":", brick__edge_kinds[graph->edge_kinds.items[i]]);
		brick__put(sink, ",\"weight\":");
		brick__put_double(sink, edge->weight);
		brick__put(sink, "}");
	}
	brick__put(sink, "],\n\"lanes\":[");
	int error = put_lanes(graph, sink);
	brick__put(sink, "],\n\"code\":[");
	for (uint32_t i = 0; i < graph->codes.count; i++) {
		const struct brick__code *code = &graph->codes.items[i];
		brick__put(sink, i ? ",\n{\"hash\":\"" : "\n{\"hash\":\"");
		brick__put_hex(sink, code->hash);
		put_key_text(sink, "\",\"name\":", code->name);
		put_key_text(sink, ",\"path\":", code->path);
		put_key_text(sink, ",\"source\":", code->source);
		brick__put(sink, "}");
	}
	brick__put(sink, "]}\n");
	return error;
}

/*
 * An execution graph as compressed sparse rows: the edges that leave node v stand in columns and
 * weights at row[v] .. row[v + 1] - 1. In JSON arrays, as every language can read them.
 */

struct array {
	struct brick__sink *sink;
	size_t count;
};

static struct array open_array(struct brick__sink *sink, const char *key)
{
	brick__put(sink, ",\n\"");
	brick__put(sink, key);
	brick__put(sink, "\":[");
	return (struct array){sink, 0};
}

/* Before each value; a new line now and then, for those who look at it. */
static struct brick__sink *graph_json_next(struct array *array)
{
	if (array->count++)
		brick__put(array->sink, array->count % 32 == 1 ? ",\n" : ",");
	return array->sink;
}

static void close_array(struct array *array)
{
	brick__put(array->sink, "]");
}

static void put_kinds(
	struct brick__sink *sink, const char *key, const char *const *names, int count)
{
	struct array array = open_array(sink, key);

	for (int i = 0; i < count; i++)
		brick__put_json(graph_json_next(&array), names[i]);
	close_array(&array);
}

int brick__graph_put_csr(struct brick_graph *graph, struct brick__sink *sink)
{
	const uint32_t *edges, nodes = (uint32_t)graph->nodes.count;
	int error = nodes ? brick_graph_out(graph, 0, &edges) : 0;

	if (error < 0)
		return error;
	brick__put_key_u64(sink, "{\"schema\":\"brick/graph-csr/1\",\n\"nodes\":", nodes);
	brick__put_key_u64(sink, ",\"edges\":", graph->edges.count);
	put_kinds(sink, "node_kinds", brick__node_kinds, BRICK_NODE_KINDS);
	put_kinds(sink, "edge_kinds", brick__edge_kinds, BRICK_EDGE_KINDS);
	struct array array = open_array(sink, "names");
	for (uint32_t i = 0; i < graph->names.entries.count; i++)
		brick__put_json(graph_json_next(&array), graph->names.entries.items[i].text);
	close_array(&array);
	array = open_array(sink, "name");
	for (uint32_t v = 0; v < nodes; v++)
		brick__put_u64(graph_json_next(&array), graph->nodes.items[v].name);
	close_array(&array);
	array = open_array(sink, "kind");
	for (uint32_t v = 0; v < nodes; v++)
		brick__put_u64(graph_json_next(&array), graph->nodes.items[v].kind);
	close_array(&array);
	array = open_array(sink, "time_ns");
	for (uint32_t v = 0; v < nodes; v++)
		if (graph->nodes.items[v].flags & BRICK_NODE_HAS_TIME)
			brick__put_u64(graph_json_next(&array), graph->nodes.items[v].time_ns);
		else
			brick__put(graph_json_next(&array), "null");
	close_array(&array);
	array = open_array(sink, "row");
	for (uint32_t v = 0; v <= nodes; v++)
		brick__put_u64(graph_json_next(&array), nodes ? graph->out.first[v] : 0);
	close_array(&array);
	array = open_array(sink, "column");
	for (uint32_t i = 0; i < graph->edges.count; i++)
		brick__put_u64(graph_json_next(&array), graph->edges.items[graph->out.edges[i]].to);
	close_array(&array);
	array = open_array(sink, "edge_kind");
	for (uint32_t i = 0; i < graph->edges.count; i++)
		brick__put_u64(
			graph_json_next(&array), graph->edge_kinds.items[graph->out.edges[i]]);
	close_array(&array);
	array = open_array(sink, "weight");
	for (uint32_t i = 0; i < graph->edges.count; i++)
		brick__put_double(
			graph_json_next(&array), graph->edges.items[graph->out.edges[i]].weight);
	close_array(&array);
	brick__put(sink, "}\n");
	return 0;
}
