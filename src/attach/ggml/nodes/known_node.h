/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of a node of a graph that was computed before (known_graphs.h). */
#pragma once

#include <stdint.h>
#include <string.h>
#include "attach/ggml/ggml_engine.h"
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

	memcpy(&source, (const char *)node + at->source + index * sizeof source, sizeof source);
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
