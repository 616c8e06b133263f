/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each thread remembers of tensors: a small table by address, in which every entry points to
 * the one that was wanted next. Owner thread.
 */
#ifndef BRICK_ATTACH_GGML_NODE_SITES_H
#define BRICK_ATTACH_GGML_NODE_SITES_H

#include "attach/ggml/node_thread.h"

/* Zeroed, two of them to a cache line; NULL: no memory. What a thread without any looks into. */
struct site_slot *node_slots_create(uint32_t count);
extern struct site_slot node_no_slots[2];

static inline uint64_t node_rotate(uint64_t value, int bits)
{
	return value << bits | value >> (64 - bits);
}

/*
 * Shape, type and operation in one word. Not a good hash: it only has to tell the few shapes apart
 * that a tensor at one address takes on. Needs a known layout.
 */
static inline __attribute__((always_inline)) uint64_t node_shape(
	const struct node_thread *t, const void *node, int part)
{
	const int64_t *ne = tensor_field(node, t->ne_offset);
	uint32_t kind = (uint32_t)tensor_int32(node, t->op_offset) << 8 ^
			(uint32_t)tensor_int32(node, t->type_offset);
	return (uint64_t)ne[0] ^ node_rotate((uint64_t)ne[1], 20) ^
	       node_rotate((uint64_t)ne[2], 37) ^ node_rotate((uint64_t)ne[3], 51) ^
	       ((uint64_t)kind << 45 | (uint64_t)part << 63);
}

/* The site of a node that is not where it was expected; 0: none, see brick and layer. */
uint32_t node_site_slow(struct node_thread *t, const void *node, const void *mul, int part);

#endif
