/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution graph as a tree of lines, in the order in which nodes were added. Levels that are
 * deeper than anybody reads are left out, and an ellipsis says so.
 */
#include "brick/graph_view.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "brick/error.h"
#include "lib/graph/forest.h"
#include "lib/graph/graph_text.h"

enum { MAX_LEVELS = 100 };

static void put_plain(struct brick__sink *sink, const char *text)
{
	static const struct brick__escape escape = {"", NULL, "\\x"};

	brick__put_text(sink, text, &escape);
}

static void graph_tree_put_triple(struct brick__sink *sink, const uint32_t *triple)
{
	for (int i = 0; i < 3; i++) {
		brick__put(sink, i ? "," : "(");
		brick__put_u64(sink, triple[i]);
	}
	brick__put(sink, ")");
}

static void graph_tree_put_kernel(struct brick__sink *sink, const struct brick_graph_kernel *kernel)
{
	if (kernel->grid[0] && kernel->block[0]) {
		brick__put(sink, "  <<<");
		graph_tree_put_triple(sink, kernel->grid);
		brick__put(sink, ",");
		graph_tree_put_triple(sink, kernel->block);
		brick__put(sink, ">>>");
	}
	if (kernel->grid[0] || kernel->shared_bytes) {
		brick__put_key_u64(sink, " smem=", kernel->shared_bytes);
		brick__put(sink, "B");
	}
	if (kernel->code) {
		brick__put(sink, " code=");
		brick__put_hex(sink, kernel->code);
	}
}

static void put_transfer(struct brick__sink *sink, const struct brick_graph_transfer *transfer)
{
	if (transfer->direction != BRICK_TRANSFER_UNKNOWN) {
		brick__put(sink, "  ");
		brick__put(sink, brick__directions[transfer->direction]);
	}
	if (!transfer->source || !transfer->target)
		return;
	brick__put(sink, " ");
	put_plain(sink, transfer->source);
	brick__put(sink, " \xe2\x86\x92 ");
	put_plain(sink, transfer->target);
}

static void graph_tree_put_details(struct brick__sink *sink, const struct brick_graph_node *node)
{
	switch (node->kind) {
	case BRICK_NODE_KERNEL:
		graph_tree_put_kernel(sink, &node->kernel);
		break;
	case BRICK_NODE_TRANSFER:
		put_transfer(sink, &node->transfer);
		break;
	case BRICK_NODE_FUNCTION:
		if (!node->function.file)
			break;
		brick__put(sink, "  ");
		put_plain(sink, node->function.file);
		brick__put_key_u64(sink, ":", node->function.line);
		break;
	case BRICK_NODE_TASK:
		brick__put_key_u64(sink, "  polls=", node->task.polls);
		brick__put_key_u64(sink, " yields=", node->task.yields);
		if (node->task.polls) {
			brick__put_key_u64(sink, " efficiency=",
				(uint64_t)(100 * brick_graph_task_efficiency(node) + 0.5));
			brick__put(sink, "%");
		}
		break;
	}
}

static void graph_tree_put_line(
	const struct brick_graph *graph, struct brick__sink *sink, uint32_t id)
{
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;

	brick_graph_node_get(graph, id, &node);
	put_plain(sink, node.name);
	if (node.label) {
		brick__put(sink, " ");
		put_plain(sink, node.label);
	}
	if (node.flags & BRICK_NODE_HAS_TIME) {
		brick__put(sink, "  ");
		brick__put_time(sink, node.time_ns);
	}
	if (node.flags & BRICK_NODE_HAS_ELEMENTS) {
		brick__put_key_u64(sink, " (", node.elements);
		brick__put(sink, " elem)");
	}
	graph_tree_put_details(sink, &node);
	if (node.flags & BRICK_NODE_HAS_BYTES) {
		brick__put_key_u64(sink, " ", node.bytes);
		brick__put(sink, "B");
	}
}

/* open[d]: whether the branch at depth d goes on below the line that is being written. */
static void put_branches(struct brick__sink *sink, const uint8_t *open, uint32_t depth)
{
	for (uint32_t d = 1; d < depth; d++)
		brick__put(sink, open[d] ? "\xe2\x94\x82   " : "    ");
	if (depth)
		brick__put(sink, open[depth] ? "\xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80 "
					     : "\xe2\x94\x94\xe2\x94\x80\xe2\x94\x80 ");
}

int brick__graph_put_tree(struct brick_graph *graph, struct brick__sink *sink)
{
	struct brick__forest forest;
	uint8_t open[MAX_LEVELS + 2] = {0};
	uint32_t depth = 0;
	int error = brick__forest_init(&forest, graph);

	if (error < 0)
		return error;
	for (uint32_t v = brick__forest_next(&forest, BRICK__NONE, &depth); v != BRICK__NONE;
		v = brick__forest_next(&forest, v, &depth)) {
		if (depth > MAX_LEVELS)
			continue;
		open[depth] = forest.sibling[v] != BRICK__NONE;
		put_branches(sink, open, depth);
		graph_tree_put_line(graph, sink, v);
		brick__put(sink, "\n");
		if (depth == MAX_LEVELS && forest.child[v] != BRICK__NONE) {
			open[depth + 1] = 0;
			put_branches(sink, open, depth + 1);
			brick__put(sink, "\xe2\x80\xa6\n");
		}
	}
	brick__forest_fini(&forest);
	return 0;
}

/*
 * The tree of an execution graph with what a reader of it does: opening, selecting, scrolling. Rows
 * are found by walking the forest anew, so that nothing has to be kept in step; nodes below a
 * closed one are passed over.
 */

struct brick_graph_view {
	struct brick_graph *graph;
	uint32_t node_count, edge_count;
	struct brick__forest forest;
	uint8_t *open;	   /* [node_count] */
	uint32_t selected; /* BRICK__NONE: there are no nodes */
	size_t scroll;	   /* first row that was written last */
};

int brick_graph_walk(struct brick_graph *graph, brick_graph_walk_fn visit, void *context)
{
	struct brick__forest forest;
	uint32_t depth = 0;
	int result = brick__forest_init(&forest, graph);

	if (result < 0)
		return result;
	for (uint32_t v = brick__forest_next(&forest, BRICK__NONE, &depth);
		v != BRICK__NONE && !result; v = brick__forest_next(&forest, v, &depth))
		result = visit(context, v, depth);
	brick__forest_fini(&forest);
	return result;
}

int brick_graph_view_create(struct brick_graph_view **out, struct brick_graph *graph)
{
	struct brick_graph_view *view = calloc(1, sizeof(*view));

	if (!view)
		return -ENOMEM;
	view->graph = graph;
	view->node_count = graph->nodes.count;
	view->edge_count = graph->edges.count;
	int error = brick__forest_init(&view->forest, graph);
	view->selected = view->forest.root;
	view->open = error < 0 ? NULL : calloc(graph->nodes.count + 1, 1);
	if (!error && !view->open)
		error = -ENOMEM;
	if (error < 0) {
		brick_graph_view_destroy(view);
		return error;
	}
	*out = view;
	return 0;
}

void brick_graph_view_destroy(struct brick_graph_view *view)
{
	if (!view)
		return;
	brick__forest_fini(&view->forest);
	free(view->open);
	free(view);
}

static int graph_tree_check(const struct brick_graph_view *view)
{
	return view->graph->nodes.count == view->node_count &&
			       view->graph->edges.count == view->edge_count
		       ? 0
		       : BRICK_ESTATE;
}

static int check_node(const struct brick_graph_view *view, uint32_t node)
{
	int error = graph_tree_check(view);

	return error ? error : node < view->node_count ? 0 : -ENOENT;
}

/* The next node that is shown. */
static uint32_t graph_tree_next_row(
	const struct brick_graph_view *view, uint32_t node, uint32_t *depth)
{
	const struct brick__forest *f = &view->forest;

	if (node == BRICK__NONE || view->open[node])
		return brick__forest_next(f, node, depth);
	while (f->sibling[node] == BRICK__NONE && f->parent[node] != BRICK__NONE) {
		node = f->parent[node];
		--*depth;
	}
	return f->sibling[node];
}

static size_t graph_tree_row_of(const struct brick_graph_view *view, uint32_t node)
{
	uint32_t depth = 0;
	size_t row = 0;

	for (uint32_t v = graph_tree_next_row(view, BRICK__NONE, &depth);
		v != BRICK__NONE && v != node; v = graph_tree_next_row(view, v, &depth))
		row++;
	return row;
}

int brick_graph_view_rows(const struct brick_graph_view *view)
{
	int error = graph_tree_check(view);

	return error ? error : (int)graph_tree_row_of(view, BRICK__NONE);
}

/* The selected node must be visible: if a node that holds it is closed, that one is selected. */
static void keep_selection(struct brick_graph_view *view)
{
	uint32_t shown = view->selected;

	if (shown == BRICK__NONE)
		return;
	for (uint32_t v = view->forest.parent[shown]; v != BRICK__NONE; v = view->forest.parent[v])
		if (!view->open[v])
			shown = v;
	view->selected = shown;
}

int brick_graph_view_open(struct brick_graph_view *view, uint32_t node, int open)
{
	int error = check_node(view, node);

	if (error)
		return error;
	view->open[node] = open != 0;
	keep_selection(view);
	return 0;
}

int brick_graph_view_open_all(struct brick_graph_view *view, int open)
{
	int error = graph_tree_check(view);

	if (error)
		return error;
	memset(view->open, open != 0, view->node_count);
	keep_selection(view);
	return 0;
}

int brick_graph_view_is_open(const struct brick_graph_view *view, uint32_t node)
{
	int error = check_node(view, node);

	return error ? error : view->open[node];
}

int brick_graph_view_select(struct brick_graph_view *view, uint32_t node)
{
	int error = check_node(view, node);

	if (error)
		return error;
	for (uint32_t v = view->forest.parent[node]; v != BRICK__NONE; v = view->forest.parent[v])
		view->open[v] = 1;
	view->selected = node;
	return 0;
}

int brick_graph_view_selected(const struct brick_graph_view *view)
{
	int error = graph_tree_check(view);

	if (error)
		return error;
	return view->selected == BRICK__NONE ? -ENOENT : (int)view->selected;
}

int brick_graph_view_move(struct brick_graph_view *view, int rows)
{
	int error = brick_graph_view_selected(view);
	uint32_t depth = 0, last = BRICK__NONE;

	if (error < 0)
		return error;
	int64_t wanted = (int64_t)graph_tree_row_of(view, view->selected) + rows;
	for (uint32_t v = graph_tree_next_row(view, BRICK__NONE, &depth); v != BRICK__NONE;
		v = graph_tree_next_row(view, v, &depth)) {
		last = v;
		if (wanted-- <= 0)
			break;
	}
	view->selected = last;
	return (int)last;
}

int brick_graph_view_search(struct brick_graph_view *view, const char *text)
{
	int error = brick_graph_view_selected(view);
	uint32_t depth = 0, v = view->selected;

	if (error < 0)
		return error;
	for (uint32_t tried = 0; tried < view->node_count; tried++) {
		v = brick__forest_next(&view->forest, v, &depth);
		if (v == BRICK__NONE)
			v = brick__forest_next(&view->forest, v, &depth);
		struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;
		brick_graph_node_get(view->graph, v, &node);
		if (strstr(node.name, text) || (node.label && strstr(node.label, text))) {
			brick_graph_view_select(view, v);
			return (int)v;
		}
	}
	return -ENOENT;
}

/* A line that is being put together; what is longer is cut off. */
struct line {
	char text[2048];
	size_t used;
};

static int graph_tree_append(void *context, const char *data, size_t bytes)
{
	struct line *line = context;
	size_t left = sizeof(line->text) - 1 - line->used;

	if (bytes > left)
		bytes = left;
	memcpy(line->text + line->used, data, bytes);
	line->used += bytes;
	return 0;
}

/* End it between characters, with an ellipsis where something is cut off. */
static void graph_tree_cut(struct line *line, size_t columns)
{
	size_t seen = 0, last = 0, at = 0;

	bool full = line->used == sizeof(line->text) - 1;

	/* a character that was cut */
	while (full && line->used && (unsigned char)line->text[line->used - 1] >= 0x80)
		line->used--;
	line->text[line->used] = '\0';
	for (; at < line->used; at++) {
		if (((unsigned char)line->text[at] & 0xc0) == 0x80)
			continue;
		if (columns && seen == columns)
			break;
		last = seen + 1 == columns ? at : last;
		seen++;
	}
	if (at < line->used && columns && last + 4 < sizeof(line->text))
		strcpy(line->text + last, "\xe2\x80\xa6");
	line->used = strlen(line->text);
}

static void put_row_branches(
	struct brick__sink *sink, const struct brick__forest *f, uint32_t node, uint32_t depth)
{
	uint32_t parent = f->parent[node];

	if (!depth)
		return;
	if (parent != BRICK__NONE && depth > 1) {
		/* outermost first */
		uint32_t path[64], levels = 0;
		for (uint32_t v = parent;
			v != BRICK__NONE && f->parent[v] != BRICK__NONE && levels < 64;
			v = f->parent[v])
			path[levels++] = v;
		while (levels-- > 0)
			brick__put(sink, f->sibling[path[levels]] == BRICK__NONE
						 ? "    "
						 : "\xe2\x94\x82   ");
	}
	brick__put(sink, f->sibling[node] == BRICK__NONE ? "\xe2\x94\x94\xe2\x94\x80\xe2\x94\x80 "
							 : "\xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80 ");
}

static int graph_tree_put_row(struct brick_graph_view *view, struct brick__sink *sink,
	uint32_t node, uint32_t depth, size_t columns, struct line *line)
{
	const struct brick__forest *f = &view->forest;

	line->used = 0;
	brick__put(sink, node == view->selected ? ">" : " ");
	put_row_branches(sink, f, node, depth);
	brick__put(sink, f->child[node] == BRICK__NONE ? "" : view->open[node] ? "- " : "+ ");
	graph_tree_put_line(view->graph, sink, node);
	int error = brick__flush(sink);
	if (error < 0)
		return error;
	graph_tree_cut(line, columns);
	return 0;
}

/* The first row to show, so that the selected one is among them. */
static size_t scroll_to(struct brick_graph_view *view, size_t rows)
{
	size_t selected = graph_tree_row_of(view, view->selected),
	       all = graph_tree_row_of(view, BRICK__NONE);

	if (view->scroll > selected)
		view->scroll = selected;
	if (selected >= view->scroll + rows)
		view->scroll = selected - rows + 1;
	if (view->scroll + rows > all)
		view->scroll = all > rows ? all - rows : 0;
	return view->scroll;
}

int brick_graph_view_write(struct brick_graph_view *view, size_t columns, size_t rows,
	brick_graph_write_fn write, void *context)
{
	struct brick__sink *sink;
	struct line line;
	uint32_t depth = 0;
	size_t number = 0, written = 0;
	int error = graph_tree_check(view);

	if (error || !rows)
		return error ? error : -EINVAL;
	sink = calloc(1, sizeof(*sink));
	if (!sink)
		return -ENOMEM;
	sink->write = graph_tree_append;
	sink->context = &line;
	size_t first = scroll_to(view, rows);
	for (uint32_t v = graph_tree_next_row(view, BRICK__NONE, &depth);
		v != BRICK__NONE && written < rows && !error;
		v = graph_tree_next_row(view, v, &depth)) {
		if (number++ < first)
			continue;
		error = graph_tree_put_row(view, sink, v, depth, columns, &line);
		if (!error)
			error = write(context, line.text, line.used);
		if (!error)
			error = write(context, "\n", 1);
		written++;
	}
	free(sink);
	return error < 0 ? error : (int)written;
}
