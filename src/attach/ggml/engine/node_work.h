/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of one execution of an operation, computed from shapes and types, never measured.
 * Let n be the elements of the result, and size(t) the bytes of a tensor's elements in its own
 * type, laid out without gaps. A view costs nothing beyond what its reader reads through it.
 *
 *   operation          elements  bytes                                FLOPs
 *   MUL_MAT            n         size(a) + size(b) + size(out)        2 n K, K = length of a's rows
 *   MUL_MAT_ID         n         the same, with min(experts, pairs);  2 n K
 *                                at most, but for one token
 *                                of a's matrices: no more are read
 *   OUT_PROD           n         size(a) + size(b) + size(out)        2 n K, K = columns of a
 *   FLASH_ATTN_EXT     n         size(q, k, v, mask, sinks, out)      2 rows(q) KV (D + Dv)
 *     with a mask      n         rows of k and v that a query sees    2 pairs heads (D + Dv)
 *   SOFT_MAX           n         size(in, mask) + size(out)           5 n: max, sub, exp, sum, div
 *   RMS_NORM           n         size(in) + size(out)                 3 n: square, sum, scale
 *   RMS_NORM+MUL       n         size(in, weight) + size(out)         4 n
 *   NORM GROUP_NORM    n         size(in) + size(out)                 5 n: mean, sub, the above
 *   L2_NORM            n         size(in) + size(out)                 3 n
 *   ROPE               n         size(in, positions, factors, out)    3 n: 4 mul, 2 add per pair
 *   ADD SUB MUL DIV .. n         size(inputs) + size(out)             n
 *   SILU TANH ..       n         size(in) + size(out)                 n, whatever the function
 *   SWIGLU GEGLU ..    n         size(inputs) + size(out)             2 n: function and product
 *   ADD_ID             n         size(a, ids, out), rows chosen of b  n; bytes as of MUL_MAT_ID
 *   SUM SUM_ROWS ..    n         size(in) + size(out)                 elements of the input
 *   CONV_2D            n         size(kernel, in, out)                2 n KW KH channels in
 *   GET_ROWS           n         rows read of a, indices, size(out)   0
 *   SET_ROWS           of b      size(b), indices, rows written       0
 *   CPY CONT CONCAT .. n         size(inputs) + size(out)             0
 *   IM2COL             n         size(image) + size(out)              0
 *   VIEW RESHAPE ..    0         0                                    0
 *   anything else      n         not known                            not known
 *
 * For a query and a position that the mask keeps apart, FLASH_ATTN_EXT computes nothing; while a
 * text is short, most of k and v is the cache's padding. Shapes do not show this: work_count()
 * marks such counts as upper bounds (BRICK_SITE_AT_MOST), and work_seen() makes them exact for a
 * mask that has been read. In attention without FLASH_ATTN_EXT, MUL_MAT and SOFT_MAX compute the
 * padding and the masked positions, too, so these count as work.
 *
 * A count that overflows 64 bits is not known either. Pure functions: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { WORK_SOURCES = 10, WORK_DIMS = 4 };

struct work_tensor {
	int64_t ne[WORK_DIMS]; /* elements per dimension; 0 everywhere: no such tensor */
	uint64_t block;	       /* elements per block of its type */
	uint64_t block_bytes;
};

struct work_node {
	const char *operation;
	struct work_tensor out;
	struct work_tensor source[WORK_SOURCES];
};

struct work_counts {
	uint32_t flags; /* BRICK_SITE_HAS_* for the counts that are known; BRICK_SITE_AT_MOST */
	uint64_t elements, bytes, flops;
};

void work_count(const struct work_node *node, struct work_counts *counts);

/* The tensor's bytes without gaps; 0: not known. */
uint64_t work_tensor_bytes(const struct work_tensor *tensor);

/* The work of a node with a mask, per unit that the mask lets through. No product overflows. */
struct work_masked {
	uint32_t source;       /* index of the node's source that is the mask */
	uint64_t columns;      /* of the mask: positions of the cache */
	uint64_t rows;	       /* used in each plane: queries; the mask may have more */
	uint64_t planes;       /* of the mask, each for an equal part of the operation */
	uint64_t pair_flops;   /* per query and position that it sees */
	uint64_t column_bytes; /* per position that any query of its plane sees */
	uint64_t fixed_bytes;  /* independent of the mask */
};

/* True if the node is a FLASH_ATTN_EXT with a mask of a known form, and nothing overflows. */
bool work_mask_of(struct work_masked *masked, const struct work_node *node);

/*
 * Set counts->bytes and counts->flops by the results of mask_count(): pairs of a query and a
 * position that it sees, and columns that any query sees, both in all planes. 0, or -EOVERFLOW.
 */
int work_seen(const struct work_masked *masked, uint64_t pairs, uint64_t columns,
	struct work_counts *counts);

/* True for operations that are never executed (views and the like). */
bool work_is_empty(const char *operation);

/*
 * `planes` masks one after the other, each of `stride` rows of `columns` values, of which the first
 * `rows` are used. Counts the values that are not minus infinity (*pairs) and the columns that have
 * one (*seen). half: values have 16 bits, else they are f32.
 */
struct mask_shape {
	uint64_t columns, rows, stride, planes;
	bool half;
};
void mask_count(
	const void *values, const struct mask_shape *shape, uint64_t *pairs, uint64_t *seen);
