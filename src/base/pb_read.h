/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding protobuf messages in place. Nothing is copied: readers borrow the memory. Nothing is
 * trusted: a field that does not lie wholly inside of its message ends the reading with an error.
 * Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/pb_wire.h"

/* The part of a message that was not read yet. */
struct pb_reader {
	const uint8_t *at, *end;
};

struct pb_field {
	uint32_t number;
	/* Not beside the number: to compare both at once waits for both stores to be done. */
	uint64_t value;	     /* of PB_VARINT, PB_FIXED64, PB_FIXED32 */
	struct pb_reader in; /* the contents of PB_LENGTH */
	uint32_t wire;	     /* PB_VARINT, PB_LENGTH, ...; says which of value and in is set */
};

static inline struct pb_reader pb_reader(const void *data, size_t bytes)
{
	return (struct pb_reader){(const uint8_t *)data, (const uint8_t *)data + bytes};
}

static inline size_t pb_size(struct pb_reader r)
{
	return (size_t)(r.end - r.at);
}

/*
 * Reads the varint at `at` and returns the place behind it; NULL: it does not end before `end`, or
 * it takes over 10 bytes.
 */
const uint8_t *pb_varint_long(const uint8_t *at, const uint8_t *end, uint64_t *value);

/* As pb_varint_long(), quicker for one and two bytes. */
static inline const uint8_t *pb_read_varint(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
	if (__builtin_expect(at < end && *at < 0x80, 1)) {
		*value = *at;
		return at + 1;
	}
	if (__builtin_expect(end - at >= 2 && at[1] < 0x80, 1)) {
		*value = (at[0] & 0x7fu) | (uint32_t)at[1] << 7;
		return at + 2;
	}
	return pb_varint_long(at, end, value);
}

/* Reads the next field. 1; 0: the message is over; -1: malformed. */
static inline int pb_next(struct pb_reader *r, struct pb_field *f)
{
	uint64_t tag;
	const uint8_t *at = r->at;

	if (at == r->end)
		return 0;
	at = pb_read_varint(at, r->end, &tag);
	if (__builtin_expect(!at || tag > UINT32_MAX || tag < 8, 0))
		return -1;
	f->number = (uint32_t)tag >> 3;
	f->wire = (uint32_t)tag & 7;
	if (f->wire == PB_VARINT) {
		r->at = pb_read_varint(at, r->end, &f->value);
		return r->at ? 1 : -1;
	}
	if (f->wire == PB_LENGTH) {
		uint64_t size;
		at = pb_read_varint(at, r->end, &size);
		if (!at || size > (uint64_t)(r->end - at))
			return -1;
		f->in = (struct pb_reader){at, at + size};
		r->at = at + size;
		return 1;
	}
	size_t width = f->wire == PB_FIXED64 ? 8 : f->wire == PB_FIXED32 ? 4 : 0;
	if (!width || (size_t)(r->end - at) < width)
		return -1;
	f->value = 0;
	for (size_t i = 0; i < width; i++)
		f->value |= (uint64_t)at[i] << (8 * i);
	r->at = at + width;
	return 1;
}

/* The double in a PB_FIXED64's value. */
static inline double pb_double_value(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* True if a PB_LENGTH field holds exactly this text. */
static inline bool pb_is(struct pb_reader r, const char *text)
{
	size_t size = strlen(text);

	return pb_size(r) == size && !memcmp(r.at, text, size);
}
