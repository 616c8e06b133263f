/* SPDX-License-Identifier: Apache-2.0 */
/* Escaping for XML 1.0. Called by what draws pictures. */
#include "base/xml.h"

#include <string.h>
#include "base/utf8.h"

static void write_character(FILE *out, const char *s, size_t n, uint32_t code)
{
	switch (code) {
	case '&':
		fputs("&amp;", out);
		break;
	case '<':
		fputs("&lt;", out);
		break;
	case '>':
		fputs("&gt;", out);
		break;
	case '"':
		fputs("&quot;", out);
		break;
	case '\'':
		fputs("&#39;", out);
		break;
	default:
		fwrite(s, 1, n, out);
	}
}

void xml_text(FILE *out, const char *text)
{
	size_t left = text ? strlen(text) : 0;

	while (left) {
		uint32_t code = 0;
		size_t n = utf8_decode(text, left, &code);
		if (!n || utf8_is_unsafe(code) || (code & 0xfffe) == 0xfffe)
			fputs("\xef\xbf\xbd", out);
		else
			write_character(out, text, n, code);
		text += n ? n : 1;
		left -= n ? n : 1;
	}
}
