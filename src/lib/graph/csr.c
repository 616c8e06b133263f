/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution graph as compressed sparse rows: the edges that leave node v stand in columns and
 * weights at row[v] .. row[v + 1] - 1. In JSON arrays, as every language can read them.
 */
#include "lib/graph/write.h"

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
static struct brick__sink *next(struct array *array)
{
	if (array->count++)
		brick__put(array->sink, array->count % 32 == 1 ? ",\n" : ",");
	return array->sink;
}

static void close_array(struct array *array)
{
	brick__put(array->sink, "]");
}

static void put_names(const struct brick_graph *graph, struct brick__sink *sink)
{
	struct array array = open_array(sink, "names");

	for (uint32_t i = 0; i < graph->names.entries.count; i++)
		brick__put_json(next(&array), graph->names.entries.items[i].text);
	close_array(&array);
	array = open_array(sink, "name");
	for (uint32_t v = 0; v < graph->nodes.count; v++)
		brick__put_u64(next(&array), graph->nodes.items[v].name);
	close_array(&array);
}

static void put_nodes(const struct brick_graph *graph, struct brick__sink *sink)
{
	struct array array = open_array(sink, "kind");

	for (uint32_t v = 0; v < graph->nodes.count; v++)
		brick__put_u64(next(&array), graph->nodes.items[v].kind);
	close_array(&array);
	array = open_array(sink, "time_ns");
	for (uint32_t v = 0; v < graph->nodes.count; v++)
		if (graph->nodes.items[v].flags & BRICK_NODE_HAS_TIME)
			brick__put_u64(next(&array), graph->nodes.items[v].time_ns);
		else
			brick__put(next(&array), "null");
	close_array(&array);
}

static void put_rows(const struct brick_graph *graph, struct brick__sink *sink)
{
	struct array array = open_array(sink, "row");

	for (uint32_t v = 0; v <= graph->nodes.count; v++)
		brick__put_u64(next(&array), graph->nodes.count ? graph->out.first[v] : 0);
	close_array(&array);
	array = open_array(sink, "column");
	for (uint32_t i = 0; i < graph->edges.count; i++)
		brick__put_u64(next(&array), graph->edges.items[graph->out.edges[i]].to);
	close_array(&array);
	array = open_array(sink, "edge_kind");
	for (uint32_t i = 0; i < graph->edges.count; i++)
		brick__put_u64(next(&array), graph->edge_kinds.items[graph->out.edges[i]]);
	close_array(&array);
	array = open_array(sink, "weight");
	for (uint32_t i = 0; i < graph->edges.count; i++)
		brick__put_double(next(&array), graph->edges.items[graph->out.edges[i]].weight);
	close_array(&array);
}

static void put_kinds(
	struct brick__sink *sink, const char *key, const char *const *names, int count)
{
	struct array array = open_array(sink, key);

	for (int i = 0; i < count; i++)
		brick__put_json(next(&array), names[i]);
	close_array(&array);
}

int brick__graph_put_csr(struct brick_graph *graph, struct brick__sink *sink)
{
	const uint32_t *edges;
	int error = graph->nodes.count ? brick_graph_out(graph, 0, &edges) : 0;

	if (error < 0)
		return error;
	brick__put(sink, "{\"schema\":\"brick/graph-csr/1\",\n\"nodes\":");
	brick__put_u64(sink, graph->nodes.count);
	brick__put(sink, ",\"edges\":");
	brick__put_u64(sink, graph->edges.count);
	put_kinds(sink, "node_kinds", brick__node_kinds, BRICK_NODE_KINDS);
	put_kinds(sink, "edge_kinds", brick__edge_kinds, BRICK_EDGE_KINDS);
	put_names(graph, sink);
	put_nodes(graph, sink);
	put_rows(graph, sink);
	brick__put(sink, "}\n");
	return 0;
}
