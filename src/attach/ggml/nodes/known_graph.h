/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered of a graph that was computed before, and of its nodes (known_graphs.h), and
 * the word by which a node is compared with it. Shared by all threads that work for the graph.
 */
#pragma once

#include <stdint.h>
#include <string.h>
#include "attach/ggml/engine/ggml_engine.h"
#include "base/hash.h"

/* A node, alone or as the first of a fused pair. */
struct known_node {
	const void *node;
	uint64_t shape;	  /* node_shape(); what the hot path compares */
	uint32_t site[2]; /* the whole of it, and a thread's part; 0: not looked up yet */
	uint32_t next;	  /* the one that was wanted after this one, the last time */
	uint16_t brick;
	int16_t layer; /* before it is looked up: where it lies if no name says so */
};

static inline uint64_t known_rotate(uint64_t value, int bits)
{
	return value << bits | value >> (64 - bits);
}

/* Its source 0 or 1. */
static inline uint64_t node_source(const struct shape_offsets *at, const void *node, uint32_t index)
{
	uint64_t source;

	memcpy(&source, (const char *)node + at->source + index * sizeof(source), sizeof(source));
	return source;
}

/*
 * Shape, type, operation and first sources in one word, and whether it stands for a fused pair. Not
 * a good hash: it only has to tell the few nodes apart that come to be at one address.
 */
static inline __attribute__((always_inline)) uint64_t node_shape(
	const struct shape_offsets *at, const void *node, int fused)
{
	const int64_t *ne = tensor_field(node, at->ne);
	uint32_t kind =
		(uint32_t)tensor_int32(node, at->op) << 8 ^ (uint32_t)tensor_int32(node, at->type);
	uint64_t shape = (uint64_t)ne[3];
	shape = known_rotate(shape, 14) ^ (uint64_t)ne[2];
	shape = known_rotate(shape, 17) ^ (uint64_t)ne[1];
	shape = known_rotate(shape, 20) ^ (uint64_t)ne[0];
	shape ^= (uint64_t)kind << 45 | (uint64_t)fused << 63;
	return shape + (node_source(at, node, 0) + known_rotate(node_source(at, node, 1), 29)) *
			       HASH_GOLDEN;
}

struct masks;
struct node_plan;
struct unseen_nodes;

struct known_graph {
	struct known_graph *next;
	const struct engine *engine;
	const void *graph; /* where it was met the last time, in which generation of graphs */
	uint32_t generation;
	uint32_t shown;		     /* nodes that the engine shows */
	uint64_t signature;	     /* of all nodes */
	uint64_t outline, details;   /* of a few nodes; of those below */
	struct unseen_nodes *unseen; /* NULL: only the signature tells which graph it is */
	uint8_t is_ambiguous;	     /* others have its outline and details */
	uint8_t is_matched_quickly;  /* the last time, by outline and details */
	uint32_t count;
	uint32_t users;		      /* that are computing it: it is not forgotten meanwhile */
	struct masks *masks;	      /* NULL: none */
	struct node_plan *plan;	      /* NULL: not computed by one thread yet */
	struct device_node *launched; /* [count], once a device has computed it (device_nodes.h) */

	/* Behind the last one, nodes[count] is before the first, too; it is never a match. */
	struct known_node nodes[];
};
