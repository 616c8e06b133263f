// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic that depends on the CPU: products of matrices and conversions, one table of them
// per instruction set. Any thread.
#ifndef DECODER_KERNELS_H
#define DECODER_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "gguf.h"

// Activations in the form of Q8_0: the scale is one that binary16 can hold.
struct q8_input {
	float scale;
	int8_t numbers[GGUF_Q8_NUMBERS];
};

// out[token * out_stride + row] = sum over k of w[row][k] * x[token][k]
struct gemm {
	const void *w, *x;         // x: floats, or struct q8_input where w is Q8_0
	float *out;
	size_t w_stride, x_stride; // bytes from row to row
	size_t out_stride;         // floats
	size_t rows, tokens, k;    // k: a multiple of 32
};

typedef void gemm_fn(const struct gemm *gemm);

struct kernels {
	const char *isa;
	gemm_fn *gemm_f32, *gemm_f16, *gemm_q8_0;
	void (*to_half)(const float *x, uint16_t *out, size_t n); // n: a multiple of 32
};

extern const struct kernels kernels_scalar, kernels_avx2, kernels_avx512, kernels_neon;

// By name, or the best for "auto"; NULL if this CPU or build has none such.
const struct kernels *kernels_find(const char *isa);

static inline gemm_fn *kernels_gemm(const struct kernels *kernels, enum gguf_type type)
{
	return type == GGUF_F32 ? kernels->gemm_f32
		: type == GGUF_F16 ? kernels->gemm_f16
				   : kernels->gemm_q8_0;
}

#endif
