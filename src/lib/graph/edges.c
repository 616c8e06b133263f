/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edges of an execution graph: a list in the order in which they were added, and rows by node that
 * are made from it in linear time when somebody asks.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "brick/error.h"
#include "base/sized.h"
#include "lib/graph/graph_core.h"

static void rows_fini(struct brick__rows *rows)
{
	free(rows->first);
	free(rows->edges);
	*rows = (struct brick__rows){0};
}

void brick__graph_changed(struct brick_graph *graph)
{
	rows_fini(&graph->out);
	rows_fini(&graph->in);
	brick__graph_plan_fini(graph);
	free(graph->cycle);
	graph->cycle = NULL;
	graph->cycle_count = 0;
}

int brick__graph_reserve_edges(struct brick_graph *graph, uint32_t edges)
{
	if (graph->edges.count > INT32_MAX - edges)
		return BRICK_EFULL;
	int error = array_reserve(&graph->edges, edges);
	return error ? error : array_reserve(&graph->edge_kinds, edges);
}

void brick__graph_append_edge(
	struct brick_graph *graph, uint32_t from, uint32_t to, int kind, double weight)
{
	array_push(&graph->edges, (struct brick__edge){weight, from, to});
	array_push(&graph->edge_kinds, (uint8_t)kind);
}

int brick_graph_connect(
	struct brick_graph *graph, uint32_t from, uint32_t to, int kind, double weight)
{
	if (kind < 0 || kind >= BRICK_EDGE_KINDS || !isfinite(weight))
		return -EINVAL;
	if (from >= graph->nodes.count || to >= graph->nodes.count)
		return -ENOENT;
	int error = brick__graph_reserve_edges(graph, 1);
	if (error < 0)
		return error;
	brick__graph_append_edge(graph, from, to, kind, weight);
	brick__graph_changed(graph);
	return (int)graph->edges.count - 1;
}

size_t brick_graph_edge_count(const struct brick_graph *graph)
{
	return graph->edges.count;
}

int brick_graph_edge_get(const struct brick_graph *graph, uint32_t id, struct brick_graph_edge *out)
{
	if (id >= graph->edges.count)
		return -ENOENT;
	const struct brick__edge *edge = &graph->edges.items[id];
	const struct brick_graph_edge e = {.from = edge->from,
		.to = edge->to,
		.kind = graph->edge_kinds.items[id],
		.weight = edge->weight};
	return sized_write(out, sizeof e, &e);
}

static int build_rows(const struct brick_graph *graph, struct brick__rows *rows, int incoming)
{
	size_t nodes = graph->nodes.count;

	rows->first = calloc(nodes + 2, sizeof(*rows->first));
	rows->edges = malloc((graph->edges.count + 1) * sizeof(*rows->edges));
	if (!rows->first || !rows->edges) {
		rows_fini(rows);
		return -ENOMEM;
	}
	/* One place up: filling a row moves its begin to where it belongs. */
	uint32_t *next = rows->first + 1;
	for (uint32_t i = 0; i < graph->edges.count; i++)
		next[(incoming ? graph->edges.items[i].to : graph->edges.items[i].from) + 1]++;
	for (size_t v = 1; v < nodes; v++)
		next[v] += next[v - 1];
	for (uint32_t i = 0; i < graph->edges.count; i++)
		rows->edges[next[incoming ? graph->edges.items[i].to
					  : graph->edges.items[i].from]++] = i;
	return 0;
}

static int row(struct brick_graph *graph, struct brick__rows *rows, int incoming, uint32_t node,
	const uint32_t **edges)
{
	if (node >= graph->nodes.count)
		return -ENOENT;
	int error = rows->first ? 0 : build_rows(graph, rows, incoming);
	if (error < 0)
		return error;
	*edges = rows->edges + rows->first[node];
	return (int)(rows->first[node + 1] - rows->first[node]);
}

int brick_graph_out(struct brick_graph *graph, uint32_t node, const uint32_t **edges)
{
	return row(graph, &graph->out, 0, node, edges);
}

int brick_graph_in(struct brick_graph *graph, uint32_t node, const uint32_t **edges)
{
	return row(graph, &graph->in, 1, node, edges);
}
