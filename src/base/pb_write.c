/* SPDX-License-Identifier: Apache-2.0 */
/* The slow half of protobuf encoding. Invariant: size <= capacity, also after a failure. */
#include "base/pb_write.h"

#include <stdlib.h>

enum { LENGTH_BYTES = 4, VARINT_BYTES = 10 };

void pb_buffer_fini(struct pb_buffer *b)
{
	free(b->data);
	memset(b, 0, sizeof(*b));
}

bool pb_reserve(struct pb_buffer *b, size_t bytes)
{
	if (b->failed)
		return false;
	if (bytes <= b->capacity - b->size)
		return true;
	size_t capacity = b->capacity ? b->capacity : 1024;
	while (capacity - b->size < bytes && capacity <= SIZE_MAX / 4)
		capacity *= 2;
	uint8_t *data = capacity - b->size < bytes ? NULL : realloc(b->data, capacity);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->capacity = capacity;
	return true;
}

void pb_bytes(struct pb_buffer *b, const void *bytes, size_t size)
{
	if (!size || !pb_reserve(b, size))
		return;
	memcpy(b->data + b->size, bytes, size);
	b->size += size;
}

static void raw_varint(struct pb_buffer *b, uint64_t value)
{
	if (pb_reserve(b, VARINT_BYTES))
		b->size += pb_put_varint(b->data + b->size, value);
}

void pb_varint(struct pb_buffer *b, uint32_t field, uint64_t value)
{
	raw_varint(b, PB_TAG(field, PB_VARINT));
	raw_varint(b, value);
}

void pb_double(struct pb_buffer *b, uint32_t field, double value)
{
	uint64_t bits;
	uint8_t bytes[8];

	memcpy(&bits, &value, sizeof(bits));
	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(bits >> (8 * i));
	raw_varint(b, PB_TAG(field, PB_FIXED64));
	pb_bytes(b, bytes, sizeof(bytes));
}

void pb_string(struct pb_buffer *b, uint32_t field, const char *text, size_t size)
{
	raw_varint(b, PB_TAG(field, PB_LENGTH));
	raw_varint(b, size);
	pb_bytes(b, text, size);
}

size_t pb_open(struct pb_buffer *b, uint32_t field)
{
	raw_varint(b, PB_TAG(field, PB_LENGTH));
	if (pb_reserve(b, LENGTH_BYTES))
		b->size += LENGTH_BYTES;
	return b->size;
}

/* The length is a varint of fixed width: all bytes but the last have the mark that more follow. */
void pb_close(struct pb_buffer *b, size_t opened)
{
	if (b->failed)
		return;
	size_t size = b->size - opened;
	uint8_t *at = b->data + opened - LENGTH_BYTES;
	if (size >> (7 * LENGTH_BYTES)) {
		b->failed = true;
		return;
	}
	for (int i = 0; i < LENGTH_BYTES; i++)
		at[i] = (uint8_t)((size >> (7 * i) & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
}
