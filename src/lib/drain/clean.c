/* SPDX-License-Identifier: Apache-2.0 */
/* Byte by byte where it must be: a bad byte does not take what follows it along (clean.h). */
#include "lib/drain/clean.h"

#include <stdint.h>
#include <string.h>
#include "base/utf8.h"

/* Length of the printable character at `text`; 0: it is none. */
static size_t printable(const char *text, size_t left)
{
	uint32_t code;
	size_t n = utf8_decode(text, left, &code);

	return n && code >= 0x20 && code != 0x7f ? n : 0;
}

void drain_clean_text(char *text, size_t bytes)
{
	text[bytes - 1] = '\0';
	for (size_t left = strlen(text); left;) {
		size_t n = printable(text, left);
		if (!n)
			*text = '?';
		n += !n;
		text += n;
		left -= n;
	}
}

void drain_clean_lines(char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		char last = text[length];
		drain_clean_text(text, length + 1);
		text[length] = last;
		text += length + (last != '\0');
	}
}
