/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of numbers, held against an array that says the same: set, replace, take; full and failing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hashmap.h"
#include "tests/unit/failing_memory.h"

enum { KEYS = 512 };

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

/* Few keys, so that slots are taken and left many times; also keys that share all low bits. */
static uint64_t key_of(unsigned k, int shift)
{
	return (uint64_t)k << shift;
}

static void agrees_with_an_array(int shift)
{
	struct hashmap map = {0};
	uint64_t values[KEYS], seed = 1 + (uint64_t)shift;
	size_t count = 0;

	memset(values, 0xff, sizeof values);
	for (int i = 0; i < 100000; i++) {
		unsigned k = (unsigned)next_random(&seed) % KEYS;
		if (next_random(&seed) % 2) {
			count += values[k] == HASHMAP_NONE;
			values[k] = (uint64_t)i;
			assert_int_equal(hashmap_set(&map, key_of(k, shift), values[k]), 0);
		} else {
			count -= values[k] != HASHMAP_NONE;
			assert_true(hashmap_take(&map, key_of(k, shift)) == values[k]);
			values[k] = HASHMAP_NONE;
		}
		k = (unsigned)next_random(&seed) % KEYS;
		assert_true(hashmap_get(&map, key_of(k, shift)) == values[k]);
		assert_int_equal(map.count, count);
	}
	for (unsigned k = 0; k < KEYS; k++)
		assert_true(hashmap_get(&map, key_of(k, shift)) == values[k]);
	hashmap_fini(&map);
}

static void set_replace_take(void **state)
{
	agrees_with_an_array(0);
	agrees_with_an_array(12);
	agrees_with_an_array(48);
}

static void visits_all(void **state)
{
	struct hashmap map = {0};
	uint64_t sum = 0, n = 0;

	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(hashmap_set(&map, i * 4096, i), 0);
	for (struct hashmap_slot *s = NULL; (s = hashmap_next(&map, s)); n++)
		sum += s->value;
	assert_int_equal(n, 1000);
	assert_int_equal(sum, 499500);
	hashmap_clear(&map);
	assert_null(hashmap_next(&map, NULL));
	assert_true(hashmap_get(&map, 0) == HASHMAP_NONE);
	hashmap_fini(&map);
	assert_true(hashmap_get(&map, 0) == HASHMAP_NONE);
	assert_true(hashmap_take(&map, 0) == HASHMAP_NONE);
	assert_int_equal(hashmap_set(&map, 1, HASHMAP_NONE), -EINVAL);
}

static void pointers(void **state)
{
	struct hashmap map = {0};
	int here;

	assert_null(hashmap_pointer(hashmap_get(&map, 5)));
	assert_int_equal(hashmap_set_pointer(&map, 5, &here), 0);
	assert_ptr_equal(hashmap_pointer(hashmap_get(&map, 5)), &here);
	hashmap_fini(&map);
}

static void failure_changes_nothing(void **state)
{
	struct hashmap map = {0};
	int failed = 0;

	if (!MEMORY_CAN_FAIL)
		skip();
	for (uint64_t i = 0; i < 1000; i++) {
		memory_fail_at(0);
		int error = hashmap_set(&map, i, i);
		memory_stop_failing();
		if (error) {
			failed++;
			assert_int_equal(error, -ENOMEM);
			assert_int_equal(map.count, i);
			assert_int_equal(hashmap_set(&map, i, i), 0);
		}
	}
	assert_true(failed > 3);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(hashmap_get(&map, i), i);
	hashmap_fini(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_replace_take),
		cmocka_unit_test(visits_all),
		cmocka_unit_test(pointers),
		cmocka_unit_test(failure_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
