/* SPDX-License-Identifier: Apache-2.0 */
/* One character at a time, by the rules of each format. */
#include "base/escape.h"

#include <stdbool.h>
#include <string.h>
#include "base/utf8.h"

static void escape_set(struct escaped *out, const char *text, size_t bytes)
{
	memcpy(out->text, text, bytes);
	out->text[bytes] = '\0';
	out->bytes = (uint8_t)bytes;
}

static void set_hex(struct escaped *out, const char *begin, uint32_t code, int digits)
{
	size_t n = strlen(begin);

	memcpy(out->text, begin, n);
	while (digits--)
		out->text[n++] = "0123456789abcdef"[code >> 4 * digits & 15];
	out->text[n] = '\0';
	out->bytes = (uint8_t)n;
}

/* Beyond 16 bits in two halves (RFC 8259, 7). */
static void escape_set_json(struct escaped *out, uint32_t code)
{
	char pair[15];

	if (code < 0x10000) {
		set_hex(out, "\\u", code, 4);
		return;
	}
	set_hex(out, "\\u", 0xd7c0 + (code >> 10), 4);
	memcpy(pair, out->text, 6);
	memcpy(pair + 6, "\\u", 3);
	set_hex(out, pair, 0xdc00 + (code & 0x3ff), 4);
}

size_t escape_json_character(struct escaped *out, const char *text, size_t left)
{
	uint32_t code = 0;
	size_t n = utf8_decode(text, left, &code);

	if (!n)
		escape_set_json(out, 0xfffd);
	else if (code == '"' || code == '\\')
		escape_set(out, code == '"' ? "\\\"" : "\\\\", 2);
	else if (utf8_is_unsafe(code) || code > 0x7e)
		escape_set_json(out, code);
	else
		escape_set(out, text, n);
	return n ? n : 1;
}

static void set_number(struct escaped *out, const char *text, size_t n, uint32_t code)
{
	if (n < 2)
		set_hex(out, "\\x", (unsigned char)*text, 2);
	else if (code < 0x10000)
		set_hex(out, "\\u", code, 4);
	else
		set_hex(out, "\\U", code, 8);
}

size_t escape_spell(struct escaped *out, const char *text, size_t left)
{
	uint32_t code = 0;
	size_t n = utf8_decode(text, left, &code);

	if (*text == '\n' || *text == '\r' || *text == '\t')
		escape_set(out, *text == '\n' ? "\\n" : *text == '\r' ? "\\r" : "\\t", 2);
	else
		set_number(out, text, n, code);
	return n ? n : 1;
}

/* A quote is two. */
static size_t csv_character(struct escaped *out, const char *text, size_t left)
{
	uint32_t code = 0;
	size_t n = utf8_decode(text, left, &code);

	if (!n || utf8_is_unsafe(code))
		set_number(out, text, n, code);
	else
		escape_set(out, code == '"' ? "\"\"" : text, code == '"' ? 2 : n);
	return n ? n : 1;
}

void escape_csv(FILE *out, const char *text)
{
	bool is_formula = text && *text && strchr("=+-@", *text);
	bool is_quoted = is_formula || (text && strpbrk(text, "\","));
	struct escaped piece;

	if (is_quoted)
		fputs(is_formula ? "\"'" : "\"", out);
	for (size_t left = text ? strlen(text) : 0, n; left; text += n, left -= n) {
		n = csv_character(&piece, text, left);
		fwrite(piece.text, 1, piece.bytes, out);
	}
	if (is_quoted)
		fputc('"', out);
}

static const char *xml_entity(uint32_t code)
{
	switch (code) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	}
	return NULL;
}

void escape_xml(FILE *out, const char *text)
{
	for (size_t left = text ? strlen(text) : 0, step; left; text += step, left -= step) {
		uint32_t code = 0;
		size_t n = utf8_decode(text, left, &code);
		const char *entity = n ? xml_entity(code) : NULL;

		step = n ? n : 1;
		if (!n || utf8_is_unsafe(code) || (code & 0xfffe) == 0xfffe)
			fputs("\xef\xbf\xbd", out);
		else if (entity)
			fputs(entity, out);
		else
			fwrite(text, 1, n, out);
	}
}
