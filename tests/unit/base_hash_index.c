/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes of texts: entries are found whose hashes are equal, too; full and failing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include "base/fnv.h"
#include "base/hash_index.h"
#include "tests/unit/failing_memory.h"

enum { NAMES = 1000 };

static char names[NAMES][16];

static uint32_t find(const struct hash_index *index, uint64_t hash, const char *name)
{
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(index, &probe)) != HASH_INDEX_NONE;)
		if (!strcmp(names[i], name))
			return i;
	return HASH_INDEX_NONE;
}

static void finds(unsigned hashes)
{
	struct hash_index index = {0};

	for (uint32_t i = 0; i < NAMES; i++) {
		snprintf(names[i], sizeof names[i], "name %u", i);
		uint64_t hash = fnv1a_text(names[i]) % hashes;
		assert_int_equal(find(&index, hash, names[i]), HASH_INDEX_NONE);
		assert_int_equal(hash_index_add(&index, hash, i), 0);
	}
	assert_int_equal(index.count, NAMES);
	for (uint32_t i = 0; i < NAMES; i++)
		assert_int_equal(find(&index, fnv1a_text(names[i]) % hashes, names[i]), i);
	hash_index_fini(&index);
	assert_int_equal(find(&index, fnv1a_text(names[0]) % hashes, names[0]), HASH_INDEX_NONE);
	assert_int_equal(index.capacity, 0);
}

static void many_hashes_and_few(void **state)
{
	finds(UINT32_MAX);
	finds(7);
	finds(1);
}

static void fixed_is_full(void **state)
{
	static struct hash_index_slot slots[16];
	struct hash_index index = {slots, 16, 0, 1};
	uint32_t n = 0;

	memory_fail_at(-1);
	while (!hash_index_add(&index, n * 16, n))
		n++;
	assert_int_equal(n, 12);
	assert_int_equal(hash_index_reserve(&index), -ENOSPC);
	assert_int_equal(memory_blocks, 0);
	memory_stop_failing();
	struct hash_probe probe = hash_probe(5 * 16);
	assert_int_equal(hash_index_next(&index, &probe), 5);
	hash_index_fini(&index);
}

static void failure_changes_nothing(void **state)
{
	struct hash_index index = {0};
	int failed = 0;

	if (!MEMORY_CAN_FAIL)
		skip();
	for (uint32_t i = 0; i < NAMES; i++) {
		memory_fail_at(0);
		int error = hash_index_add(&index, i, i);
		memory_stop_failing();
		if (error) {
			failed++;
			assert_int_equal(error, -ENOMEM);
			assert_int_equal(index.count, i);
			assert_int_equal(hash_index_add(&index, i, i), 0);
		}
	}
	assert_true(failed > 3);
	assert_int_equal(hash_index_add(&index, 1, HASH_INDEX_NONE), -ENOSPC);
	hash_index_fini(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_hashes_and_few),
		cmocka_unit_test(fixed_is_full),
		cmocka_unit_test(failure_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
