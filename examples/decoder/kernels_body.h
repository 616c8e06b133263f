// SPDX-License-Identifier: Apache-2.0
//
// The kernels, written once; kernels_*.c define the words in capitals for their instruction set and
// include this. VEC is LANES floats. A tile of ROWS x COLS sums stays in registers while k runs, so
// that each number loaded is used COLS or ROWS times.
#include "gguf.h"
#include "half.h"
#include "kernels.h"

#define INLINE static inline __attribute__((always_inline))
typedef VEC unaligned_vec __attribute__((aligned(4), may_alias));

INLINE VEC load_f32(const void *row, size_t k)
{
	return *(const unaligned_vec *)((const float *)row + k);
}

INLINE VEC load_f16(const void *row, size_t k)
{
	return LOAD_HALVES((const uint16_t *)row + k);
}

INLINE VEC load_q8_0(const void *row, size_t k)
{
	const struct gguf_q8_0 *block = (const struct gguf_q8_0 *)row + k / BLOCK;
	return LOAD_BYTES(block->numbers + k % BLOCK) * HALF(block->scale);
}

// n_rows and n_tokens are constants wherever this is called: the loops over them vanish.
INLINE void tile(const struct gemm *g, VEC (*load)(const void *, size_t), size_t row, size_t token,
	size_t n_rows, size_t n_tokens)
{
	VEC sums[ROWS][COLS] = {0};
	const char *w = (const char *)g->w + row * g->w_stride;
	const float *x = g->x + token * g->x_stride;
	const char *ahead = w + ROWS * g->w_stride;
	for (size_t k = 0; k < g->k; k += LANES, ahead += g->w_stride * LANES / g->k) {
		VEC weights[ROWS];
		for (size_t r = 0; r < n_rows; r++)
			weights[r] = load(w + r * g->w_stride, k);
		for (size_t r = 0; r < ROWS && n_tokens == 1; r++) // w comes from memory: ask now
			__builtin_prefetch(ahead + r * g->w_stride);
		for (size_t t = 0; t < n_tokens; t++) {
			VEC input = load_f32(x + t * g->x_stride, k);
			for (size_t r = 0; r < n_rows; r++)
				sums[r][t] += weights[r] * input;
		}
	}
	for (size_t t = 0; t < n_tokens; t++)
		for (size_t r = 0; r < n_rows; r++)
			g->out[(token + t) * g->out_stride + row + r] = SUM(sums[r][t]);
}

// All tiles. The activations of a sweep stay in the second-level cache while all of w goes by; 60
// is a multiple of every COLS.
enum { TOKENS_PER_SWEEP = 60 };

INLINE void sweep(const struct gemm *g, VEC (*load)(const void *, size_t))
{
	for (size_t first = 0, end, t; first < g->tokens; first = end) {
		end = first + TOKENS_PER_SWEEP < g->tokens ? first + TOKENS_PER_SWEEP : g->tokens;
		size_t row = 0;
		for (; row + ROWS <= g->rows; row += ROWS) {
			for (t = first; t + COLS <= end; t += COLS)
				tile(g, load, row, t, ROWS, COLS);
			for (; t < end; t++)
				tile(g, load, row, t, ROWS, 1);
		}
		for (; row < g->rows; row++)
			for (t = first; t < end; t++)
				tile(g, load, row, t, 1, 1);
	}
}

#define GEMM(type)                                    \
	static void gemm_##type(const struct gemm *g) \
	{                                             \
		sweep(g, load_##type);                \
	}
GEMM(f32)
GEMM(f16)
GEMM(q8_0)

const struct kernels KERNELS = {ISA, gemm_f32, gemm_f16, gemm_q8_0};
