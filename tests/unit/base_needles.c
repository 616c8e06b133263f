/* SPDX-License-Identifier: Apache-2.0 */
/* Description: texts in a block of bytes, found at both ends, overlapping and beside near misses,
 * as a search for each alone finds them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/needles.h"

static struct needles set;

static uint64_t one_by_one(const char *data, size_t bytes)
{
	uint64_t found = 0;

	for (size_t i = 0; i < set.count; i++)
		if (memmem(data, bytes, set.texts[i], strlen(set.texts[i])))
			found |= UINT64_C(1) << i;
	return found;
}

static void where_they_are(void **state)
{
	static const char *const texts[] = {"ggml_", "libggml", "libcuda.so", "GGML_ASSERT("};

	(void)state;
	needles_init(&set, texts, 4);
	assert_int_equal(needles_find(&set, "", 0), 0);
	assert_int_equal(needles_find(&set, "ggml", 4), 0);
	assert_int_equal(needles_find(&set, "ggml_", 5), 1);
	assert_int_equal(needles_find(&set, "xxxxxxxxxggml_", 14), 1);
	assert_int_equal(needles_find(&set, "ggml_x\0libcuda.so", 17), 5);
	assert_int_equal(needles_find(&set, "libggml_base", 12), 3);
	assert_int_equal(needles_find(&set, "GGML_ASSERT", 11), 0);
	assert_int_equal(needles_find(&set, "GGML_ASSERT(x", 12), 8);
	needles_init(&set, texts, 0);
	assert_int_equal(needles_find(&set, "ggml_", 5), 0);
}

/* Few letters, so that texts and their beginnings are all over the place. */
static void as_one_by_one(void **state)
{
	static const char *const texts[] = {"abab", "aab", "babba", "bbbbbbb", "abcabcabc", "ca"};
	char data[64];
	uint32_t seed = 1;

	(void)state;
	for (size_t count = 1; count <= 6; count++) {
		needles_init(&set, texts, count);
		for (int round = 0; round < 20000; round++) {
			size_t bytes = (seed >> 8) % sizeof(data);
			for (size_t i = 0; i < bytes; i++) {
				seed = seed * 1664525u + 1013904223u;
				data[i] = "abc"[(seed >> 16) % (2 + (unsigned)round % 2)];
			}
			assert_int_equal(needles_find(&set, data, bytes), one_by_one(data, bytes));
			seed++;
		}
	}
}

/* A large block is gone through in parts: at each place of it, its end included. */
static void in_large_blocks(void **state)
{
	static const char *const texts[] = {"libggml", "ggml_graph_compute", "libcuda.so"};
	static char data[9001];

	(void)state;
	needles_init(&set, texts, 3);
	for (size_t bytes = 4000; bytes <= sizeof(data); bytes += 5001)
		for (size_t i = 0; i < 3; i++)
			for (size_t at = 0; at + 3 <= bytes; at++) {
				size_t length = strlen(texts[i]);
				size_t fits = length < bytes - at ? length : bytes - at;
				memset(data, 'l', bytes);
				memcpy(data + at, texts[i], fits);
				assert_int_equal(needles_find(&set, data, bytes),
					fits == length ? UINT64_C(1) << i : 0);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(where_they_are),
		cmocka_unit_test(as_one_by_one),
		cmocka_unit_test(in_large_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
