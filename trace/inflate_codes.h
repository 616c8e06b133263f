/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-up tables for Huffman codes. An entry is found by the next bits of the input, and says how
 * many of them its code takes and what it stands for; codes longer than the table's index lead to
 * a second table behind it. Between the files of the decompressor only.
 */
#ifndef BRICK_TRACE_INFLATE_CODES_H
#define BRICK_TRACE_INFLATE_CODES_H

#include "trace/inflate.h"

enum { INFLATE_SYMBOLS = 288, INFLATE_LENGTH_BITS = 7 };

/* Entries: bits of the code | kind << 4 | extra bits (or bits of the second table) << 8 | value
 * << 16. */
enum kind { KIND_INVALID, KIND_LITERAL, KIND_MATCH, KIND_END, KIND_SECOND };

static inline uint32_t entry(uint32_t bits, uint32_t kind, uint32_t extra, uint32_t value)
{
	return bits | kind << 4 | extra << 8 | value << 16;
}

static inline uint32_t entry_bits(uint32_t e)
{
	return e & 15;
}

static inline uint32_t entry_kind(uint32_t e)
{
	return e >> 4 & 15;
}

static inline uint32_t entry_extra(uint32_t e)
{
	return e >> 8 & 0xff;
}

/* Make a table from the codes' lengths; symbols without a code have 0. 0: they are no codes. */
int inflate_literal_codes(struct inflate_tables *t, const uint8_t *lengths, unsigned symbols);
int inflate_distance_codes(struct inflate_tables *t, const uint8_t *lengths, unsigned symbols);
/* Of code lengths themselves: entries[1 << INFLATE_LENGTH_BITS]. */
int inflate_length_codes(uint32_t *entries, const uint8_t *lengths, unsigned symbols);

#endif
