/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution graph for Graphviz. A node that holds others becomes a box around them, with a node
 * of its own for its edges. If a node is inside of itself, there are no boxes and all edges are
 * drawn.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "base/members.h"
#include "brick/error.h"
#include "lib/graph/forest.h"
#include "lib/graph/graph_text.h"

/* Graphviz reads boxes in boxes by recursion: deeper ones are not drawn. */
enum { MAX_BOXES = 100 };

static const char *const dot_shapes[BRICK_NODE_KINDS] = {
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

static void dot_put_node(const struct brick_graph *graph, struct brick__sink *sink, uint32_t id)
{
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;

	brick_graph_node_get(graph, id, &node);
	brick__put_key_u64(sink, "n", id);
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
	if (node.kind == BRICK_NODE_KERNEL && node.kernel.code) {
		brick__put(sink, "\\ncode ");
		brick__put_hex(sink, node.kernel.code);
	}
	brick__put(sink, "\",");
	brick__put(sink, dot_shapes[node.kind]);
	if (node.flags & BRICK_NODE_MARKED)
		brick__put(sink, ",color=\"#c02020\",penwidth=2.5");
	brick__put(sink, "];\n");
}

/* How boxes are laid out: time goes downwards through them. */
struct layout {
	struct brick__forest forest;
	uint32_t *depth; /* [nodes] */
	uint32_t *place; /* [nodes] in the order of a walk */
	uint32_t *last; /* [nodes] the last node in its box, in all boxes of that; itself if none */
	uint8_t *follows; /* [nodes] 1: a precedence edge puts it below something */
};

static void dot_layout_fini(struct layout *layout)
{
	brick__forest_fini(&layout->forest);
	members_free(layout, depth, place, last, follows);
}

/* Nodes in the order of a walk come after what holds them. */
static void dot_find_last(struct layout *layout, const struct brick_graph *graph, uint32_t *walk)
{
	const struct brick__forest *forest = &layout->forest;
	uint32_t n = 0, depth = 0;

	for (uint32_t v = brick__forest_next(forest, BRICK__NONE, &depth); v != BRICK__NONE;
		v = brick__forest_next(forest, v, &depth)) {
		layout->place[v] = n;
		walk[n++] = v;
		layout->depth[v] = depth;
	}
	for (uint32_t v = 0; v < graph->nodes.count; v++)
		layout->last[v] = v;
	while (n--) {
		uint32_t v = walk[n], parent = forest->parent[v];
		if (parent != BRICK__NONE && layout->last[parent] == parent)
			layout->last[parent] = layout->last[v];
	}
}

static int dot_layout_init(struct layout *layout, const struct brick_graph *graph)
{
	size_t n = graph->nodes.count + 1;
	uint32_t *walk = malloc(n * sizeof(*walk));
	int error = brick__forest_init(&layout->forest, graph);

	layout->depth = calloc(n, sizeof(*layout->depth));
	layout->place = malloc(n * sizeof(*layout->place));
	layout->last = malloc(n * sizeof(*layout->last));
	layout->follows = calloc(n, 1);
	if (!walk || !layout->depth || !layout->place || !layout->last || !layout->follows)
		error = -ENOMEM;
	if (error == 0) {
		dot_find_last(layout, graph, walk);
		for (uint32_t i = 0; i < graph->edges.count; i++)
			if (!brick__edge_holds(graph->edge_kinds.items[i]))
				layout->follows[graph->edges.items[i].to] = 1;
	}
	free(walk);
	if (error < 0)
		dot_layout_fini(layout);
	return error;
}

static bool is_box(const struct layout *layout, uint32_t v)
{
	return layout->depth[v] < MAX_BOXES && layout->forest.child[v] != BRICK__NONE;
}

/* One box inside of the other, closed when the walk has left what it holds. */
static void put_boxes(
	const struct brick_graph *graph, struct brick__sink *sink, const struct layout *layout)
{
	const struct brick__forest *forest = &layout->forest;
	uint32_t open = 0, depth = 0;

	for (uint32_t v = brick__forest_next(forest, BRICK__NONE, &depth); v != BRICK__NONE;
		v = brick__forest_next(forest, v, &depth)) {
		for (; open > (depth < MAX_BOXES ? depth : MAX_BOXES); open--)
			brick__put(sink, "}\n");
		if (is_box(layout, v)) {
			brick__put_key_u64(sink, "subgraph cluster_", v);
			brick__put(sink, " {\n");
			open++;
		}
		dot_put_node(graph, sink, v);
	}
	while (open--)
		brick__put(sink, "}\n");
}

static bool dot_is_inside(const struct layout *layout, uint32_t v, uint32_t box)
{
	return layout->place[v] >= layout->place[box] &&
	       layout->place[v] <= layout->place[layout->last[box]];
}

/* An edge out of a box leaves it at the bottom. */
static void dot_put_edge(const struct brick_graph *graph, struct brick__sink *sink, uint32_t id,
	const struct layout *layout)
{
	const struct brick__edge *edge = &graph->edges.items[id];
	bool holds = brick__edge_holds(graph->edge_kinds.items[id]);
	bool leaves_box = layout && !holds && is_box(layout, edge->from) &&
			  !dot_is_inside(layout, edge->to, edge->from);
	bool on_path = !holds && (graph->nodes.items[edge->from].flags &
					 graph->nodes.items[edge->to].flags & BRICK_NODE_MARKED);

	brick__put_key_u64(sink, "n", leaves_box ? layout->last[edge->from] : edge->from);
	brick__put_key_u64(sink, " -> n", edge->to);
	brick__put(sink, " [");
	brick__put(sink,
		on_path ? "color=\"#c02020\",penwidth=2" : strokes[graph->edge_kinds.items[id]]);
	if (leaves_box)
		brick__put_key_u64(sink, ",ltail=cluster_", edge->from);
	if (fabs(edge->weight - 1) > 0) {
		brick__put(sink, ",label=\"");
		brick__put_double(sink, edge->weight);
		brick__put(sink, "\"");
	}
	brick__put(sink, "];\n");
}

/* The box says what holds a node; the edge is drawn only where nothing else puts the node below. */
static bool is_shown_by_box(
	const struct brick_graph *graph, const struct layout *layout, uint32_t id)
{
	const struct brick__edge *edge = &graph->edges.items[id];

	return brick__edge_holds(graph->edge_kinds.items[id]) && layout->follows[edge->to] &&
	       is_box(layout, edge->from) && layout->forest.parent[edge->to] == edge->from;
}

int brick__graph_put_dot(struct brick_graph *graph, struct brick__sink *sink)
{
	struct layout boxes = {0}, *layout = &boxes;
	int error = dot_layout_init(&boxes, graph);

	if (error == -ENOMEM)
		return error;
	if (error == BRICK_ECYCLE)
		layout = NULL;
	brick__put(sink,
		"digraph brick {\n"
		"charset=\"UTF-8\";\ncompound=true;\nnewrank=true;\n"
		"graph [fontname=\"Helvetica\",fontsize=10,style=rounded,color=\"#9aa5b1\"];\n"
		"node [fontname=\"Helvetica\",fontsize=10,style=filled,color=\"#7a8591\"];\n"
		"edge [fontname=\"Helvetica\",fontsize=8,arrowsize=0.6];\n");
	if (layout)
		put_boxes(graph, sink, layout);
	for (uint32_t v = 0; !layout && v < graph->nodes.count; v++)
		dot_put_node(graph, sink, v);
	for (uint32_t i = 0; i < graph->edges.count; i++)
		if (!layout || !is_shown_by_box(graph, layout, i))
			dot_put_edge(graph, sink, i, layout);
	brick__put(sink, "}\n");
	if (layout)
		dot_layout_fini(layout);
	return 0;
}
