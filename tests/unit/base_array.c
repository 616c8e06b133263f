/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays: contents, what fails leaves them whole, sizes that do not exist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "tests/unit/failing_memory.h"

struct pair {
	uint32_t key;
	double value;
};

static void grows(void **state)
{
	ARRAY(struct pair) pairs = {0};

	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(array_push(&pairs, (struct pair){i, i * 0.5}), 0);
	assert_int_equal(pairs.count, 10000);
	assert_true(pairs.capacity >= pairs.count);
	for (uint32_t i = 0; i < 10000; i++) {
		assert_int_equal(pairs.items[i].key, i);
		assert_true(pairs.items[i].value == i * 0.5);
	}
	array_fini(&pairs);
	assert_null(pairs.items);
	assert_int_equal(pairs.count | pairs.capacity, 0);
}

static void adds_and_appends(void **state)
{
	ARRAY(char) text = {0};
	ARRAY(struct pair) pairs = {0};

	assert_int_equal(array_append(&text, "ab", 2), 0);
	assert_int_equal(array_append(&text, NULL, 0), 0);
	assert_int_equal(array_append(&text, "cde", 4), 0);
	assert_int_equal(text.count, 6);
	assert_string_equal(text.items, "abcde");
	struct pair *pair = array_add(&pairs);
	assert_ptr_equal(pair, pairs.items);
	assert_int_equal(pairs.count, 1);
	array_fini(&text);
	array_fini(&pairs);
}

static void reserved_is_there(void **state)
{
	ARRAY(struct pair) pairs = {0};

	assert_int_equal(array_reserve(&pairs, 1000), 0);
	const struct pair *before = pairs.items;
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(array_push(&pairs, (struct pair){i, 0}), 0);
	assert_ptr_equal(before, pairs.items);
	array_fini(&pairs);
}

static void impossible_sizes(void **state)
{
	ARRAY(struct pair) pairs = {0};
	size_t capacity = 0;

	assert_int_equal(array_push(&pairs, (struct pair){7, 0}), 0);
	assert_int_equal(array_reserve(&pairs, SIZE_MAX), -ENOMEM);
	assert_int_equal(array_reserve(&pairs, SIZE_MAX / sizeof(struct pair)), -ENOMEM);
	assert_int_equal(array_reserve(&pairs, SIZE_MAX / sizeof(struct pair) + 2), -ENOMEM);
	assert_int_equal(pairs.count, 1);
	assert_int_equal(pairs.items[0].key, 7);
	assert_null(array_grow(NULL, &capacity, SIZE_MAX / 2, 4));
	assert_int_equal(capacity, 0);
	array_fini(&pairs);
}

static void named_parts(void **state)
{
	uint64_t *rows = NULL;
	size_t capacity = 0, count = 0;

	for (; count < 1000; count++) {
		uint64_t *moved = array_grow(rows, &capacity, count + 1, sizeof *rows);
		assert_non_null(moved);
		rows = moved;
		rows[count] = count;
	}
	for (size_t i = 0; i < count; i++)
		assert_int_equal(rows[i], i);
	free(rows);
}

static void failure_changes_nothing(void **state)
{
	ARRAY(uint64_t) numbers = {0};
	int failed = 0;

	if (!MEMORY_CAN_FAIL)
		skip();
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t *items = numbers.items;
		size_t capacity = numbers.capacity;
		memory_fail_at(0);
		int error = array_push(&numbers, i);
		memory_stop_failing();
		if (error) {
			failed++;
			assert_int_equal(error, -ENOMEM);
			assert_ptr_equal(numbers.items, items);
			assert_int_equal(numbers.capacity, capacity);
			assert_int_equal(numbers.count, i);
			assert_int_equal(array_push(&numbers, i), 0);
		}
		assert_int_equal(numbers.items[i], i);
	}
	assert_true(failed > 3);
	array_fini(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),
		cmocka_unit_test(adds_and_appends),
		cmocka_unit_test(reserved_is_there),
		cmocka_unit_test(impossible_sizes),
		cmocka_unit_test(named_parts),
		cmocka_unit_test(failure_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
