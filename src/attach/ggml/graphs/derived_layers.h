/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of graphs whose nodes have no names: equal blocks in a row. Blocks count as layers if four
 * conditions hold. There are at least three. Each has weights that no other block has (a network
 * unrolled over time has the same weights in each). Each reads a result of the block before it
 * (heads and experts do not). Together they have half of the graph's products with weights.
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
	uint64_t kind;	 /* hash of the operation, types and shapes of the node and its sources */
	uint64_t weight; /* the weight that the node multiplies with; 0: no product with a weight */
	int32_t source[REPETITION_SOURCES]; /* indices of nodes before it that it reads; -1: none */
};

struct repetition {
	uint32_t begin;	 /* index of the first block's first node */
	uint32_t period; /* nodes per block */
	uint32_t count;	 /* blocks; 0: the graph has none */
};

/* 0, or -ENOMEM. Graphs of more than 8192 nodes are not searched: the search is quadratic. */
int repetition_find(const struct repetition_node *nodes, uint32_t count, struct repetition *found);

/*
 * Get the layer of each of a graph's nodes, -1: none; the caller frees the array. NULL: nodes have
 * names of the program's or given names, or nothing repeats, or there is no memory. A note in the
 * recording tells the result.
 */
int16_t *derived_layers(const struct engine *engine, const void *graph, uint32_t count);

struct executed_node {
	const void *node;
	uint32_t place;	 /* the caller's own; not looked at */
	int16_t layer;	 /* that names say; -1: none */
	bool is_settled; /* out: surrounded_layers() has set `layer` */
};

/*
 * Set the layers of nameless nodes among nodes with names. A nameless node lies in a layer if all
 * nodes that it reads and all nodes that read it lie in that layer, by name or by this rule; for a
 * norm only its readers count. nodes: the executed nodes in order.
 */
void surrounded_layers(const struct engine *engine, struct executed_node *nodes, uint32_t count);
