/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what a terminal may be shown as it is. Called by text.c, and for messages by die.c. */
#include "ui/text/text_escape.h"

#include <langinfo.h>
#include <string.h>
#include <wchar.h>

#include "base/escape.h"
#include "base/utf8.h"

bool text_is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static bool can_show(uint32_t code)
{
	if (utf8_is_unsafe(code))
		return false;
	return code < 0x7f || (text_is_utf8() && wcwidth((wchar_t)code) >= 0);
}

void text_escape(char *out, size_t size, const char *s)
{
	size_t used = 0, left = s ? strlen(s) : 0;
	if (!size)
		return;
	while (left) {
		struct escaped spelled;
		uint32_t code;
		const char *piece = s;
		size_t length = utf8_decode(s, left, &code), bytes = length;
		if (!length || !can_show(code)) {
			length = escape_spell(&spelled, s, left);
			piece = spelled.text;
			bytes = spelled.bytes;
		}
		if (used + bytes >= size)
			break;
		memcpy(out + used, piece, bytes);
		used += bytes;
		s += length;
		left -= length;
	}
	out[used] = '\0';
}
