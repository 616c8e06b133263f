/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution graph as a tree to walk, and to look at a part of: nodes open and close, one is
 * selected, and what fits into so many lines around it is written as text. Knows no terminal. The
 * first holding edge that enters a node decides which node holds it; other edges are not shown. A
 * view and its graph are used by one thread at a time; the graph must outlive the view and stay as
 * it is: after a change of its nodes or edges all calls but destroy return BRICK_ESTATE.
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

/* All nodes are closed, the first is selected. BRICK_ECYCLE. -ENOMEM. */
BRICK_API int brick_graph_view_create(struct brick_graph_view **out, struct brick_graph *graph);

/* NULL is legal. */
BRICK_API void brick_graph_view_destroy(struct brick_graph_view *view);

/*
 * Open or close a node; or all of them. Closing the holder of the selected node selects it.
 * -ENOENT.
 */
BRICK_API int brick_graph_view_open(struct brick_graph_view *view, uint32_t node, int open);
BRICK_API int brick_graph_view_open_all(struct brick_graph_view *view, int open);

/* 1 or 0. -ENOENT. */
BRICK_API int brick_graph_view_is_open(const struct brick_graph_view *view, uint32_t node);

/* Select a node, and open its holders. -ENOENT. */
BRICK_API int brick_graph_view_select(struct brick_graph_view *view, uint32_t node);

/* Select the row so many below (or above) the selected one, or the last there is; returns it. */
BRICK_API int brick_graph_view_move(struct brick_graph_view *view, int rows);

/*
 * Select the next node whose name or label holds the text, from the one behind the selected on and
 * around the end, open or not; returns it. -ENOENT: none does.
 */
BRICK_API int brick_graph_view_search(struct brick_graph_view *view, const char *text);

/* The selected node; -ENOENT in a graph without nodes. */
BRICK_API int brick_graph_view_selected(const struct brick_graph_view *view);

/* Rows there would be if there were room for all. */
BRICK_API int brick_graph_view_rows(const struct brick_graph_view *view);

/*
 * Write at most `rows` lines of at most `columns` characters (0: as long as they are), scrolled no
 * further than needed to show the selected node, which is marked by '>'. Lines are UTF-8 and safe
 * for a terminal. Returns how many there were. -EINVAL: rows 0. -ENOMEM; what write returned.
 */
BRICK_API int brick_graph_view_write(struct brick_graph_view *view, size_t columns, size_t rows,
	brick_graph_write_fn write, void *context);

BRICK_END_DECLS

#endif
