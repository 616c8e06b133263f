/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one execution of an operation works on, computed from shapes and types, never measured.
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
 * The engine computes nothing for a query and a position that the mask keeps apart, and of k and v
 * the cache's padding is the most of it while a text is short. What the mask says is not in the
 * shapes: work_count() marks such counts as the most that it can be (BRICK_SITE_AT_MOST), and
 * work_seen() makes them exact for a mask that has been read. MUL_MAT and SOFT_MAX of attention
 * without FLASH_ATTN_EXT compute the padding and what is masked, too: it is work that is done.
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
	uint32_t flags; /* BRICK_SITE_HAS_* */
	uint64_t elements, bytes, flops;
};

void work_count(const struct work_node *node, struct work_counts *counts);

/* Without gaps; 0: not known. */
uint64_t work_tensor_bytes(const struct work_tensor *tensor);

/* How much of an operation a mask lets through; all of it in 64 bits. */
struct work_masked {
	uint32_t source;	/* of the node: the mask, columns x rows or more, planes */
	uint64_t columns, rows; /* positions of the cache, queries */
	uint64_t planes;	/* of the mask, each for as much of the operation */
	uint64_t pair_flops;	/* of a query and a position that it sees */
	uint64_t column_bytes;	/* of a position that any query of its plane sees */
	uint64_t fixed_bytes;	/* whatever is seen */
};

/* True if the node skips work by its mask, and the mask has a form that is known here. */
bool work_mask_of(struct work_masked *masked, const struct work_node *node);

/*
 * The work for so many pairs of a query and a position that it sees, and so many positions that any
 * query sees, in all planes. 0, or -EOVERFLOW.
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
