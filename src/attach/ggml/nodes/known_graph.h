/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph that was computed before, with its nodes and their sites (known_graphs.h), and the word
 * by which a node is compared with a remembered node. Shared by all threads that work for the
 * graph: after its creation only `site`, `next`, `plan`, `launched` and the members under the lock
 * change, `site`, `next` and `plan` by atomics.
 */
#pragma once

#include <stdint.h>
#include <string.h>
#include "attach/ggml/engine/ggml_engine.h"
#include "base/hash.h"

/* A node, alone or as the first of a fused pair. */
struct known_node {
	const void *node; /* of a fused pair: the RMS_NORM */
	uint64_t shape;	  /* node_shape(), which the hot path compares; 0: unknown layout */
	uint32_t site[2]; /* of the first thread, and of the others (site_table_find()); 0: none yet
			   */
	uint32_t next;	  /* index of the node that came next the last time */
	uint16_t brick;	  /* valid once a site was looked up */
	int16_t layer;	  /* -1: none. Before a site was looked up: the layer if no name says it */
};

static inline uint64_t known_rotate(uint64_t value, int bits)
{
	return value << bits | value >> (64 - bits);
}

/* The address of a node's source 0 or 1. */
static inline uint64_t node_source(const struct shape_offsets *at, const void *node, uint32_t index)
{
	uint64_t source;

	memcpy(&source, (const char *)node + at->source + index * sizeof(source), sizeof(source));
	return source;
}

/*
 * A word from a node's shape, type, operation and first two sources, and whether it stands for a
 * fused pair (bit 63). A cheap hash: it only has to tell the few nodes apart that come to be at one
 * address. ne[0] begins at bit 0, ne[1] at bit 20, ne[2] at bit 37, ne[3] at bit 51, so that common
 * extents do not overlap.
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
	const void *graph;   /* the engine's graph when it was met last; NULL: refuted */
	uint32_t generation; /* attach_shared.graph_generation at that time */
	uint32_t shown;	     /* nodes that the engine shows; `count` has fused pairs in addition */
	uint64_t signature;  /* hash of all nodes */
	uint64_t outline;    /* hash of a few nodes; only with `unseen` */
	uint64_t details;    /* hash of the shapes of the nodes in `unseen` */
	struct unseen_nodes *unseen; /* NULL: the graph is recognised by its signature only */
	uint8_t is_ambiguous;	     /* another graph has its outline and details, or they failed */
	uint8_t is_matched_quickly;  /* it was recognised by outline and details the last time */
	uint32_t count;		     /* of nodes[], without the last */
	uint32_t users;		/* threads that hold it; while there are any, it is not forgotten */
	struct masks *masks;	/* NULL: no mask that can be read */
	struct node_plan *plan; /* the newest; NULL: no thread has computed it alone yet */
	struct device_node *launched; /* [count]; NULL: no device has computed it yet */

	/*
	 * nodes[count] stands before the first node and after the last, and never matches: its
	 * `next` is the first node that is executed.
	 */
	struct known_node nodes[];
};
