/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers of a graph whose tensors have no names: equal blocks in a row. A row of blocks is only
 * taken for layers where nothing else explains it: at least three, each with weights that no other
 * has (a network unrolled over time has the same ones in each), each of which reads what the one
 * before it made (heads and experts do not), and that have half of the graph's products with
 * weights between them. Constant functions of their arguments; any thread.
 */
#pragma once

#include <stdint.h>

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
