/* SPDX-License-Identifier: Apache-2.0 */
/* What holds what in an execution graph, as a forest. One thread at a time. */
#pragma once

#include "lib/graph/graph_core.h"

/*
 * Returns an array [nodes] with the first holding edge that enters each node, or BRICK__NONE. The
 * caller frees it. NULL: no memory.
 */
uint32_t *brick__graph_holders(const struct brick_graph *graph);

/* What holds what, each node below the first that holds it; children in the order of their ids. */
struct brick__forest {
	uint32_t *parent;	   /* BRICK__NONE: a root */
	uint32_t *child, *sibling; /* first child; next child of the same parent, or next root */
	uint32_t root;		   /* the first */
};

/* 0. BRICK_ECYCLE: a node is inside of itself. -ENOMEM. After an error *forest is empty. */
int brick__forest_init(struct brick__forest *forest, const struct brick_graph *graph);
void brick__forest_fini(struct brick__forest *forest);

/*
 * Returns the next node of a walk through the forest, children before siblings; BRICK__NONE: the
 * walk is over. node: the present one, BRICK__NONE at first. *depth: the present node's, which
 * becomes the next node's; 0 for roots.
 */
uint32_t brick__forest_next(const struct brick__forest *forest, uint32_t node, uint32_t *depth);
