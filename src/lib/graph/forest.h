/* SPDX-License-Identifier: Apache-2.0 */
/* What holds what in an execution graph, as a forest. One thread at a time. */
#pragma once

#include "lib/graph/graph_core.h"

/* The first holding edge into each node: [nodes], or BRICK__NONE. NULL: no memory. Caller frees. */
uint32_t *brick__graph_holders(const struct brick_graph *graph);

/* What holds what, each node below the first that holds it; children in the order of their ids. */
struct brick__forest {
	uint32_t *parent;	   /* BRICK__NONE: a root */
	uint32_t *child, *sibling; /* first child; next child of the same parent, or next root */
	uint32_t root;		   /* the first */
};

/* BRICK_ECYCLE: something is inside of itself. -ENOMEM. *forest is then empty. */
int brick__forest_init(struct brick__forest *forest, const struct brick_graph *graph);
void brick__forest_fini(struct brick__forest *forest);

/*
 * Next node of a walk through the forest, children before siblings. *depth: of that node, 0 for
 * roots; the caller hands in the present one and its depth, at first BRICK__NONE. BRICK__NONE:
 * done.
 */
uint32_t brick__forest_next(const struct brick__forest *forest, uint32_t node, uint32_t *depth);
