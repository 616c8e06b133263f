/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, one character at a time (RFC 3629). Header only; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Decode the first character of a text of `left` bytes. Returns the character's length in bytes; 0:
 * no valid UTF-8 (as overlong forms, surrogates and numbers above U+10FFFF), and *code stays.
 */
static inline size_t utf8_decode(const char *text, size_t left, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *s = (const unsigned char *)text;
	size_t n = !left	     ? 0
		   : s[0] < 0x80     ? 1
		   : s[0] >> 5 == 6  ? 2
		   : s[0] >> 4 == 14 ? 3
		   : s[0] >> 3 == 30 ? 4
				     : 0;
	uint32_t value;

	if (!n || n > left)
		return 0;
	value = n > 1 ? s[0] & (0x7fu >> n) : s[0];
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		value = value << 6 | (s[i] & 0x3fu);
	}
	if (value < least[n] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0;
	*code = value;
	return n;
}

/* The same where the character itself does not matter. */
static inline size_t utf8_character(const char *text, size_t left)
{
	uint32_t code;

	return utf8_decode(text, left, &code);
}

/*
 * The length of the longest beginning of `text` that has at most `most` bytes and ends with a whole
 * character. The characters need not be valid.
 */
static inline size_t utf8_cut(const char *text, size_t most)
{
	size_t n = strnlen(text, most + 1);

	if (n <= most)
		return n;
	for (n = most; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
		n--;
	return n;
}

/*
 * Copy text into a field of `bytes`, cut at a whole character; the rest is 0. NULL: an empty text.
 */
static inline void utf8_field(char *to, size_t bytes, const char *from)
{
	size_t n = from ? utf8_cut(from, bytes - 1) : 0;

	memset(to, 0, bytes);
	if (n)
		memcpy(to, from, n);
}

/* Characters that act on a terminal or on the order of the text, or cannot be seen. */
static inline bool utf8_is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad ||
	       (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       (code >= 0xfff0 && code <= 0xfffb) || code >= 0xe0000;
}
