/* SPDX-License-Identifier: Apache-2.0 */
/* Work counts of ggml's operations, against numbers worked out by hand. */
#include "attach/ggml/engine/node_work.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "attach/ggml/nodes/masks.h"
#include "brick/registry.h"

enum {
	ALL = BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS,
};

static struct work_tensor tensor(
	int64_t a, int64_t b, int64_t c, int64_t d, uint64_t block, uint64_t bytes)
{
	return (struct work_tensor){{a, b, c, d}, block, bytes};
}

static struct work_tensor f32(int64_t a, int64_t b, int64_t c)
{
	return tensor(a, b, c, 1, 1, 4);
}

static struct work_tensor f16(int64_t a, int64_t b, int64_t c)
{
	return tensor(a, b, c, 1, 1, 2);
}

static void assert_counts(const struct work_node *node, uint32_t flags, uint64_t elements,
	uint64_t bytes, uint64_t flops)
{
	struct work_counts c;

	work_count(node, &c);
	assert_int_equal(c.flags, flags);
	assert_int_equal(c.elements, elements);
	assert_int_equal(c.bytes, bytes);
	assert_int_equal(c.flops, flops);
}

static void products(void **state)
{
	(void)state;
	/* 512 x 1408 weights of f16, 7 tokens */
	const struct work_node plain = {
		"MUL_MAT", f32(1408, 7, 1), {f16(512, 1408, 1), f32(512, 7, 1)}};
	assert_counts(&plain, ALL, 1408 * 7, 512 * 1408 * 2 + 512 * 7 * 4 + 1408 * 7 * 4,
		2ull * 1408 * 7 * 512);
	/* the same in q8_0: 34 bytes for 32 */
	const struct work_node q8 = {
		"MUL_MAT", f32(1408, 7, 1), {tensor(512, 1408, 1, 1, 32, 34), f32(512, 7, 1)}};
	assert_counts(&q8, ALL, 1408 * 7, 16 * 34 * 1408 + 512 * 7 * 4 + 1408 * 7 * 4,
		2ull * 1408 * 7 * 512);
	/* 8 experts of 64 x 32, 2 of them for each of 3 tokens: at most 6 are read */
	const struct work_node experts = {
		"MUL_MAT_ID", f32(32, 2, 3), {f16(64, 32, 8), f32(64, 1, 3), f32(2, 3, 1)}};
	assert_counts(&experts, ALL | BRICK_SITE_AT_MOST, 32 * 2 * 3,
		64 * 32 * 2 * 6 + 64 * 3 * 4 + 2 * 3 * 4 + 32 * 2 * 3 * 4, 2 * 32 * 2 * 3 * 64);
	/* one token's are two different ones; and where each uses all, all are read */
	const struct work_node one = {
		"MUL_MAT_ID", f32(32, 2, 1), {f16(64, 32, 8), f32(64, 1, 1), f32(2, 1, 1)}};
	assert_counts(
		&one, ALL, 32 * 2, 64 * 32 * 2 * 2 + 64 * 4 + 2 * 4 + 32 * 2 * 4, 2 * 32 * 2 * 64);
	const struct work_node all = {
		"MUL_MAT_ID", f32(32, 8, 3), {f16(64, 32, 8), f32(64, 1, 3), f32(8, 3, 1)}};
	assert_counts(&all, ALL, 32 * 8 * 3,
		64 * 32 * 2 * 8 + 64 * 3 * 4 + 8 * 3 * 4 + 32 * 8 * 3 * 4, 2 * 32 * 8 * 3 * 64);
	const struct work_node outer = {"OUT_PROD", f32(5, 6, 1), {f32(5, 9, 1), f32(6, 9, 1)}};
	assert_counts(&outer, ALL, 30, (45 + 54 + 30) * 4, 2 * 30 * 9);
}

static void attention(void **state)
{
	/* 8 heads of 64, 4 of them in the cache, 3 queries, 256 rows of cache, a mask */
	const struct work_node node = {"FLASH_ATTN_EXT", f32(64, 8, 3),
		{f32(64, 3, 8), f16(64, 256, 4), f16(64, 256, 4), f16(256, 3, 1)}};

	(void)state;
	assert_counts(&node, ALL | BRICK_SITE_AT_MOST, 64 * 8 * 3,
		64 * 3 * 8 * 4 + 2 * (64 * 256 * 4 * 2) + 256 * 3 * 2 + 64 * 8 * 3 * 4,
		2ull * (3 * 8) * 256 * (64 + 64));
}

/* The same with rows of padding in the mask, of which three queries see 5, 6 and 7 positions. */
static void attention_seen(void **state)
{
	const struct work_node node = {"FLASH_ATTN_EXT", f32(64, 8, 3),
		{f32(64, 3, 8), f16(64, 256, 4), f16(64, 256, 4), f16(256, 64, 1)}};
	struct work_node other = node;
	struct work_masked masked;
	struct work_counts counts;

	(void)state;
	assert_true(work_mask_of(&masked, &node));
	assert_int_equal(masked.source, 3);
	assert_int_equal(work_seen(&masked, 5 + 6 + 7, 7, &counts), 0);
	assert_int_equal(counts.flops, 2ull * 18 * 8 * (64 + 64));
	assert_int_equal(
		counts.bytes, 64 * 3 * 8 * 4 + 2 * (64 * 7 * 4 * 2) + 256 * 3 * 2 + 64 * 8 * 3 * 4);
	/* Saturated products are not counts. */
	assert_int_equal(work_seen(&masked, UINT64_MAX / 2, 7, &counts), -EOVERFLOW);
	other.source[3] = f16(128, 64, 1);
	assert_false(work_mask_of(&masked, &other));
	other.source[3] = (struct work_tensor){0};
	assert_false(work_mask_of(&masked, &other));
	other = node;
	other.operation = "SOFT_MAX";
	assert_false(work_mask_of(&masked, &other));
}

static void masks(void **state)
{
	enum { COLUMNS = 1500, ROWS = 3, STRIDE = 4 };
	static float f32_mask[2][STRIDE][COLUMNS];
	static uint16_t f16_mask[2][STRIDE][COLUMNS];
	struct mask_shape shape = {COLUMNS, ROWS, STRIDE, 2, 0};
	uint64_t pairs, seen;

	(void)state;
	/* Row r sees the first 1100 + r; what padding says does not count, nor how much is added.
	 */
	for (int p = 0; p < 2; p++)
		for (int r = 0; r < STRIDE; r++)
			for (int c = 0; c < COLUMNS; c++) {
				int sees = r == ROWS || c < 1100 + r;
				f32_mask[p][r][c] = sees ? -2.5f * (float)r : -INFINITY;
				f16_mask[p][r][c] = sees ? 0 : 0xfc00;
			}
	mask_count(f32_mask, &shape, &pairs, &seen);
	assert_int_equal(pairs, 2 * (1100 + 1101 + 1102));
	assert_int_equal(seen, 2 * 1102);
	shape.half = 1;
	mask_count(f16_mask, &shape, &pairs, &seen);
	assert_int_equal(pairs, 2 * (1100 + 1101 + 1102));
	assert_int_equal(seen, 2 * 1102);
}

static void rows(void **state)
{
	/* 5 rows out of a table of 2048: not the table */
	const struct work_node get = {
		"GET_ROWS", f32(512, 5, 1), {f16(512, 2048, 1), f32(5, 1, 1)}};
	/* 5 rows into a cache of 4096 rows of f16 */
	const struct work_node set = {
		"SET_ROWS", f16(256, 4096, 1), {f32(256, 5, 1), tensor(5, 1, 1, 1, 1, 8)}};

	(void)state;
	assert_counts(&get, ALL, 512 * 5, 512 * 2 * 5 + 5 * 4 + 512 * 5 * 4, 0);
	assert_counts(&set, ALL, 256 * 5, 256 * 5 * 4 + 5 * 8 + 256 * 2 * 5, 0);
}

static void element_wise(void **state)
{
	const struct work_tensor x = f32(100, 3, 1), weight = f32(100, 1, 1);
	const struct work_node add = {"ADD", x, {x, weight}};
	const struct work_node norm = {"RMS_NORM", x, {x}};
	const struct work_node fused = {"RMS_NORM+MUL", x, {x, weight}};
	const struct work_node soft = {"SOFT_MAX", x, {x, f16(100, 1, 1)}};
	/* 64 rows of mask for a query: one is read */
	const struct work_node padded = {
		"SOFT_MAX", f32(100, 1, 4), {f32(100, 1, 4), f32(100, 64, 1)}};
	/* biases of 32 experts, of which each token uses 4; the kernel of an image is not read */
	const struct work_node one = {
		"ADD_ID", f32(64, 4, 1), {f32(64, 4, 1), f32(64, 32, 1), f32(4, 1, 1)}};
	const struct work_node many = {
		"ADD_ID", f32(64, 4, 9), {f32(64, 4, 9), f32(64, 32, 1), f32(4, 9, 1)}};
	const struct work_node image = {"IM2COL", f16(18, 7, 7), {f16(3, 3, 2), f32(9, 9, 2)}};
	const struct work_node rope = {"ROPE", x, {x, f32(3, 1, 1)}};
	const struct work_node glu = {"SWIGLU", x, {x, x}};
	const struct work_node copy = {"CPY", f16(100, 3, 1), {x, f16(100, 3, 1)}};

	(void)state;
	assert_counts(&add, ALL, 300, 1200 + 400 + 1200, 300);
	assert_counts(&norm, ALL, 300, 2400, 900);
	assert_counts(&fused, ALL, 300, 2800, 1200);
	assert_counts(&soft, ALL, 300, 2400 + 200, 1500);
	assert_counts(&padded, ALL, 400, 3200 + 400, 2000);
	assert_counts(&one, ALL, 256, 2048 + 16 + 4 * 256, 256);
	assert_counts(&many, ALL | BRICK_SITE_AT_MOST, 2304, 9 * 2048 + 144 + 32 * 256, 2304);
	assert_counts(&image, ALL, 882, 162 * 4 + 882 * 2, 0);
	assert_counts(&rope, ALL, 300, 2400 + 12, 900);
	assert_counts(&glu, ALL, 300, 3600, 600);
	assert_counts(&copy, ALL, 300, 1200 + 600, 0); /* what it goes into is counted once */
}

static void what_is_not_known_is_not_counted(void **state)
{
	const struct work_node unknown = {"WIN_PART", f32(10, 10, 1), {f32(10, 10, 1)}};
	const struct work_node view = {"VIEW", f32(10, 10, 1), {f32(10, 10, 1)}};
	const struct work_node huge = {"MUL_MAT", f32(INT64_MAX, 4, 1),
		{f16(INT64_MAX, INT64_MAX, 1), f32(INT64_MAX, 4, 1)}};
	const struct work_node negative = {"ADD", f32(-4, 2, 1), {f32(-4, 2, 1)}};
	const struct work_node no_type = {"CONT", tensor(4, 2, 1, 1, 0, 0), {f32(4, 2, 1)}};

	(void)state;
	assert_counts(&unknown, BRICK_SITE_HAS_ELEMENTS, 100, 0, 0);
	assert_counts(&view, ALL, 0, 0, 0);
	assert_counts(&huge, 0, 0, 0, 0);
	assert_counts(&negative, 0, 0, 0, 0);
	assert_counts(&no_type, BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_FLOPS, 8, 0, 0);
	assert_true(work_is_empty("VIEW"));
	assert_true(work_is_empty("NONE"));
	assert_false(work_is_empty("CONT"));
	assert_false(work_is_empty("WIN_PART"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),
		cmocka_unit_test(attention),
		cmocka_unit_test(attention_seen),
		cmocka_unit_test(masks),
		cmocka_unit_test(rows),
		cmocka_unit_test(element_wise),
		cmocka_unit_test(what_is_not_known_is_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
