/* SPDX-License-Identifier: Apache-2.0 */
/* Reads numbers digit by digit. */
#include "base/number.h"

#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool number_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int number_leading_u64(const char *text, uint64_t *value, const char **end)
{
	uint64_t number = 0;

	if (!text || !number_is_digit(*text))
		return -EINVAL;
	for (; number_is_digit(*text); text++)
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
			return -ERANGE;
	*value = number;
	*end = text;
	return 0;
}

/* Parses a number that fills the whole text. */
static int number_whole(const char *text, uint64_t *value)
{
	const char *end;
	int error = number_leading_u64(text, value, &end);

	if (error == -ERANGE)
		return text[strspn(text, "0123456789")] ? -EINVAL : -ERANGE;
	return error ? error : *end ? -EINVAL : 0;
}

int number_u64(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	uint64_t number;
	int error = number_whole(text, &number);

	if (error)
		return error;
	if (number < low || number > high)
		return -ERANGE;
	*value = number;
	return 0;
}

int number_i64(const char *text, int64_t low, int64_t high, int64_t *value)
{
	bool is_negative = text && *text == '-';
	uint64_t number;
	int error = number_whole(is_negative ? text + 1 : text, &number);

	if (error)
		return error;
	if (number > (uint64_t)INT64_MAX + (uint64_t)is_negative)
		return -ERANGE;
	int64_t result = (int64_t)(is_negative ? -number : number);
	if (result < low || result > high)
		return -ERANGE;
	*value = result;
	return 0;
}

/* Checks that strtod() will get digits, an optional fraction, and an optional exponent only. */
static bool is_decimal(const char *text)
{
	size_t digits;

	text += *text == '-';
	digits = strspn(text, "0123456789");
	text += digits;
	if (*text == '.') {
		size_t more = strspn(++text, "0123456789");
		text += more;
		digits += more;
	}
	if (digits && (*text == 'e' || *text == 'E')) {
		text++;
		text += *text == '-' || *text == '+';
		digits = strspn(text, "0123456789");
		text += digits;
	}
	return digits && !*text;
}

int number_double(const char *text, double low, double high, double *value)
{
	const char *point = text ? strchr(text, '.') : NULL;
	char copy[128];
	char *end;

	if (!text || !is_decimal(text))
		return -EINVAL;
	if (strlen(text) > sizeof(copy) - 8)
		return -ERANGE;
	snprintf(copy, sizeof(copy), "%.*s%.4s%s", point ? (int)(point - text) : (int)strlen(text),
		text, point ? localeconv()->decimal_point : "", point ? point + 1 : "");
	int saved = errno;
	errno = 0;
	double number = strtod(copy, &end);
	bool is_too_large = errno == ERANGE && (number > 1 || number < -1);
	errno = saved;
	if (*end)
		return -EINVAL;
	if (is_too_large || !(number >= low && number <= high))
		return -ERANGE;
	*value = number;
	return 0;
}

int number_time_ns(
	const char *text, const char *unit, uint64_t low_ns, uint64_t high_ns, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	size_t length = text ? strspn(text, "0123456789.") : 0;
	char number[32] = "";
	double value;

	if (!length || length >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, length);
	if (text[length])
		unit = text + length;
	for (size_t i = 0; unit && i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].name))
			continue;
		int error = number_double(number, (double)low_ns / units[i].ns,
			(double)high_ns / units[i].ns, &value);
		if (!error)
			*ns = number_of_double(value * units[i].ns + 0.5);
		return error;
	}
	return -EINVAL;
}
