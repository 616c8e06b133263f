// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic that depends on the CPU: products of matrices, a table of them per instruction
// set; and IEEE binary16, as models and the KV cache store it, without help from the CPU. Any
// thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

union float_bits {
	float value;
	uint32_t bits;
};

static inline float half_to_float(uint16_t half)
{
	union float_bits f = {.bits = (uint32_t)(half & 0x7fff) << 13};
	if (f.bits >= 0x0f800000)
		f.bits |= 0x7f800000; // infinite or not a number
	else
		f.value *= 0x1p112f; // the exponents' biases are 112 apart
	f.bits |= (uint32_t)(half & 0x8000) << 16;
	return f.value;
}

// To nearest even; too large becomes infinity.
static inline uint16_t float_to_half(float value)
{
	union float_bits f = {.value = value};
	uint32_t sign = f.bits >> 16 & 0x8000;
	f.bits &= 0x7fffffff;
	if (f.bits > 0x7f800000)
		return (uint16_t)(sign | 0x7e00); // not a number
	if (f.bits >= 0x477ff000)
		return (uint16_t)(sign | 0x7c00); // 65520 and up
	if (f.bits < 0x38800000) { // below 2^-14: the sum rounds at the last bit, 2^-24
		f.value += 0.5f;
		return (uint16_t)(sign | (f.bits - 0x3f000000));
	}
	f.bits += 0xfff + (f.bits >> 13 & 1) - 0x38000000;
	return (uint16_t)(sign | f.bits >> 13);
}

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
