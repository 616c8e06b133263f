// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic that depends on the CPU: products of matrices, a table of them per instruction
// set. Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// out[token * out_stride + row] = sum over k of w[row][k] * x[token][k]
struct gemm {
	const void *w;
	const float *x;
	float *out;
	size_t w_stride;	     // bytes
	size_t x_stride, out_stride; // floats
	size_t rows, tokens, k;	     // k: a multiple of 32
	size_t part, first_row;	     // whose rows these are, and where in the whole matrix
	bool has_tiles;		     // large enough for its tiles to be timed
};

// What workers' parts begin at multiples of; rows of w that are worked on before the next ones.
enum { ROWS_OF_PARTS = 64, ROWS_AT_A_TIME = 256 };

struct kernels {
	const char *isa;
	void (*gemm_f32)(const struct gemm *g); // the type is that of w
	void (*gemm_f16)(const struct gemm *g);
	void (*gemm_q8_0)(const struct gemm *g);
};

extern const struct kernels kernels_scalar, kernels_avx2, kernels_avx512, kernels_neon;

// By name, or the best for "auto"; NULL if this CPU or this build has none such.
const struct kernels *kernels_find(const char *isa);
