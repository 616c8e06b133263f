/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the compressor's files share: a chunk as a list of steps, each some literal bytes followed
 * by a match, and the codes of Huffman that they are written with.
 */
#pragma once

#include "lib/writer/deflate.h"

enum {
	DEFLATE_MIN_MATCH = 3,
	DEFLATE_NEAR = 256, /* from there on distances cost a byte more */
	DEFLATE_MOST_MATCH = 258,
	DEFLATE_LITERALS = 286, /* bytes, end of block, lengths */
	DEFLATE_FIRST_LENGTH = 257,
	DEFLATE_DISTANCES = 30,
	DEFLATE_HASH_BITS = 12,
};

struct deflate_step {
	uint32_t literals; /* bytes of the chunk, as they are */
	uint16_t length;   /* of the match behind them */
	uint16_t distance; /* back, less 1 */
};

struct deflater {
	struct deflate_queue queue; /* first: deflate_add() */
	const uint8_t *data;
	uint32_t covered; /* what is before it is in steps */
	struct deflate_step *steps;
	uint32_t step_count;
	/* of what is in steps */
	uint32_t literal_counts[256], length_counts[DEFLATE_MOST_MATCH + 1];
	uint32_t distance_counts[DEFLATE_DISTANCES];
	uint32_t hash[1 << DEFLATE_HASH_BITS]; /* position + 1 of four bytes */
};

/* Symbol and extra bits of a match's length and distance. */
struct deflate_extra {
	uint16_t symbol;
	uint8_t bits;
	uint16_t base;
};

static inline struct deflate_extra deflate_length(uint32_t length)
{
	uint32_t value = length - 3;

	if (length == DEFLATE_MOST_MATCH)
		return (struct deflate_extra){285, 0, DEFLATE_MOST_MATCH};
	if (value < 8)
		return (struct deflate_extra){
			(uint16_t)(DEFLATE_FIRST_LENGTH + value), 0, (uint16_t)length};
	uint32_t bits = 29u - (uint32_t)__builtin_clz(value), step = value >> bits;
	return (struct deflate_extra){(uint16_t)(DEFLATE_FIRST_LENGTH + bits * 4 + step),
		(uint8_t)bits, (uint16_t)((step << bits) + 3)};
}

/* distance: less 1 */
static inline struct deflate_extra deflate_distance(uint32_t distance)
{
	if (distance < 4)
		return (struct deflate_extra){(uint16_t)distance, 0, (uint16_t)distance};
	uint32_t bits = 30u - (uint32_t)__builtin_clz(distance), step = distance >> bits;
	return (struct deflate_extra){
		(uint16_t)(bits * 2 + step), (uint8_t)bits, (uint16_t)(step << bits)};
}

/* No more packets: whatever is not in steps yet is put there. */
void deflate_close(struct deflater *d);

/* Code lengths of at most `most` bits for the symbols that occur; 0 for the others. */
void huffman_lengths(const uint32_t *counts, unsigned symbols, unsigned most, uint8_t *lengths);

/* The codes that go with lengths, ready to write: bits reversed. */
void huffman_codes(const uint8_t *lengths, unsigned symbols, uint16_t *codes);

/* Adler-32 of RFC 1950. */
uint32_t deflate_adler(const uint8_t *data, size_t size);
