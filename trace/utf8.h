/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, one character at a time (RFC 3629). Header only; any thread. */
#ifndef BRICK_TRACE_UTF8_H
#define BRICK_TRACE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the valid character that s begins with, which has `left` bytes; 0 when there is none. */
static inline size_t utf8_character(const char *text, size_t left)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *s = (const unsigned char *)text;
	size_t n = s[0] < 0x80	     ? 1
		   : s[0] >> 5 == 6  ? 2
		   : s[0] >> 4 == 14 ? 3
		   : s[0] >> 3 == 30 ? 4
				     : 0;
	uint32_t code = n > 1 ? s[0] & (0x7fu >> n) : s[0];

	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		code = code << 6 | (s[i] & 0x3fu);
	}
	return code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : n;
}

#endif
