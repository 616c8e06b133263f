/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies, widths and paragraphs of text. Called by everything that prints names from recordings,
 * files or the environment.
 */
#include "ui/text/text_out.h"

#include <string.h>
#include <wchar.h>

#include "ui/text/memory.h"
#include "base/utf8.h"

char *text_safe(const char *s)
{
	size_t size = TEXT_SPELLED * (s ? strlen(s) : 0) + 1;
	char *out = xcalloc(size, 1);
	text_escape(out, size, s);
	return out;
}

char *text_valid(const char *s)
{
	size_t left = s ? strlen(s) : 0, used = 0;
	char *out = xcalloc(3 * left + 1, 1);
	while (left) {
		uint32_t code;
		size_t length = utf8_decode(s, left, &code), step = length ? length : 1;
		memcpy(out + used, length ? s : "\xef\xbf\xbd", length ? length : 3);
		used += length ? length : 3;
		s += step;
		left -= step;
	}
	return out;
}

static size_t width_of(uint32_t code)
{
	int width = wcwidth((wchar_t)code);
	return width > 0 ? (size_t)width : width == 0 ? 0 : 1;
}

size_t text_width(const char *s)
{
	size_t width = 0, left = strlen(s);
	while (left) {
		uint32_t code;
		size_t length = utf8_decode(s, left, &code);
		width += length ? width_of(code) : 1;
		s += length ? length : 1;
		left -= length ? length : 1;
	}
	return width;
}

char *text_cut(const char *s, size_t width)
{
	if (text_width(s) <= width)
		return xstrdup(s);
	const char *dots = text_is_utf8() ? "\xe2\x80\xa6" : "...";
	size_t kept = text_is_utf8() ? 1 : 3, bytes = 0, left = strlen(s), used = 0;
	kept = width > kept ? width - kept : 0;
	while (left - bytes) {
		uint32_t code = 0;
		size_t length = utf8_decode(s + bytes, left - bytes, &code);
		size_t columns = length ? width_of(code) : 1;
		if (used + columns > kept)
			break;
		used += columns;
		bytes += length ? length : 1;
	}
	return xasprintf("%.*s%s", (int)bytes, s, dots);
}

static void pad(FILE *out, size_t columns)
{
	fprintf(out, "%*s", (int)columns, "");
}

/* Bytes of as much of a word as fits into so many columns, at least one character. */
static size_t fitting(const char *word, size_t n, size_t columns)
{
	size_t bytes = 0, used = 0;
	while (bytes < n) {
		uint32_t code = 0;
		size_t length = utf8_decode(word + bytes, n - bytes, &code);
		size_t wide = length ? width_of(code) : 1;
		if (bytes && used + wide > columns)
			break;
		used += wide;
		bytes += length ? length : 1;
	}
	return bytes;
}

static size_t width_of_part(const char *s, size_t n)
{
	SCOPED char *part = xasprintf("%.*s", (int)n, s);
	return text_width(part);
}

/* A word that is wider than a line (a path) is broken wherever the line ends. */
void text_flow(FILE *out, size_t width, size_t indent, size_t at, const char *text)
{
	if (at >= indent && at)
		indent = at + 1;
	pad(out, indent - at);
	at = indent;
	size_t line = width > indent ? width - indent : 1;
	while (*text) {
		size_t n = strcspn(text, " "), columns = width_of_part(text, n);
		bool first = at == indent;
		if (width && !first && at + 1 + columns > width) {
			fputc('\n', out);
			pad(out, indent);
			at = indent;
			continue;
		}
		if (width && columns > line) {
			n = fitting(text, n, line);
			columns = width_of_part(text, n);
		}
		fprintf(out, "%s%.*s", first ? "" : " ", (int)n, text);
		at += columns + !first;
		text += n;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void text_wrap(FILE *out, size_t width, size_t indent, const char *label, const char *text)
{
	fputs(label, out);
	text_flow(out, width, indent, text_width(label), text);
}
