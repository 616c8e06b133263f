/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that comes from a session is bytes of another process: it may lack its NUL and be no valid
 * UTF-8. Here it becomes valid text, and a site becomes a JSON object. Nothing allocates.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "trace/utf8.h"
#include "trace/writer_state.h"

/* Copies up to the first NUL; '?' stands for what is not UTF-8. Ends with NUL; returns the length.
 */
size_t writer_text(char *to, size_t room, const char *from, size_t from_bytes)
{
	size_t length = strnlen(from, from_bytes), size = 0;

	for (size_t i = 0; i < length;) {
		size_t n = utf8_character(from + i, length - i);
		size_t step = n ? n : 1;
		if (size + step >= room)
			break;
		if (n)
			memcpy(to + size, from + i, n);
		else
			to[size] = '?';
		size += step;
		i += step;
	}
	to[size] = 0;
	return size;
}

static size_t json_text(char *to, size_t room, const char *key, const char *from, size_t from_bytes)
{
	char text[256];
	size_t size = (size_t)snprintf(to, room, ",\"%s\":\"", key);

	writer_text(text, sizeof text, from, from_bytes);
	for (const char *s = text; *s && size + 8 < room; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			to[size++] = '\\';
		if (c < 0x20)
			size += (size_t)snprintf(to + size, room - size, "\\u%04x", c);
		else
			to[size++] = (char)c;
	}
	to[size++] = '"';
	return size;
}

static size_t json_count(char *to, size_t room, const char *key, uint64_t value)
{
	return (size_t)snprintf(to, room, ",\"%s\":%" PRIu64, key, value);
}

/* room: at least 1024. Returns the length. */
size_t writer_site_json(char *to, size_t room, const struct brick_session_site *site)
{
	size_t size = (size_t)snprintf(to, room, "{\"layer\":%d", site->layer);

	if (site->operation[0])
		size += json_text(
			to + size, room - size, "op", site->operation, sizeof site->operation);
	if (site->label[0])
		size += json_text(
			to + size, room - size, "tensor", site->label, sizeof site->label);
	if (site->flags & BRICK_SITE_HAS_ELEMENTS)
		size += json_count(to + size, room - size, "elements", site->elements);
	if (site->flags & BRICK_SITE_HAS_BYTES)
		size += json_count(to + size, room - size, "bytes", site->bytes);
	if (site->flags & BRICK_SITE_HAS_FLOPS)
		size += json_count(to + size, room - size, "flops", site->flops);
	if (site->flags & BRICK_SITE_UNKNOWN_OPERATION)
		size += (size_t)snprintf(to + size, room - size, ",\"unknown\":true");
	to[size++] = '}';
	to[size] = 0;
	return size;
}
