/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes protobuf messages into a growing buffer. When memory runs out, `failed` is set, and every
 * later call does nothing, so that callers check once at the end. All zero is an empty buffer. One
 * thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/pb_wire.h"

struct pb_buffer {
	uint8_t *data;
	size_t size, capacity;
	bool failed;
};

void pb_buffer_fini(struct pb_buffer *b);

/* Make room for `bytes` more bytes. False: no memory, and `failed` is set. */
bool pb_reserve(struct pb_buffer *b, size_t bytes);

void pb_bytes(struct pb_buffer *b, const void *bytes, size_t size);

/* Fields, with their tags. */
void pb_varint(struct pb_buffer *b, uint32_t field, uint64_t value);
void pb_double(struct pb_buffer *b, uint32_t field, double value);
void pb_string(struct pb_buffer *b, uint32_t field, const char *text, size_t size);

/*
 * Everything that is written between the two calls is a nested message. `opened` is the result of
 * pb_open(). The message's length takes 4 bytes.
 */
size_t pb_open(struct pb_buffer *b, uint32_t field);
void pb_close(struct pb_buffer *b, size_t opened);

/* Store a varint where the caller has room, and return its length (at most 10). */
static inline unsigned pb_put_varint(uint8_t *at, uint64_t value)
{
	unsigned n = 0;

	while (value >= 0x80) {
		at[n++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	at[n++] = (uint8_t)value;
	return n;
}

/* The same for a field with its tag. */
static inline unsigned pb_put_field(uint8_t *at, uint32_t field, uint64_t value)
{
	unsigned n = pb_put_varint(at, PB_TAG(field, PB_VARINT));

	return n + pb_put_varint(at + n, value);
}
