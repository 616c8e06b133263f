/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of a node of a graph that was computed before (known_graphs.h). */
#pragma once

#include <stdint.h>

/* A node, alone or as the first of a fused pair. */
struct known_node {
	const void *node;
	uint64_t shape;	  /* node_shape(); what the hot path compares */
	uint32_t site[2]; /* the whole of it, and a thread's part; 0: not looked up yet */
	uint32_t next;	  /* the one that was wanted after this one, the last time */
	uint16_t brick;
	int16_t layer; /* before it is looked up: where it lies if no name says so */
};
