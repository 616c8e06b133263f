// SPDX-License-Identifier: Apache-2.0
//
// The kernels, written once; kernels_*.c define the words in capitals for their instruction set and
// include this. VEC is LANES floats. A tile of ROWS x COLS sums stays in registers while k runs, so
// that each number loaded is used COLS or ROWS times.
#include "brick/tile.h"
#include "gguf.h"
#include "decoder_kernels.h"
#include "decoder_team.h"

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

// A tile as Brick sees it, where it is worth a look; what it works on follows from its shape.
INLINE struct brick_tile begin_tile(
	const struct gemm *g, enum brick_tile_level level, size_t row, size_t column)
{
	return g->has_tiles ? brick_tile_begin(level, (uint32_t)row, (uint32_t)column)
			    : (struct brick_tile){0, 0, 0};
}

INLINE void end_tile(const struct gemm *g, const struct brick_tile *t, size_t rows, size_t tokens)
{
	brick_tile_end(t, rows * tokens,
		rows * g->w_stride + (rows + g->k) * tokens * sizeof(float),
		2 * rows * tokens * g->k);
}

INLINE void micro(const struct gemm *g, VEC (*load)(const void *, size_t), size_t row, size_t token,
	size_t n_rows, size_t n_tokens)
{
	struct brick_tile t =
		begin_tile(g, BRICK_TILE_LEVEL_MICRO, (g->first_row + row) / ROWS, token / COLS);
	tile(g, load, row, token, n_rows, n_tokens);
	end_tile(g, &t, n_rows, n_tokens);
}

// Some rows of w for the tokens of a sweep.
INLINE void rows(const struct gemm *g, VEC (*load)(const void *, size_t), struct part rows,
	struct part tokens)
{
	size_t row = rows.begin, t;
	for (; row + ROWS <= rows.end; row += ROWS) {
		for (t = tokens.begin; t + COLS <= tokens.end; t += COLS)
			micro(g, load, row, t, ROWS, COLS);
		for (; t < tokens.end; t++)
			micro(g, load, row, t, ROWS, 1);
	}
	for (; row < rows.end; row++)
		for (t = tokens.begin; t < tokens.end; t++)
			micro(g, load, row, t, 1, 1);
}

// All tiles. The activations of a sweep stay in the second-level cache while all of w goes by, some
// rows at a time; 60 is a multiple of every COLS.
enum { TOKENS_PER_SWEEP = 60 };

INLINE void sweep(const struct gemm *g, VEC (*load)(const void *, size_t))
{
	for (struct part t = {0, 0}; t.begin < g->tokens; t.begin = t.end) {
		t.end = t.begin + TOKENS_PER_SWEEP < g->tokens ? t.begin + TOKENS_PER_SWEEP
							       : g->tokens;
		size_t column = t.begin / TOKENS_PER_SWEEP;
		struct brick_tile macro = begin_tile(g, BRICK_TILE_LEVEL_MACRO, g->part, column);
		for (struct part r = {0, 0}; r.begin < g->rows; r.begin = r.end) {
			r.end = r.begin + ROWS_AT_A_TIME < g->rows ? r.begin + ROWS_AT_A_TIME
								   : g->rows;
			struct brick_tile midi = begin_tile(g, BRICK_TILE_LEVEL_MIDI,
				(g->first_row + r.begin) / ROWS_AT_A_TIME, column);
			rows(g, load, r, t);
			end_tile(g, &midi, r.end - r.begin, t.end - t.begin);
		}
		end_tile(g, &macro, g->rows, t.end - t.begin);
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
