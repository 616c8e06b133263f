// SPDX-License-Identifier: Apache-2.0
//
// The kernels themselves, written once in the words that kernels_*.c define before they include
// this file: VEC holds LANES floats; BYTES holds 32 signed bytes. A tile of ROWS x COLS sums stays
// in registers while k runs, so that each number loaded is used ROWS or COLS times.
#include "half.h"
#include "kernels.h"

#define INLINE static inline __attribute__((always_inline))
#define AT(type, base, stride, i) ((const type *)((const char *)(base) + (i) * (stride)))

// Tokens whose activations stay in the second-level cache while the rows of w go by.
enum { TOKENS_PER_SWEEP = 64 };

// n_rows and n_tokens are constants wherever a tile is called: the loops over them vanish.
typedef void tile_fn(const struct gemm *g, size_t row, size_t token, int n_rows, int n_tokens);

INLINE void store_sums(const struct gemm *g, size_t row, size_t token, int n_rows, int n_tokens,
	VEC sums[ROWS][COLS])
{
	for (int t = 0; t < n_tokens; t++)
		for (int r = 0; r < n_rows; r++)
			g->out[(token + (size_t)t) * g->out_stride + row + (size_t)r] =
				SUM(sums[r][t]);
}

#define FLOAT_TILE(name, type, LOAD_W)                                                             \
	INLINE void name(const struct gemm *g, size_t row, size_t token, int n_rows, int n_tokens) \
	{                                                                                          \
		VEC sums[ROWS][COLS], w[ROWS];                                                     \
                                                                                                   \
		for (int i = 0; i < ROWS * COLS; i++)                                              \
			sums[i / COLS][i % COLS] = ZERO();                                         \
		for (size_t k = 0; k < g->k; k += LANES) {                                         \
			for (int r = 0; r < n_rows; r++)                                           \
				w[r] = LOAD_W(AT(type, g->w, g->w_stride, row + (size_t)r) + k);   \
			for (int t = 0; t < n_tokens; t++) {                                       \
				VEC x = LOAD(AT(float, g->x, g->x_stride, token + (size_t)t) + k); \
                                                                                                   \
				for (int r = 0; r < n_rows; r++)                                   \
					sums[r][t] = FMA(w[r], x, sums[r][t]);                     \
			}                                                                          \
		}                                                                                  \
		store_sums(g, row, token, n_rows, n_tokens, sums);                                 \
	}

FLOAT_TILE(tile_f32, float, LOAD)
FLOAT_TILE(tile_f16, uint16_t, LOAD_HALF)

// Whole numbers are multiplied exactly; each block's sum is scaled and added to the others.
INLINE void tile_q8_0(const struct gemm *g, size_t row, size_t token, int n_rows, int n_tokens)
{
	VEC sums[ROWS][COLS], scale[ROWS];
	BYTES w[ROWS];

	for (int i = 0; i < ROWS * COLS; i++)
		sums[i / COLS][i % COLS] = ZERO();
	for (size_t b = 0; b < g->k / GGUF_Q8_NUMBERS; b++) {
		for (int r = 0; r < n_rows; r++) {
			const struct gguf_q8_0 *block =
				AT(struct gguf_q8_0, g->w, g->w_stride, row + (size_t)r) + b;

			w[r] = LOAD_BYTES(block->numbers);
			scale[r] = SPLAT(HALF(block->scale));
		}
		for (int t = 0; t < n_tokens; t++) {
			const struct q8_input *block =
				AT(struct q8_input, g->x, g->x_stride, token + (size_t)t) + b;
			BYTES x = LOAD_BYTES(block->numbers);
			VEC x_scale = SPLAT(block->scale);

			for (int r = 0; r < n_rows; r++)
				sums[r][t] = FMA(DOT_BYTES(w[r], x), MUL(scale[r], x_scale),
					sums[r][t]);
		}
	}
	store_sums(g, row, token, n_rows, n_tokens, sums);
}

// A column of tiles: ROWS rows for the tokens from first to end.
INLINE void sweep_tokens(const struct gemm *g, tile_fn *tile, size_t row, size_t first, size_t end)
{
	size_t token = first;

	for (; token + COLS <= end; token += COLS)
		tile(g, row, token, ROWS, COLS);
	for (; token < end; token++)
		tile(g, row, token, ROWS, 1);
}

INLINE void sweep(const struct gemm *g, tile_fn *tile)
{
	for (size_t first = 0, end; first < g->tokens; first = end) {
		size_t row = 0;

		end = first + TOKENS_PER_SWEEP < g->tokens ? first + TOKENS_PER_SWEEP : g->tokens;
		for (; row + ROWS <= g->rows; row += ROWS)
			sweep_tokens(g, tile, row, first, end);
		for (; row < g->rows; row++)
			for (size_t token = first; token < end; token++)
				tile(g, row, token, 1, 1);
	}
}

static void gemm_f32(const struct gemm *g)
{
	sweep(g, tile_f32);
}

static void gemm_f16(const struct gemm *g)
{
	sweep(g, tile_f16);
}

static void gemm_q8_0(const struct gemm *g)
{
	sweep(g, tile_q8_0);
}

static void to_half(const float *x, uint16_t *out, size_t n)
{
	for (size_t i = 0; i < n; i += LANES)
		STORE_HALF(out + i, LOAD(x + i));
}

const struct kernels KERNELS = {ISA, gemm_f32, gemm_f16, gemm_q8_0, to_half};
