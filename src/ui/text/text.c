/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes, escapes, measures and wraps text, and gives numbers their units. Nothing here ends the
 * program: a text that there is no memory for is NULL, and text_error() says so.
 */
#include "ui/text/text.h"

#include <errno.h>
#include <float.h>
#include <langinfo.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "analysis/statistics/unknown.h"
#include "base/escape.h"
#include "base/utf8.h"

static _Thread_local int text_first_error;

int text_fail(int rc)
{
	if (rc < 0 && !text_first_error)
		text_first_error = rc;
	return rc;
}

int text_error(void)
{
	int rc = text_first_error;

	text_first_error = 0;
	return rc;
}

static void *text_made(void *memory)
{
	text_fail(memory ? 0 : -ENOMEM);
	return memory;
}

void *text_room(size_t n, size_t size)
{
	return text_made(calloc(n ? n : 1, size));
}

char *text_copy(const char *s)
{
	return s ? text_made(strdup(s)) : NULL;
}

static char *format_arguments(const char *format, va_list arguments)
{
	char *text = NULL;

	return text_made(vasprintf(&text, format, arguments) < 0 ? NULL : text);
}

char *text_format(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	char *text = format_arguments(format, arguments);
	va_end(arguments);
	return text;
}

void text_append(char **text, const char *between, const char *format, ...)
{
	va_list arguments;
	const char *before = *text ? *text : "";

	va_start(arguments, format);
	SCOPED char *part = format_arguments(format, arguments);
	va_end(arguments);
	char *longer = part ? text_format("%s%s%s", before, *before ? between : "", part) : NULL;
	if (!longer)
		return;
	free(*text);
	*text = longer;
}

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
	if (!out || !size)
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

char *text_safe(const char *s)
{
	size_t size = TEXT_SPELLED * (s ? strlen(s) : 0) + 1;
	char *out = text_room(size, 1);
	text_escape(out, size, s);
	return out;
}

char *text_valid(const char *s)
{
	size_t left = s ? strlen(s) : 0, used = 0;
	char *out = text_room(3 * left + 1, 1);
	while (out && left) {
		uint32_t code;
		size_t length = utf8_decode(s, left, &code), step = length ? length : 1;
		memcpy(out + used, length ? s : "\xef\xbf\xbd", length ? length : 3);
		used += length ? length : 3;
		s += step;
		left -= step;
	}
	return out;
}

static size_t text_width_of(uint32_t code)
{
	int width = wcwidth((wchar_t)code);
	return width > 0 ? (size_t)width : width == 0 ? 0 : 1;
}

static size_t width_of_part(const char *s, size_t left)
{
	size_t width = 0;
	while (left) {
		uint32_t code;
		size_t length = utf8_decode(s, left, &code);
		width += length ? text_width_of(code) : 1;
		s += length ? length : 1;
		left -= length ? length : 1;
	}
	return width;
}

size_t text_width(const char *s)
{
	return s ? width_of_part(s, strlen(s)) : 0;
}

char *text_cut(const char *s, size_t width)
{
	if (text_width(s) <= width)
		return text_copy(s);
	const char *dots = text_is_utf8() ? "\xe2\x80\xa6" : "...";
	size_t kept = text_is_utf8() ? 1 : 3, bytes = 0, left = strlen(s), used = 0;
	kept = width > kept ? width - kept : 0;
	while (left - bytes) {
		uint32_t code = 0;
		size_t length = utf8_decode(s + bytes, left - bytes, &code);
		size_t columns = length ? text_width_of(code) : 1;
		if (used + columns > kept)
			break;
		used += columns;
		bytes += length ? length : 1;
	}
	return text_format("%.*s%s", (int)bytes, s, dots);
}

static void pad(FILE *out, size_t columns)
{
	fprintf(out, "%*s", (int)columns, "");
}

/* The bytes of a word that fit into so many columns, at least one character. */
static size_t fitting(const char *word, size_t n, size_t columns)
{
	size_t bytes = 0, used = 0;
	while (bytes < n) {
		uint32_t code = 0;
		size_t length = utf8_decode(word + bytes, n - bytes, &code);
		size_t wide = length ? text_width_of(code) : 1;
		if (bytes && used + wide > columns)
			break;
		used += wide;
		bytes += length ? length : 1;
	}
	return bytes;
}

/* A word that is wider than a line (a path) is broken wherever the line ends. */
void text_flow(FILE *out, size_t width, size_t indent, size_t at, const char *text)
{
	if (at >= indent && at)
		indent = at + 1;
	pad(out, indent - at);
	at = indent;
	size_t line = width > indent ? width - indent : 1;
	while (text && *text) {
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

const char *plural_s(unsigned long long n)
{
	return n == 1 ? "" : "s";
}

/* Messages. */

static const char *where;
static atomic_bool line_is_shown;

void warn_where_set(const char *text)
{
	where = text;
}

void warn_line_set(bool is_shown)
{
	line_is_shown = is_shown;
}

void warn_arguments(const char *format, va_list arguments)
{
	char raw[4096], safe[8192];
	int n = where ? snprintf(raw, sizeof(raw), "%.1000s: ", where) : 0;

	vsnprintf(raw + n, sizeof(raw) - (size_t)n, format, arguments);
	text_escape(safe, sizeof(safe), raw);
	fprintf(stderr, "%sbrick: %s\n", line_is_shown ? "\r\033[K" : "", safe);
}

void warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	warn_arguments(format, arguments);
	va_end(arguments);
}

/* Units. */

static int decimals(double value)
{
	return value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
}

static char *unknown(char *out)
{
	return strcpy(out, "-");
}

/* The value in the first unit that keeps it below 999.5; larger ones in the last unit. */
static char *text_scaled(char *out, double value, const char *const *units, size_t n)
{
	size_t unit = 0;
	while (unit + 1 < n && value >= 999.5) {
		value /= 1000;
		unit++;
	}
	snprintf(out, UNITS_BYTES, "%.*f%s", decimals(value), value, units[unit]);
	return out;
}

char *units_time(char out[UNITS_BYTES], uint64_t ns)
{
	const char *const units[] = {text_is_utf8() ? "\xc2\xb5s" : "us", "ms", "s"};
	if (ns == ANALYSIS_UNKNOWN)
		return unknown(out);
	if (!ns)
		return strcpy(out, "0");
	if (ns < 1000) {
		snprintf(out, UNITS_BYTES, "%lluns", (unsigned long long)ns);
		return out;
	}
	return text_scaled(out, (double)ns / 1000, units, 3);
}

char *units_estimate(char out[UNITS_BYTES], uint64_t ns, bool is_estimated)
{
	char time[UNITS_BYTES - 1];
	bool is_marked = is_estimated && ns && ns != ANALYSIS_UNKNOWN;

	snprintf(time, sizeof(time), "%s", units_time(out, ns));
	snprintf(out, UNITS_BYTES, "%s%s", is_marked ? "~" : "", time);
	return out;
}

/* A number below `least` as it is, a larger one in thousands of `units`. */
static char *text_whole(char out[UNITS_BYTES], uint64_t value, uint64_t least, const char *unit,
	const char *const units[5])
{
	if (value == ANALYSIS_UNKNOWN)
		return unknown(out);
	if (value >= least)
		return text_scaled(out, (double)value / 1000, units, 5);
	snprintf(out, UNITS_BYTES, "%llu%s", (unsigned long long)value, unit);
	return out;
}

char *units_count(char out[UNITS_BYTES], uint64_t count)
{
	static const char *const units[] = {"k", "M", "G", "T", "P"};
	return text_whole(out, count, 100000, "", units);
}

char *units_bytes(char out[UNITS_BYTES], uint64_t bytes)
{
	static const char *const units[] = {"kB", "MB", "GB", "TB", "PB"};
	return text_whole(out, bytes, 1000, "B", units);
}

char *units_number(char out[UNITS_BYTES], double value)
{
	if (!(value >= 0 && value <= DBL_MAX))
		return unknown(out);
	if (value > 0 && value < 0.0005)
		return strcpy(out, "<0.001");
	snprintf(
		out, UNITS_BYTES, "%.*f", value > 0 && value < 0.0995 ? 3 : decimals(value), value);
	return out;
}

char *units_percent(char out[UNITS_BYTES], double share)
{
	double percent = 100 * share;
	if (!(share >= 0 && share <= DBL_MAX))
		return unknown(out);
	if (percent > 0 && percent < 0.05)
		return strcpy(out, "<0.1%");
	if (percent >= 99.95 && percent < 100)
		return strcpy(out, ">99.9%");
	snprintf(out, UNITS_BYTES, "%.1f%%", percent);
	return out;
}
