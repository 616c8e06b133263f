/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the compressor's files share: a chunk as a list of steps, each some literal bytes followed
 * by a match, and the codes of Huffman that they are written with.
 */
#pragma once

#include "trace/deflate.h"

enum {
	DEFLATE_MIN_MATCH = 4, /* shorter ones cost more than their literals */
	DEFLATE_MOST_MATCH = 258,
	DEFLATE_WINDOW = 32768,
	DEFLATE_LITERALS = 286, /* bytes, end of block, lengths */
	DEFLATE_DISTANCES = 30,
	DEFLATE_HASH_BITS = 12,
};

struct deflate_step {
	uint32_t literals; /* bytes of the chunk, as they are */
	uint16_t length;   /* of the match behind them; 0: none */
	uint16_t distance; /* back, less 1 */
};

struct deflater {
	const uint8_t *data;
	uint32_t end;	  /* of what was handed in */
	uint32_t covered; /* what is before it is in steps */
	/* a match up to `end` that the next packet may find a longer one for; length 0: none */
	uint32_t open_start, open_source, open_length;
	struct deflate_step *steps;
	uint32_t step_count, step_capacity;
	uint32_t hash[1 << DEFLATE_HASH_BITS]; /* position + 1 of four bytes */
	size_t chunk_bytes;
};

/* No more packets: whatever is not in steps yet is put there. */
void deflate_close(struct deflater *d);

/* Code lengths of at most `most` bits for the symbols that occur; 0 for the others. */
void huffman_lengths(const uint32_t *counts, unsigned symbols, unsigned most, uint8_t *lengths);

/* The codes that go with lengths, ready to write: bits reversed. */
void huffman_codes(const uint8_t *lengths, unsigned symbols, uint16_t *codes);

/* Adler-32 of RFC 1950. */
uint32_t deflate_adler(const uint8_t *data, size_t size);
