/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: ids, aliases and categories as docs/PARITY.md lists them, registration, limits,
 * threads. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "brick/brick.h"

struct row {
	int id;
	const char *name, *category, *alias;
};

/* Written out, not generated from the header: this is what may never change. */
static const struct row rows[] = {
	{0, "RmsNorm", "Norm", NULL},
	{1, "LayerNorm", "Norm", NULL},
	{2, "QkvProjection", "Attention", "Qkv"},
	{3, "RopeEmbedding", "Attention", "Rope"},
	{3, "RopeEmbedding", "Attention", "RoPE"},
	{4, "AttentionScore", "Attention", NULL},
	{5, "AttentionSoftmax", "Attention", "Softmax"},
	{6, "AttentionOutput", "Attention", NULL},
	{7, "OutputProjection", "Attention", "OutProj"},
	{8, "GateProjection", "FFN", "Gate"},
	{9, "UpProjection", "FFN", "Up"},
	{10, "Activation", "FFN", "SiLU"},
	{10, "Activation", "FFN", "GELU"},
	{10, "Activation", "FFN", "ReLU"},
	{11, "DownProjection", "FFN", "Down"},
	{12, "Embedding", "Other", "Embed"},
	{13, "LmHead", "Other", "Head"},
	{14, "Sampling", "Other", "Sample"},
	{15, "SpMV", "Sparse", "spmv"},
	{16, "SpMM", "Sparse", "spmm"},
	{17, "FormatConvert", "Sparse", NULL},
	{18, "FFT1D", "FFT", "fft1d"},
	{18, "FFT1D", "FFT", "FFT"},
	{19, "FFT2D", "FFT", "fft2d"},
	{20, "LUFactorize", "Solver", "LU"},
	{21, "QRFactorize", "Solver", "QR"},
	{22, "SVDCompute", "Solver", "SVD"},
};

/* F101, F102: ids, names, categories. */
static void well_known(void **state)
{
	static const char *const categories[] = {
		"Norm", "Attention", "FFN", "Other", "Sparse", "FFT", "Solver"};

	for (int i = 0; i < 7; i++)
		assert_string_equal(brick_category_name(i), categories[i]);
	assert_int_equal(BRICK_RMS_NORM, 0);
	assert_int_equal(BRICK_SAMPLING, 14);
	assert_int_equal(BRICK_SVD_COMPUTE, 22);
	assert_int_equal(BRICK_WELL_KNOWN_COUNT, 23);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_string_equal(brick_name(rows[i].id), rows[i].name);
		assert_int_equal(brick_lookup(rows[i].name), rows[i].id);
		assert_string_equal(
			brick_category_name(brick_category_of(rows[i].id)), rows[i].category);
		if (rows[i].alias)
			assert_int_equal(brick_lookup(rows[i].alias), rows[i].id);
	}
	assert_int_equal(brick_lookup("rmsnorm"), -ENOENT);
	assert_int_equal(brick_lookup("SiLU,GELU"), -ENOENT);
	assert_int_equal(brick_lookup(""), -ENOENT);
	assert_int_equal(brick_lookup(NULL), -ENOENT);
	assert_null(brick_name(-1));
	assert_null(brick_name(brick_count()));
	assert_int_equal(brick_category_of(99999), BRICK_CATEGORY_OTHER);
}

static void dynamic(void **state)
{
	int category = brick_category_register("Routing");
	int id = brick_register("TokenRouter", category);

	assert_true(category >= BRICK_CATEGORY_FIRST_DYNAMIC);
	assert_true(id >= BRICK_FIRST_DYNAMIC);
	assert_int_equal(id, brick_count() - 1);
	assert_int_equal(brick_register("TokenRouter", 0), id);
	assert_int_equal(brick_category_of(id), category);
	assert_int_equal(brick_lookup("TokenRouter"), id);
	assert_int_equal(brick_register("RmsNorm", 3), 0);
	assert_int_equal(brick_register("", 0), -EINVAL);
	assert_int_equal(brick_register(NULL, 0), -EINVAL);
	assert_int_equal(brick_register("x", 999), -EINVAL);
	assert_int_equal(brick_register("x", -1), -EINVAL);
	char longest[64];
	memset(longest, 'n', sizeof longest);
	longest[48] = '\0';
	assert_int_equal(brick_register(longest, 0), -EINVAL);
	longest[47] = '\0';
	assert_true(brick_register(longest, 0) > id);
}

static void sites(void **state)
{
	struct brick_site site = {.size = sizeof(struct brick_site),
		.brick = BRICK_LM_HEAD,
		.layer = -1,
		.elements = 7,
		.operation = "MUL_MAT",
		.label = "result_output"};
	int first = brick_site_register(&site);

	assert_true(first >= 1);
	assert_int_equal(brick_site_register(&site), first + 1);
	site.brick = 1023;
	assert_int_equal(brick_site_register(&site), -EINVAL);
	assert_int_equal(brick_site_register(NULL), -EINVAL);
}

static void *register_many(void *argument)
{
	char name[32];

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "shared-%d", i);
		assert_true(brick_register(name, 3) > 0);
	}
	return NULL;
}

static void threads(void **state)
{
	pthread_t threads[4];
	int before = brick_count();

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, register_many, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(brick_count(), before + 200);
}

static void fills_up(void **state)
{
	char name[32];
	int id = 0;

	for (int i = 0; i < 20000 && id >= 0; i++) {
		snprintf(name, sizeof name, "fill-%d", i);
		id = brick_register(name, 3);
	}
	assert_int_equal(id, BRICK_EFULL);
	assert_int_equal(brick_count(), 16384);
	assert_int_equal(brick_lookup("fill-16000"), brick_lookup("fill-0") + 16000);
	assert_int_equal(brick_lookup("RmsNorm"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_known),
		cmocka_unit_test(dynamic),
		cmocka_unit_test(sites),
		cmocka_unit_test(threads),
		cmocka_unit_test(fills_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
