/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one execution of an operation works on, computed from shapes and types, never measured.
 * Let n be the elements of the result, and size(t) the bytes of a tensor's elements in its own
 * type, laid out without gaps. A view costs nothing beyond what its reader reads through it.
 *
 *   operation          elements  bytes                                FLOPs
 *   MUL_MAT            n         size(a) + size(b) + size(out)        2 n K, K = length of a's rows
 *   MUL_MAT_ID         n         the same, with min(experts, pairs)   2 n K
 *                                of a's matrices: no more are read
 *   OUT_PROD           n         size(a) + size(b) + size(out)        2 n K, K = columns of a
 *   FLASH_ATTN_EXT     n         size(q, k, v, mask, sinks, out)      2 rows(q) KV (D + Dv)
 *   SOFT_MAX           n         size(in, mask) + size(out)           5 n: max, sub, exp, sum, div
 *   RMS_NORM           n         size(in) + size(out)                 3 n: square, sum, scale
 *   RMS_NORM+MUL       n         size(in, weight) + size(out)         4 n
 *   NORM GROUP_NORM    n         size(in) + size(out)                 5 n: mean, sub, the above
 *   L2_NORM            n         size(in) + size(out)                 3 n
 *   ROPE               n         size(in, positions, factors, out)    3 n: 4 mul, 2 add per pair
 *   ADD SUB MUL DIV .. n         size(inputs) + size(out)             n
 *   SILU TANH ..       n         size(in) + size(out)                 n, whatever the function
 *   SWIGLU GEGLU ..    n         size(inputs) + size(out)             2 n: function and product
 *   SUM SUM_ROWS ..    n         size(in) + size(out)                 elements of the input
 *   CONV_2D            n         size(kernel, in, out)                2 n KW KH channels in
 *   GET_ROWS           n         rows read of a, indices, size(out)   0
 *   SET_ROWS           of b      size(b), indices, rows written       0
 *   CPY CONT CONCAT .. n         size(inputs) + size(out)             0
 *   VIEW RESHAPE ..    0         0                                    0
 *   anything else      n         not known                            not known
 *
 * A count that overflows 64 bits is not known either. Pure functions: any thread.
 */
#ifndef BRICK_ATTACH_GGML_WORK_H
#define BRICK_ATTACH_GGML_WORK_H

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

/* 1 for operations that are never executed (views and the like). */
int work_is_empty(const char *operation);

#endif
