/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in text from outside, read strictly: decimal digits, no blanks before or after, no plus
 * sign, no hexadecimal, nothing left out. And arithmetic that stays within bounds. Any thread.
 */
#pragma once

#include <stdint.h>

/*
 * The whole text is a number from `low` to `high`. 0; -EINVAL: it is no number (NULL is none),
 * -ERANGE: it is not within the bounds. *value is written on success only.
 */
int number_u64(const char *text, uint64_t low, uint64_t high, uint64_t *value);

/*
 * Convert a double to a count without undefined behaviour: NaN and negative numbers become 0, and
 * too large ones UINT64_MAX, which answers show as unknown.
 */
static inline uint64_t number_of_double(double value)
{
	if (!(value > 0))
		return 0;
	return value < 18446744073709551616.0 ? (uint64_t)value : UINT64_MAX;
}

static inline uint64_t number_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t number_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* a - b, or 0 if b is larger. */
static inline uint64_t number_minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* As number_u64(); a negative number has a minus sign. */
int number_i64(const char *text, int64_t low, int64_t high, int64_t *value);

/*
 * As number_u64(), with an optional fraction and exponent. The decimal point is '.' in every
 * locale. Never infinite, never NaN.
 */
int number_double(const char *text, double low, double high, double *value);

/*
 * A time: digits, an optional fraction, and a unit (ns, us, ms, s). The unit of a text without one
 * is `unit`; NULL: the text needs one. Rounded to whole ns. As number_double().
 */
int number_time_ns(
	const char *text, const char *unit, uint64_t low_ns, uint64_t high_ns, uint64_t *ns);

/*
 * Read the digits that a text begins with; *end points behind them. 0; -EINVAL: there are no
 * digits; -ERANGE: the number has more than 64 bits. Nothing is written on failure.
 */
int number_leading_u64(const char *text, uint64_t *value, const char **end);
