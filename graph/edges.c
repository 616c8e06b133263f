/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edges of an execution graph: a list in the order in which they were added, and rows by node that
 * are made from it in linear time when somebody asks.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include "brick/error.h"
#include "graph/graph.h"

static void rows_fini(struct brick__rows *rows)
{
	free(rows->first);
	free(rows->edges);
	*rows = (struct brick__rows){0};
}

void brick__graph_retimed(struct brick_graph *graph)
{
	brick__graph_plan_fini(graph);
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
	if (graph->edge_count > INT32_MAX - edges)
		return BRICK_EFULL;
	size_t last = graph->edge_count + edges - 1;
	if (brick__grow(&graph->edges, &graph->edge_capacity, last, sizeof(*graph->edges)) < 0)
		return -ENOMEM;
	return brick__grow(&graph->edge_kinds, &graph->edge_kind_capacity, last, 1);
}

void brick__graph_append_edge(
	struct brick_graph *graph, uint32_t from, uint32_t to, int kind, double weight)
{
	graph->edges[graph->edge_count] = (struct brick__edge){weight, from, to};
	graph->edge_kinds[graph->edge_count++] = (uint8_t)kind;
}

int brick_graph_connect(
	struct brick_graph *graph, uint32_t from, uint32_t to, int kind, double weight)
{
	if (kind < 0 || kind >= BRICK_EDGE_KINDS || !isfinite(weight))
		return -EINVAL;
	if (from >= graph->node_count || to >= graph->node_count)
		return -ENOENT;
	int error = brick__graph_reserve_edges(graph, 1);
	if (error < 0)
		return error;
	brick__graph_append_edge(graph, from, to, kind, weight);
	brick__graph_changed(graph);
	return (int)graph->edge_count - 1;
}

size_t brick_graph_edge_count(const struct brick_graph *graph)
{
	return graph->edge_count;
}

int brick_graph_edge_get(const struct brick_graph *graph, uint32_t id, struct brick_graph_edge *out)
{
	if (id >= graph->edge_count)
		return -ENOENT;
	const struct brick__edge *edge = &graph->edges[id];
	*out = (struct brick_graph_edge){edge->from, edge->to, graph->edge_kinds[id], edge->weight};
	return 0;
}

static int build_rows(const struct brick_graph *graph, struct brick__rows *rows, int incoming)
{
	size_t nodes = graph->node_count;

	rows->first = calloc(nodes + 2, sizeof(*rows->first));
	rows->edges = malloc(((size_t)graph->edge_count + 1) * sizeof(*rows->edges));
	if (!rows->first || !rows->edges) {
		rows_fini(rows);
		return -ENOMEM;
	}
	/* One place up: filling a row moves its begin to where it belongs. */
	uint32_t *next = rows->first + 1;
	for (uint32_t i = 0; i < graph->edge_count; i++)
		next[(incoming ? graph->edges[i].to : graph->edges[i].from) + 1]++;
	for (size_t v = 1; v < nodes; v++)
		next[v] += next[v - 1];
	for (uint32_t i = 0; i < graph->edge_count; i++)
		rows->edges[next[incoming ? graph->edges[i].to : graph->edges[i].from]++] = i;
	return 0;
}

static int row(struct brick_graph *graph, struct brick__rows *rows, int incoming, uint32_t node,
	const uint32_t **edges)
{
	if (node >= graph->node_count)
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
