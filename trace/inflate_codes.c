/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building the look-up tables of the decompressor. Input is not trusted: lengths that are no codes
 * are refused, and no table outgrows its room.
 */
#include <string.h>
#include "trace/deflate_state.h"
#include "trace/inflate_codes.h"

enum { MOST_BITS = 15, FIRST_LENGTH = 257 };

/* What a symbol of the alphabet stands for; bits are filled in by the builder. */
static uint32_t literal_entry(unsigned symbol)
{
	static const uint16_t base[] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35,
		43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
	static const uint8_t extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3,
		4, 4, 4, 4, 5, 5, 5, 5, 0};

	if (symbol < 256)
		return entry(0, KIND_LITERAL, 0, symbol);
	if (symbol == 256)
		return entry(0, KIND_END, 0, 0);
	if (symbol - FIRST_LENGTH >= sizeof extra)
		return entry(0, KIND_INVALID, 0, 0);
	return entry(0, KIND_MATCH, extra[symbol - FIRST_LENGTH], base[symbol - FIRST_LENGTH]);
}

static uint32_t distance_entry(unsigned symbol)
{
	if (symbol >= DEFLATE_DISTANCES)
		return entry(0, KIND_INVALID, 0, 0);
	if (symbol < 4)
		return entry(0, KIND_MATCH, 0, symbol + 1);
	unsigned extra = symbol / 2 - 1;
	return entry(0, KIND_MATCH, extra, ((2 + symbol % 2) << extra) + 1);
}

static uint32_t length_entry(unsigned symbol)
{
	return entry(0, KIND_LITERAL, 0, symbol);
}

/* An alphabet's table: where it stands, how it is indexed, how much room it has. */
struct table {
	uint32_t *entries;
	unsigned index_bits, room;
	uint32_t (*make)(unsigned symbol);
};

/* Codes that fill the code space exactly; a lone code of one bit is taken, too. */
static int is_complete(const uint32_t *counts)
{
	int32_t left = 1;
	uint32_t used = 0;

	for (unsigned bits = 1; bits <= MOST_BITS; bits++) {
		left = left * 2 - (int32_t)counts[bits];
		used += counts[bits];
		if (left < 0)
			return 0;
	}
	return !left || (used == 1 && counts[1] == 1) || !used;
}

/* Every index of the table whose low bits are the code. */
static void fill(uint32_t *entries, unsigned size, uint32_t code, unsigned bits, uint32_t e)
{
	for (uint32_t i = code; i < size; i += 1u << bits)
		entries[i] = e;
}

/* The second table of a long code's first bits, made when it is first needed. NULL: no room. */
static uint32_t *second_table(const struct table *t, uint32_t code, unsigned bits, unsigned *used)
{
	uint32_t *first = &t->entries[code & ((1u << t->index_bits) - 1)];

	if (entry_kind(*first) != KIND_SECOND) {
		if (*used + (1u << bits) > t->room)
			return NULL;
		memset(t->entries + *used, 0, sizeof(uint32_t) << bits);
		*first = entry(t->index_bits, KIND_SECOND, bits, *used);
		*used += 1u << bits;
	}
	return t->entries + (*first >> 16);
}

static int build(const struct table *t, const uint8_t *lengths, unsigned symbols)
{
	uint16_t codes[INFLATE_SYMBOLS];
	uint32_t counts[MOST_BITS + 1] = {0};
	unsigned size = 1u << t->index_bits, used = size, longest = 0;

	for (unsigned i = 0; i < symbols; i++) {
		counts[lengths[i]]++;
		longest = lengths[i] > longest ? lengths[i] : longest;
	}
	counts[0] = 0;
	if (!is_complete(counts))
		return 0;
	huffman_codes(lengths, symbols, codes);
	memset(t->entries, 0, size * sizeof *t->entries);
	for (unsigned i = 0; i < symbols; i++) {
		unsigned bits = lengths[i];
		if (bits && bits <= t->index_bits)
			fill(t->entries, size, codes[i], bits, t->make(i) | bits);
		if (bits <= t->index_bits)
			continue;
		unsigned second_bits = longest - t->index_bits;
		uint32_t *second = second_table(t, codes[i], second_bits, &used);
		if (!second)
			return 0;
		bits -= t->index_bits;
		fill(second, 1u << second_bits, (uint32_t)codes[i] >> t->index_bits, bits,
			t->make(i) | bits);
	}
	return 1;
}

int inflate_literal_codes(struct inflate_tables *t, const uint8_t *lengths, unsigned symbols)
{
	const struct table table = {
		t->literals, INFLATE_LITERAL_BITS, INFLATE_LITERAL_ENTRIES, literal_entry};

	return build(&table, lengths, symbols);
}

int inflate_distance_codes(struct inflate_tables *t, const uint8_t *lengths, unsigned symbols)
{
	const struct table table = {
		t->distances, INFLATE_DISTANCE_BITS, INFLATE_DISTANCE_ENTRIES, distance_entry};

	return build(&table, lengths, symbols);
}

int inflate_length_codes(uint32_t *entries, const uint8_t *lengths, unsigned symbols)
{
	const struct table table = {
		entries, INFLATE_LENGTH_BITS, 1u << INFLATE_LENGTH_BITS, length_entry};

	return build(&table, lengths, symbols);
}
