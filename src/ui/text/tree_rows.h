/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call tree as rows, for views with a line for each node. Below a row stand its nodes in the
 * order in which they ran, then a row for the rest of its time. Main thread.
 */
#pragma once

#include <stdbool.h>
#include "analysis/accounts/call_tree.h"
#include "base/array.h"

/* The name of a node: a brick, "Layer 3", an operation with its tensor. Not safe. The caller frees.
 */
char *tree_name(const struct call_tree *tree, const struct call_node *node);

struct tree_row {
	uint32_t node;	/* RUN_NONE: the rest of the row above it */
	uint32_t above; /* the row that holds it; of the root: its own */
	unsigned depth; /* 0: the root */
	bool holds;	/* the tree has nodes below it */
	bool is_open;	/* these nodes have rows */
	bool is_last;	/* of the rows below `above` */
};

struct tree_rows {
	const struct call_tree *tree;
	bool operations; /* each operation has a row below its brick */
	/* True if the nodes below a row get rows. */
	bool (*opens)(const struct tree_rows *rows, uint32_t row, void *context);
	void *context; /* of `opens` */
	ARRAY(struct tree_row) list;
};

/* Fills the list, which array_fini() frees; without memory it ends early (text_error()). */
void tree_rows_make(struct tree_rows *rows);

/* The name of a row, made safe; the caller frees. */
char *tree_rows_name(const struct tree_rows *rows, uint32_t row);

uint64_t tree_rows_time_ns(const struct tree_rows *rows, uint32_t row);

/* In this order: a row, the last row; below a row, below the last row. */
struct tree_rows_glyphs {
	const char *row, *last_row, *below, *below_last;
};

/* The lines in front of a row that is below the root, "│   ├── "; the caller frees. */
char *tree_rows_branches(
	const struct tree_rows *rows, uint32_t row, const struct tree_rows_glyphs *glyphs);
