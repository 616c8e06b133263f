/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution graph as a tree to walk, and a view of a part of it: nodes open and close, one node
 * is selected, and the lines around that node are written as text. Knows no terminal. The first
 * holding edge that enters a node decides which node holds it; other edges are not shown. A view
 * and its graph are used by one thread at a time. The graph must outlive the view; after a change
 * of its nodes or edges all calls but destroy return BRICK_ESTATE.
 */
#ifndef BRICK_GRAPH_VIEW_H
#define BRICK_GRAPH_VIEW_H

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"
#include "brick/graph.h"

BRICK_BEGIN_DECLS

/* Gets a node and its depth, 0 for one that nothing holds; a result other than 0 ends the walk. */
typedef int (*brick_graph_walk_fn)(void *context, uint32_t node, uint32_t depth);

/*
 * Walk through all nodes, what holds others before what it holds, in the order in which they were
 * added. Returns 0, or what the callback ended it with. BRICK_ECYCLE. -ENOMEM.
 */
BRICK_API int brick_graph_walk(struct brick_graph *graph, brick_graph_walk_fn visit, void *context);

struct brick_graph_view;

/* Makes a view in which all nodes are closed and the first is selected. BRICK_ECYCLE. -ENOMEM. */
BRICK_API int brick_graph_view_create(struct brick_graph_view **out, struct brick_graph *graph);

/* Frees a view. NULL is legal. */
BRICK_API void brick_graph_view_destroy(struct brick_graph_view *view);

/*
 * Open (1) or close (0) a node, or all of them. Closing a node that holds the selected node selects
 * the closed one. 0. -ENOENT: no such node.
 */
BRICK_API int brick_graph_view_open(struct brick_graph_view *view, uint32_t node, int open);
BRICK_API int brick_graph_view_open_all(struct brick_graph_view *view, int open);

/* Returns 1 if the node is open, else 0. -ENOENT: no such node. */
BRICK_API int brick_graph_view_is_open(const struct brick_graph_view *view, uint32_t node);

/* Select a node, and open the nodes that hold it. 0. -ENOENT: no such node. */
BRICK_API int brick_graph_view_select(struct brick_graph_view *view, uint32_t node);

/*
 * Select the node that is `rows` rows below (negative: above) the selected one, or the last one in
 * that direction; returns it.
 */
BRICK_API int brick_graph_view_move(struct brick_graph_view *view, int rows);

/*
 * Select the next node whose name or label contains the text, in open and closed nodes; the search
 * begins behind the selected node and goes on at the first. Returns the node. -ENOENT: no node
 * contains the text.
 */
BRICK_API int brick_graph_view_search(struct brick_graph_view *view, const char *text);

/* Returns the selected node; -ENOENT: the graph has no nodes. */
BRICK_API int brick_graph_view_selected(const struct brick_graph_view *view);

/* Returns how many rows the view has as it is open now. */
BRICK_API int brick_graph_view_rows(const struct brick_graph_view *view);

/*
 * Write at most `rows` lines of at most `columns` characters (0: whole lines). The view scrolls no
 * further than it must to show the selected node, which '>' marks. Lines are UTF-8 and safe for a
 * terminal. Returns the number of lines. -EINVAL: rows is 0. -ENOMEM. Else the error of write.
 */
BRICK_API int brick_graph_view_write(struct brick_graph_view *view, size_t columns, size_t rows,
	brick_graph_write_fn write, void *context);

BRICK_END_DECLS

#endif
