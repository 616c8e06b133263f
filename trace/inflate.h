/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inflating a whole zlib stream (RFC 1950, 1951) from memory to memory. Untrusted input. Any
 * thread, each with tables of its own.
 */
#ifndef BRICK_TRACE_INFLATE_H
#define BRICK_TRACE_INFLATE_H

#include <stddef.h>
#include <stdint.h>

enum {
	INFLATE_LITERAL_BITS = 11, /* of the first look-up; longer codes take a second one */
	INFLATE_DISTANCE_BITS = 8,
	/* second tables: at least two long codes share one, of all bits that a code can have more
	 */
	INFLATE_LITERAL_ENTRIES =
		(1 << INFLATE_LITERAL_BITS) + (286 / 2 << (15 - INFLATE_LITERAL_BITS)),
	INFLATE_DISTANCE_ENTRIES =
		(1 << INFLATE_DISTANCE_BITS) + (30 / 2 << (15 - INFLATE_DISTANCE_BITS)),
};

/* Look-up tables of the block being inflated. */
struct inflate_tables {
	uint32_t literals[INFLATE_LITERAL_ENTRIES];
	uint32_t distances[INFLATE_DISTANCE_ENTRIES];
};

enum inflate_result {
	INFLATE_DONE = 0,
	INFLATE_BAD = -1,  /* not a zlib stream, cut off, or its checksum is wrong */
	INFLATE_FULL = -2, /* `room` is less than what it holds and 3 bytes */
};

/* *size: bytes that out holds after INFLATE_DONE. What follows the stream is ignored. */
enum inflate_result inflate_stream(struct inflate_tables *t, const uint8_t *in, size_t in_bytes,
	uint8_t *out, size_t room, size_t *size);

#endif
