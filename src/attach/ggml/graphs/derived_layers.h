/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of graphs whose nodes have no names: equal blocks in a row. A row of blocks only counts as
 * layers where nothing else explains it: there are at least three, each with weights that no other
 * has (a network unrolled over time has the same ones in each), each reads what the one before it
 * made (heads and experts do not), and together they have half of the graph's products with
 * weights.
 *
 * If weights have names that say a layer, as those from a file do, blocks are numbered by these,
 * provided that each block has one number and no two have the same. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"

enum { REPETITION_SOURCES = 4 };

struct repetition_node {
	uint64_t kind;	 /* operation, types and shapes, of what it reads too */
	uint64_t weight; /* what it is a product with; 0: it is no such product */
	int32_t source[REPETITION_SOURCES]; /* nodes that it reads, all before it; -1: none */
};

struct repetition {
	uint32_t begin, period, count; /* count 0: there are no such blocks */
};

/* 0, or -ENOMEM. Graphs of more than 8192 nodes have none: the search is quadratic. */
int repetition_find(const struct repetition_node *nodes, uint32_t count, struct repetition *found);

/*
 * The layer of each of a graph's nodes, -1 for those that lie in none: the caller frees them. NULL:
 * nodes have names of their own or from us, or nothing repeats, or there is no memory. What was
 * found is noted in the recording.
 */
int16_t *derived_layers(const struct engine *engine, const void *graph, uint32_t count);

struct executed_node {
	const void *node;
	uint32_t place; /* the caller's */
	int16_t layer;	/* as names say, -1: none */
	bool is_settled;
};

/*
 * Nodes without names among others that have some: one lies in a layer if all that it reads and all
 * that reads it, known by name or by this, lies in that layer; a norm, if all that reads it does.
 * Takes the executed nodes in their order, sets the layer of such nodes and marks them. Any thread.
 */
void surrounded_layers(const struct engine *engine, struct executed_node *nodes, uint32_t count);
