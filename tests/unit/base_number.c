/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in text: what is one, what is not, and what is out of bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <locale.h>
#include <math.h>
#include "base/number.h"

static void whole_numbers(void **state)
{
	static const char *const wrong[] = {
		"", " 1", "1 ", "+1", "-1", "0x10", "1.0", "1e3", "a", "1a"};
	uint64_t value = 42;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(number_u64(wrong[i], 0, UINT64_MAX, &value), -EINVAL);
	assert_int_equal(number_u64(NULL, 0, 9, &value), -EINVAL);
	assert_int_equal(number_u64("18446744073709551616", 0, UINT64_MAX, &value), -ERANGE);
	assert_int_equal(number_u64("99999999999999999999999x", 0, UINT64_MAX, &value), -EINVAL);
	assert_int_equal(number_u64("4", 5, 7, &value), -ERANGE);
	assert_int_equal(number_u64("8", 5, 7, &value), -ERANGE);
	assert_int_equal(value, 42);
	assert_int_equal(number_u64("18446744073709551615", 0, UINT64_MAX, &value), 0);
	assert_true(value == UINT64_MAX);
	assert_int_equal(number_u64("007", 5, 7, &value), 0);
	assert_int_equal(value, 7);
}

static void signed_numbers(void **state)
{
	int64_t value = 42;

	assert_int_equal(number_i64("--1", -5, 5, &value), -EINVAL);
	assert_int_equal(number_i64("-", -5, 5, &value), -EINVAL);
	assert_int_equal(number_i64("-6", -5, 5, &value), -ERANGE);
	assert_int_equal(number_i64("-9223372036854775809", INT64_MIN, 0, &value), -ERANGE);
	assert_int_equal(number_i64("9223372036854775808", INT64_MIN, INT64_MAX, &value), -ERANGE);
	assert_int_equal(value, 42);
	assert_int_equal(number_i64("-9223372036854775808", INT64_MIN, 0, &value), 0);
	assert_true(value == INT64_MIN);
	assert_int_equal(number_i64("-1", -5, 5, &value), 0);
	assert_int_equal(value, -1);
}

static void fractions(void **state)
{
	static const char *const wrong[] = {"", ".", "-", "e1", "1e", "1e+", " 1", "1 ", "+1",
		"0x1p3", "inf", "nan", "1,5", "1.2.3", "-.e1"};
	double value = 42;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(number_double(wrong[i], -HUGE_VAL, HUGE_VAL, &value), -EINVAL);
	assert_int_equal(number_double("1e999", -HUGE_VAL, HUGE_VAL, &value), -ERANGE);
	assert_int_equal(number_double("0.5", 1, 2, &value), -ERANGE);
	assert_true(value == 42);
	assert_int_equal(number_double("1.5e-3", 0, 1, &value), 0);
	assert_true(value == 1.5e-3);
	assert_int_equal(number_double(".25", 0, 1, &value), 0);
	assert_true(value == 0.25);
	assert_int_equal(number_double("-7.", -9, 1, &value), 0);
	assert_true(value == -7);
	assert_int_equal(number_double("1e-999", 0, 1, &value), 0);
}

/* Where a comma stands before the fraction, a point does in our files all the same. */
static void counts_of_doubles(void **state)
{
	(void)state;
	assert_int_equal(number_of_double(17.9), 17);
	assert_int_equal(number_of_double(-1), 0);
	assert_int_equal(number_of_double(NAN), 0);
	assert_int_equal(number_of_double(-INFINITY), 0);
	assert_true(number_of_double(1.9e19) == UINT64_MAX);
	assert_true(number_of_double(INFINITY) == UINT64_MAX);
	assert_true(number_of_double(18446744073709549568.0) == UINT64_C(18446744073709549568));
}

static void any_locale(void **state)
{
	static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C"};
	double value;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (setlocale(LC_NUMERIC, names[i]))
			assert_int_equal(number_double("1.5", 0, 2, &value) || value != 1.5, 0);
}

static void leading_digits(void **state)
{
	const char *end = NULL;
	uint64_t value;

	assert_int_equal(number_leading_u64("12-15", &value, &end), 0);
	assert_int_equal(value, 12);
	assert_string_equal(end, "-15");
	assert_int_equal(number_leading_u64("-15", &value, &end), -EINVAL);
	assert_int_equal(number_leading_u64("18446744073709551616K", &value, &end), -ERANGE);
	assert_string_equal(end, "-15");
}

static void times_with_units(void **state)
{
	static const char *const wrong[] = {"", "ms", "1h", "1 ms", "-1ms", "1e3ms", "1.2.3s",
		"1msx", "5", "0.00000000000000000000000000000001s"};
	uint64_t ns = 42;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		assert_int_equal(number_time_ns(wrong[i], NULL, 0, UINT64_MAX, &ns), -EINVAL);
	assert_int_equal(number_time_ns(NULL, "s", 0, 9, &ns), -EINVAL);
	assert_int_equal(number_time_ns("999ns", NULL, 1000, 2000, &ns), -ERANGE);
	assert_int_equal(number_time_ns("2.01us", NULL, 1000, 2000, &ns), -ERANGE);
	assert_int_equal(ns, 42);
	assert_int_equal(number_time_ns("2us", NULL, 1000, 2000, &ns), 0);
	assert_int_equal(ns, 2000);
	assert_int_equal(number_time_ns("1000ns", NULL, 1000, 2000, &ns), 0);
	assert_int_equal(ns, 1000);
	assert_int_equal(number_time_ns(".25ms", "s", 0, UINT64_MAX, &ns), 0);
	assert_int_equal(ns, 250000);
	assert_int_equal(number_time_ns("1.5", "s", 0, UINT64_MAX, &ns), 0);
	assert_int_equal(ns, 1500000000);
	assert_int_equal(number_time_ns("0.0000000016", "s", 0, UINT64_MAX, &ns), 0);
	assert_int_equal(ns, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers),
		cmocka_unit_test(signed_numbers),
		cmocka_unit_test(fractions),
		cmocka_unit_test(counts_of_doubles),
		cmocka_unit_test(any_locale),
		cmocka_unit_test(leading_digits),
		cmocka_unit_test(times_with_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
