/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of messages: both ends count alike, a receive that takes no message gives its number
 * back, ends that are out of step have none, and a communicator's ends go with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "attach/mpi/mpi_messages.h"

enum { ENDS = 1 << 18 };

static void each_end_counts_by_itself(void **state)
{
	struct mpi_numbers numbers = {.has_none = {false, false}};

	(void)state;
	for (uint32_t i = 1; i < 4; i++) {
		assert_int_equal(mpi_message_number(&numbers, true, 1, 5), i);
		assert_int_equal(mpi_message_number(&numbers, false, 1, 5), i);
		assert_int_equal(mpi_message_number(&numbers, true, 2, 5), i);
		assert_int_equal(mpi_message_number(&numbers, true, 1, -5), i);
	}
	assert_int_equal(mpi_message_number(&numbers, true, -1, 5), 0);
	mpi_numbers_fini(&numbers);
}

static void freed_ends_leave_room(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		struct mpi_numbers numbers = {.has_none = {false, false}};
		for (int tag = 0; tag < ENDS; tag++)
			assert_int_equal(mpi_message_number(&numbers, tag & 1, 0, tag), 1);
		assert_int_equal(mpi_message_number(&numbers, true, 1, 0), 0);
		assert_int_equal(mpi_message_number(&numbers, true, 0, 1), 2);
		mpi_numbers_fini(&numbers);
	}
}

static void only_the_newest_number_is_given_again(void **state)
{
	struct mpi_numbers numbers = {.has_none = {false, false}};

	(void)state;
	assert_int_equal(mpi_message_number(&numbers, false, 1, 5), 1);
	mpi_message_give_back(&numbers, 1, 5, 1);
	assert_int_equal(mpi_message_number(&numbers, false, 1, 5), 1);
	assert_true(mpi_message_is_numbered(&numbers, 1, 5));
	assert_int_equal(mpi_message_number(&numbers, false, 1, 5), 2);
	mpi_message_give_back(&numbers, 1, 5, 1);
	assert_int_equal(mpi_message_number(&numbers, false, 1, 5), 0);
	assert_false(mpi_message_is_numbered(&numbers, 1, 5));
	assert_true(mpi_message_is_numbered(&numbers, 1, 6));
	assert_int_equal(mpi_message_number(&numbers, true, 1, 5), 1);
	mpi_messages_lose(&numbers, false);
	assert_int_equal(mpi_message_number(&numbers, false, 1, 6), 0);
	assert_false(mpi_message_is_numbered(&numbers, 1, 6));
	assert_int_equal(mpi_message_number(&numbers, true, 1, 5), 2);
	mpi_numbers_fini(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_end_counts_by_itself),
		cmocka_unit_test(freed_ends_leave_room),
		cmocka_unit_test(only_the_newest_number_is_given_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
