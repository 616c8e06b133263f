/* SPDX-License-Identifier: Apache-2.0 */
/* Text for the exporters: strings come from recordings, and those from anywhere. */
#include "trace/trace_text.h"

#include <string.h>
#include "lib/writer/format.h"
#include "base/utf8.h"

static void write_escape(FILE *out, uint32_t code)
{
	if (code >= 0x10000) {
		fprintf(out, "\\u%04x", 0xd7c0 + (code >> 10));
		code = 0xdc00 + (code & 0x3ff);
	}
	fprintf(out, "\\u%04x", code);
}

static size_t json_character(FILE *out, const char *s, size_t left)
{
	uint32_t code;
	size_t n = utf8_decode(s, left, &code);

	if (!n) {
		fputs("\\ufffd", out);
		return 1;
	}
	if (code == '"' || code == '\\')
		fputc('\\', out);
	if (utf8_is_unsafe(code))
		write_escape(out, code);
	else
		fwrite(s, 1, n, out);
	return n;
}

void text_json(FILE *out, const char *text)
{
	size_t left = text ? strlen(text) : 0;

	fputc('"', out);
	while (left) {
		size_t n = json_character(out, text, left);
		text += n;
		left -= n;
	}
	fputc('"', out);
}

void text_unsigned(FILE *out, uint64_t value)
{
	char digits[20];
	size_t n = sizeof(digits);

	do
		digits[--n] = (char)('0' + value % 10);
	while (value /= 10);
	fwrite(digits + n, 1, sizeof(digits) - n, out);
}

const char *text_source(uint32_t source)
{
	static const char *const names[FORMAT_SOURCE_COUNT] = FORMAT_SOURCES;

	return names[source < FORMAT_SOURCE_COUNT ? source : 0];
}

const char *text_kernel_kind(uint32_t kind)
{
	static const char *const names[FORMAT_KERNEL_KIND_COUNT] = FORMAT_KERNEL_KINDS;

	return names[kind < FORMAT_KERNEL_KIND_COUNT ? kind : BRICK_KERNEL_OTHER];
}
