/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of rule files. One alternative is matched in O(pattern x text): only the last '*' is
 * ever tried again, and a '#' takes the whole run of digits or nothing. Called by rules.c.
 */
#include "attach/rules/rules.h"

#include <string.h>

enum { MAX_DIGITS = 5 }; /* a layer fits int16 */

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Length of the number that begins here, 0 if none begins or it is too long for a layer. */
static size_t number_at(const char *text, const char *start, int *number)
{
	size_t n = 0;
	int value = 0;

	if (text > start && is_digit(text[-1]))
		return 0;
	while (is_digit(text[n]) && n <= MAX_DIGITS)
		value = value * 10 + (text[n++] - '0');
	if (!n || n > MAX_DIGITS || value > INT16_MAX)
		return 0;
	*number = value;
	return n;
}

static int alternative_matches(const char *pattern, const char *end, const char *text, int *number)
{
	const char *start = text, *star = NULL, *retry = NULL;

	for (;;) {
		size_t taken = 0;

		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			retry = text;
			continue;
		}
		if (pattern == end && !*text)
			return 1;
		if (pattern < end && *pattern == '#')
			taken = number_at(text, start, number);
		else if (pattern < end && *text && (*pattern == '?' || *pattern == *text))
			taken = 1;
		if (taken) {
			pattern++;
			text += taken;
		} else if (star && *retry) {
			pattern = star;
			text = ++retry;
		} else {
			return 0;
		}
	}
}

int rules_pattern_matches(const char *pattern, const char *text, int *number)
{
	for (;;) {
		const char *end = strchrnul(pattern, '|');
		int value = *number;

		if (alternative_matches(pattern, end, text, &value)) {
			*number = value;
			return 1;
		}
		if (!*end)
			return 0;
		pattern = end + 1;
	}
}
