/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of an operator of PyTorch, computed from its inputs' shapes and types, never measured.
 * Bytes are those of its inputs and of its result, each once; n is the elements of the result.
 *
 *   operators                        FLOPs
 *   linear, mm, bmm, addmm, matmul   2 n K, K = length of the sums
 *   conv1d to conv3d                 2 n, for each value of a filter
 *   scaled_dot_product_attention     2 pairs heads (D + Dv); half of the pairs where it is causal
 *   softmax, layer and group norms   5 n
 *   batch and RMS norms              4 n
 *   arithmetic, functions            n
 *   sums, means, maxima              elements of the input
 *   embedding, copies, cat, fills    0; of a table only the rows that are read
 *
 * The same as ggml's nodes have (attach/ggml/engine/node_work.h). Anything else, views among it,
 * has no work that is known.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct torch_work {
	uint64_t bytes, flops; /* both 0: not known */
};

/* The number of an operator's formula, by its name; 0: none. For torch_work_of() only. */
uint8_t torch_work_kind(const char *name);

/* Compute the work at the start of an observed function that is told its inputs. */
struct torch_work torch_work_of(uint8_t kind, const void *function);
