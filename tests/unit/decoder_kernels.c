/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoder's kernels: those of every instruction set that this CPU has against sums in double,
 * on shapes that leave rows and tokens over, for all types of weights.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "decoder_kernels.h"
#include "decoder_model.h"

enum { ROWS_MAX = 23, TOKENS_MAX = 131, K_MAX = 224, PAD = 3 };

static const char *const isas[] = {"scalar", "avx2", "avx512", "neon"};
static const enum gguf_type types[] = {GGUF_F32, GGUF_F16, GGUF_Q8_0};

static uint64_t random_state = 1;

static uint32_t random_bits(void)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33);
}

static float random_float(void)
{
	return (float)random_bits() / (float)(1u << 30) - 1;
}

static void fill_row(enum gguf_type type, void *row, size_t k)
{
	for (size_t i = 0; i < k; i++) {
		struct gguf_q8_0 *block = (struct gguf_q8_0 *)row + i / BLOCK;

		if (type == GGUF_F32)
			((float *)row)[i] = random_float();
		else if (type == GGUF_F16)
			((uint16_t *)row)[i] = float_to_half(random_float());
		else
			block->numbers[i % BLOCK] = (int8_t)random_bits();
		if (type == GGUF_Q8_0)
			block->scale = float_to_half(random_float() / 64);
	}
}

static void multiply(const struct kernels *kernels, enum gguf_type type, const struct gemm *g)
{
	if (type == GGUF_F32)
		kernels->gemm_f32(g);
	else if (type == GGUF_F16)
		kernels->gemm_f16(g);
	else
		kernels->gemm_q8_0(g);
}

/* A sum of k rounded products errs by less than k half units of the sum of their sizes. */
static void check_sum(const struct gemm *g, const struct matrix *w, size_t row, size_t token)
{
	float weights[K_MAX];
	double sum = 0, size = 0;

	matrix_row(w, row, weights);
	for (size_t i = 0; i < g->k; i++) {
		sum += (double)weights[i] * g->x[token * g->x_stride + i];
		size += fabs((double)weights[i] * g->x[token * g->x_stride + i]);
	}
	assert_true(
		fabs(g->out[token * g->out_stride + row] - sum) <= (double)g->k * size * 0x1p-24);
}

static void check_shape(
	const struct kernels *kernels, enum gguf_type type, size_t rows, size_t tokens, size_t k)
{
	struct matrix w = {.type = type, .rows = rows, .cols = k};
	struct gemm g = {.rows = rows, .tokens = tokens, .k = k, .x_stride = k + PAD};

	w.row_bytes = g.w_stride = (size_t)gguf_row_bytes(type, k);
	g.out_stride = rows + PAD;
	w.data = g.w = malloc(rows * w.row_bytes); /* exact: sanitizers see what is beyond */
	g.x = malloc(tokens * g.x_stride * sizeof(float));
	g.out = malloc(tokens * g.out_stride * sizeof(float));
	for (size_t i = 0; i < rows; i++)
		fill_row(type, (char *)g.w + i * g.w_stride, k);
	for (size_t i = 0; i < tokens * g.x_stride; i++)
		((float *)g.x)[i] = random_float();
	memset(g.out, 0xff, tokens * g.out_stride * sizeof(float));
	multiply(kernels, type, &g);
	for (size_t token = 0; token < tokens; token++) {
		for (size_t row = 0; row < rows; row++)
			check_sum(&g, &w, row, token);
		for (size_t i = rows; i < g.out_stride; i++)
			assert_true(isnan(g.out[token * g.out_stride + i])); /* untouched */
	}
	free((void *)g.w);
	free((void *)g.x);
	free(g.out);
}

static void products(void **state)
{
	static const size_t rows[] = {1, 4, 7, ROWS_MAX}, tokens[] = {1, 2, 6, 64, TOKENS_MAX};
	static const size_t ks[] = {32, 96, K_MAX};
	int found = 0;

	for (size_t i = 0; i < 4; i++) {
		const struct kernels *kernels = kernels_find(isas[i]);

		if (!kernels)
			continue;
		assert_string_equal(kernels->isa, isas[i]);
		found++;
		for (size_t n = 0; n < 3 * 4 * 5 * 3; n++)
			check_shape(kernels, types[n % 3], rows[n / 3 % 4], tokens[n / 12 % 5],
				ks[n / 60]);
	}
	assert_true(found >= 1);
}

static void choice(void **state)
{
	assert_non_null(kernels_find("scalar"));
	assert_non_null(kernels_find("auto"));
	assert_null(kernels_find("altivec"));
	assert_true(!kernels_find("neon") || !kernels_find("avx2"));
}

/* All halves there and back; every float between two halves to the nearer one. */
static void halves(void **state)
{
	for (uint32_t i = 0; i < 0x10000; i++) {
		float value = half_to_float((uint16_t)i), next;

		if (isnan(value)) {
			assert_true((i & 0x7c00) == 0x7c00 && (i & 0x3ff));
			assert_true(isnan(half_to_float(float_to_half(value))));
			continue;
		}
		assert_int_equal(float_to_half(value), i);
		if ((i & 0x7fff) >= 0x7bff)
			continue; /* the largest, and infinity */
		next = half_to_float((uint16_t)(i + 1));
		assert_true(fabsf(next) > fabsf(value));
		assert_int_equal(float_to_half(value + (next - value) * 0.375f), i);
		assert_int_equal(float_to_half(value + (next - value) * 0.625f), i + 1);
		assert_int_equal(float_to_half(value + (next - value) * 0.5f), i + (i & 1));
	}
	assert_int_equal(float_to_half(65519.9f), 0x7bff);
	assert_int_equal(float_to_half(-65520), 0xfc00);
	assert_int_equal(float_to_half(1e-30f), 0);
	assert_true(half_to_float(1) == 0x1p-24f && half_to_float(0x3c00) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),
		cmocka_unit_test(choice),
		cmocka_unit_test(halves),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
