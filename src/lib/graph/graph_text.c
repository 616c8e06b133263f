/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names and numbers on their way into a file: escaped, and the same in every locale.
 */
#include "lib/graph/graph_text.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/escape.h"
#include "base/utf8.h"

const char *const brick__node_kinds[BRICK_NODE_KINDS] = {
	[BRICK_NODE_LAYER] = "layer",
	[BRICK_NODE_BRICK] = "brick",
	[BRICK_NODE_KERNEL] = "kernel",
	[BRICK_NODE_TRANSFER] = "transfer",
	[BRICK_NODE_FUNCTION] = "function",
	[BRICK_NODE_TASK] = "task",
};

const char *const brick__edge_kinds[BRICK_EDGE_KINDS] = {
	[BRICK_EDGE_CALLS] = "calls",
	[BRICK_EDGE_CONTAINS] = "contains",
	[BRICK_EDGE_LAUNCHES] = "launches",
	[BRICK_EDGE_SEQUENCE] = "sequence",
	[BRICK_EDGE_DEPENDS_ON] = "depends-on",
	[BRICK_EDGE_TRANSFER] = "transfer",
};

const char *const brick__directions[] = {
	[BRICK_TRANSFER_UNKNOWN] = "unknown",
	[BRICK_TRANSFER_H2D] = "H2D",
	[BRICK_TRANSFER_D2H] = "D2H",
	[BRICK_TRANSFER_D2D] = "D2D",
};

static void brick__put_bytes(struct brick__sink *sink, const char *data, size_t bytes)
{
	while (bytes && !sink->error) {
		size_t left = sizeof(sink->buffer) - sink->used;
		size_t n = bytes < left ? bytes : left;
		memcpy(sink->buffer + sink->used, data, n);
		sink->used += n;
		data += n;
		bytes -= n;
		if (sink->used == sizeof(sink->buffer))
			brick__flush(sink);
	}
}

int brick__flush(struct brick__sink *sink)
{
	if (!sink->error && sink->used)
		sink->error = sink->write(sink->context, sink->buffer, sink->used);
	if (sink->error > 0)
		sink->error = 0;
	sink->used = 0;
	return sink->error;
}

void brick__put(struct brick__sink *sink, const char *text)
{
	brick__put_bytes(sink, text, strlen(text));
}

void brick__put_u64(struct brick__sink *sink, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	brick__put_bytes(sink, digits + at, sizeof(digits) - at);
}

void brick__put_key_u64(struct brick__sink *sink, const char *key, uint64_t value)
{
	brick__put(sink, key);
	brick__put_u64(sink, value);
}

void brick__put_i64(struct brick__sink *sink, int64_t value)
{
	if (value < 0)
		brick__put(sink, "-");
	brick__put_u64(sink, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static void put_hex_digits(struct brick__sink *sink, uint64_t value, int digits)
{
	while (digits--)
		brick__put_bytes(sink, &"0123456789abcdef"[value >> 4 * digits & 15], 1);
}

void brick__put_hex(struct brick__sink *sink, uint64_t value)
{
	put_hex_digits(sink, value, 16);
}

/* Whatever the locale puts between whole and fraction becomes a point. */
void brick__put_double(struct brick__sink *sink, double value)
{
	char text[64];
	bool in_point = false;

	if (value > -0x1p53 && value < 0x1p53 && value == (double)(int64_t)value) {
		brick__put_i64(sink, (int64_t)value);
		return;
	}
	snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	for (const char *c = text; *c; c++) {
		bool is_point = !strchr("0123456789+-e", *c);
		if (!is_point)
			brick__put_bytes(sink, c, 1);
		else if (!in_point)
			brick__put(sink, ".");
		in_point = is_point;
	}
}

void brick__put_time(struct brick__sink *sink, uint64_t ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = {{1000, "\xc2\xb5s"}, {1000000, "ms"}, {1000000000, "s"}};
	int u = ns < 999950 ? 0 : ns < 999950000 ? 1 : 2;
	uint64_t tenth = units[u].ns / 10;
	uint64_t tenths = ns / tenth + (ns % tenth >= tenth / 2);

	brick__put_u64(sink, tenths / 10);
	brick__put(sink, ".");
	brick__put_u64(sink, tenths % 10);
	brick__put(sink, units[u].name);
}

void brick__put_json(struct brick__sink *sink, const char *text)
{
	struct escaped piece;

	if (!text) {
		brick__put(sink, "null");
		return;
	}
	brick__put(sink, "\"");
	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		n = escape_json_character(&piece, text, left);
		brick__put_bytes(sink, piece.text, piece.bytes);
	}
	brick__put(sink, "\"");
}

static void put_character(
	struct brick__sink *sink, const char *text, size_t n, const struct brick__escape *escape)
{
	const char *special = n == 1 ? strchr(escape->special, *text) : NULL;

	if (special)
		brick__put(sink, escape->instead[special - escape->special]);
	else
		brick__put_bytes(sink, text, n);
}

void brick__put_text(struct brick__sink *sink, const char *text, const struct brick__escape *escape)
{
	uint32_t code;

	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		n = utf8_decode(text, left, &code);
		if (n && !utf8_is_unsafe(code) && (code & 0xfffe) != 0xfffe) {
			put_character(sink, text, n, escape);
			continue;
		}
		n = n ? n : 1;
		for (size_t i = 0; i < n; i++) {
			brick__put(sink, escape->hidden);
			put_hex_digits(sink, (unsigned char)text[i], 2);
		}
	}
}
