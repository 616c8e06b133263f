/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution graph for Graphviz. What holds others is a box around them, with a node of its own
 * at which its edges end; boxes need no edges. Where something is inside of itself there are no
 * boxes, and all edges are drawn.
 */
#include <math.h>
#include <string.h>
#include "brick/error.h"
#include "lib/graph_write.h"

static const char *const shapes[BRICK_NODE_KINDS] = {
	[BRICK_NODE_LAYER] = "shape=tab,fillcolor=\"#dfe7f2\"",
	[BRICK_NODE_BRICK] = "shape=box,fillcolor=\"#eef3e6\"",
	[BRICK_NODE_KERNEL] = "shape=box,fillcolor=\"#f6e8d8\"",
	[BRICK_NODE_TRANSFER] = "shape=cds,fillcolor=\"#efe3f3\"",
	[BRICK_NODE_FUNCTION] = "shape=note,fillcolor=\"#f4f4f4\"",
	[BRICK_NODE_TASK] = "shape=ellipse,fillcolor=\"#e2f1f1\"",
};

static const char *const strokes[BRICK_EDGE_KINDS] = {
	[BRICK_EDGE_CALLS] = "style=dashed,color=\"#888888\"",
	[BRICK_EDGE_CONTAINS] = "style=dashed,color=\"#bbbbbb\"",
	[BRICK_EDGE_LAUNCHES] = "style=dashed,color=\"#b07030\"",
	[BRICK_EDGE_SEQUENCE] = "color=\"#555555\"",
	[BRICK_EDGE_DEPENDS_ON] = "color=\"#2060b0\"",
	[BRICK_EDGE_TRANSFER] = "color=\"#8040a0\",penwidth=2",
};

/* Inside of quotes, where Graphviz also reads backslashes and the entities of HTML. */
static void put_quoted(struct brick__sink *sink, const char *text)
{
	static const char *const instead[] = {"\\\"", "\\\\", "&amp;"};
	static const struct brick__escape escape = {"\"\\&", instead, "\\\\x"};

	brick__put_text(sink, text, &escape);
}

static void put_node(const struct brick_graph *graph, struct brick__sink *sink, uint32_t id)
{
	struct brick_graph_node node;

	brick_graph_node_get(graph, id, &node);
	brick__put(sink, "n");
	brick__put_u64(sink, id);
	brick__put(sink, " [label=\"");
	put_quoted(sink, node.name);
	if (node.label) {
		brick__put(sink, "\\n");
		put_quoted(sink, node.label);
	}
	if (node.flags & BRICK_NODE_HAS_TIME) {
		brick__put(sink, "\\n");
		brick__put_time(sink, node.time_ns);
	}
	brick__put(sink, "\",");
	brick__put(sink, shapes[node.kind]);
	brick__put(sink, ",group=lane");
	brick__put_u64(sink, node.lane);
	if (node.flags & BRICK_NODE_MARKED)
		brick__put(sink, ",color=\"#c02020\",penwidth=2.5");
	brick__put(sink, "];\n");
}

/* One cluster inside of the other, closed when the walk has left what they hold. */
static void put_clusters(const struct brick_graph *graph, struct brick__sink *sink,
	const struct brick__forest *forest)
{
	uint32_t open = 0, depth = 0;

	for (uint32_t v = brick__forest_next(forest, BRICK__NONE, &depth); v != BRICK__NONE;
		v = brick__forest_next(forest, v, &depth)) {
		while (open > depth) {
			brick__put(sink, "}\n");
			open--;
		}
		if (forest->child[v] != BRICK__NONE) {
			brick__put(sink, "subgraph cluster_");
			brick__put_u64(sink, v);
			brick__put(sink, " {\n");
			open++;
		}
		put_node(graph, sink, v);
	}
	while (open--)
		brick__put(sink, "}\n");
}

static void put_edge(const struct brick_graph *graph, struct brick__sink *sink, uint32_t id)
{
	const struct brick__edge *edge = &graph->edges[id];
	int on_path = (graph->nodes[edge->from].flags & graph->nodes[edge->to].flags &
			      BRICK_NODE_MARKED) &&
		      !brick__edge_holds(graph->edge_kinds[id]);

	brick__put(sink, "n");
	brick__put_u64(sink, edge->from);
	brick__put(sink, " -> n");
	brick__put_u64(sink, edge->to);
	brick__put(sink, " [");
	brick__put(sink, on_path ? "color=\"#c02020\",penwidth=2" : strokes[graph->edge_kinds[id]]);
	if (fabs(edge->weight - 1) > 0) {
		brick__put(sink, ",label=\"");
		brick__put_double(sink, edge->weight);
		brick__put(sink, "\"");
	}
	brick__put(sink, "];\n");
}

static void put_edges(const struct brick_graph *graph, struct brick__sink *sink,
	const struct brick__forest *forest)
{
	for (uint32_t i = 0; i < graph->edge_count; i++) {
		const struct brick__edge *edge = &graph->edges[i];
		int is_box = forest && brick__edge_holds(graph->edge_kinds[i]) &&
			     forest->parent[edge->to] == edge->from;
		if (!is_box)
			put_edge(graph, sink, i);
	}
}

int brick__graph_put_dot(struct brick_graph *graph, struct brick__sink *sink)
{
	struct brick__forest forest;
	int error = brick__forest_init(&forest, graph);

	if (error < 0 && error != BRICK_ECYCLE)
		return error;
	brick__put(sink,
		"digraph brick {\n"
		"charset=\"UTF-8\";\n"
		"graph [fontname=\"Helvetica\",fontsize=10,style=rounded,color=\"#9aa5b1\"];\n"
		"node [fontname=\"Helvetica\",fontsize=10,style=filled,color=\"#7a8591\"];\n"
		"edge [fontname=\"Helvetica\",fontsize=8,arrowsize=0.6];\n");
	if (error == 0)
		put_clusters(graph, sink, &forest);
	for (uint32_t v = 0; error < 0 && v < graph->node_count; v++)
		put_node(graph, sink, v);
	put_edges(graph, sink, error == 0 ? &forest : NULL);
	brick__put(sink, "}\n");
	brick__forest_fini(&forest);
	return 0;
}
