/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing the steps of a chunk as one deflate block with codes of its own (RFC 1951), inside of a
 * zlib stream (RFC 1950).
 */
#include <stdlib.h>
#include <string.h>
#include "trace/deflate_state.h"

enum {
	END_OF_BLOCK = 256,
	FIRST_LENGTH = 257,
	CODE_LENGTHS = 19,
	MAX_BITS = 15,
	HEADER_BYTES = 2,
	ADLER_BYTES = 4,
	CODES_BYTES = 512, /* more than the description of all codes takes */
};

/* Symbol and extra bits of a match's length and distance. */
struct extra {
	uint16_t symbol;
	uint8_t bits;
	uint16_t base;
};

static inline struct extra length_symbol(uint32_t length)
{
	uint32_t value = length - 3;

	if (length == DEFLATE_MOST_MATCH)
		return (struct extra){285, 0, DEFLATE_MOST_MATCH};
	if (value < 8)
		return (struct extra){(uint16_t)(FIRST_LENGTH + value), 0, (uint16_t)length};
	uint32_t bits = 29u - (uint32_t)__builtin_clz(value), step = value >> bits;
	return (struct extra){(uint16_t)(FIRST_LENGTH + bits * 4 + step), (uint8_t)bits,
		(uint16_t)((step << bits) + 3)};
}

/* distance: less 1 */
static inline struct extra distance_symbol(uint32_t distance)
{
	if (distance < 4)
		return (struct extra){(uint16_t)distance, 0, (uint16_t)distance};
	uint32_t bits = 30u - (uint32_t)__builtin_clz(distance), step = distance >> bits;
	return (struct extra){(uint16_t)(bits * 2 + step), (uint8_t)bits, (uint16_t)(step << bits)};
}

/* Bits go out lowest first. There is always room: the caller has reserved it. */
struct bits {
	uint64_t pending;
	unsigned count;
	uint8_t *at;
};

static inline void put_bits(struct bits *b, uint64_t value, unsigned count)
{
	b->pending |= value << b->count;
	b->count += count;
}

static inline void flush_bits(struct bits *b)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(b->at, &b->pending, 8);
	b->at += b->count / 8;
	b->pending >>= b->count & ~7u;
	b->count &= 7;
#else
	for (; b->count >= 8; b->count -= 8, b->pending >>= 8)
		*b->at++ = (uint8_t)b->pending;
#endif
}

struct codes {
	uint32_t literal_counts[DEFLATE_LITERALS], distance_counts[DEFLATE_DISTANCES];
	uint8_t literal_lengths[DEFLATE_LITERALS], distance_lengths[DEFLATE_DISTANCES];
	uint16_t literal_codes[DEFLATE_LITERALS], distance_codes[DEFLATE_DISTANCES];
};

static void count_symbols(const struct deflater *d, struct codes *c)
{
	const uint8_t *at = d->data;

	for (uint32_t i = 0; i < d->step_count; i++) {
		const struct deflate_step *step = &d->steps[i];
		for (uint32_t k = 0; k < step->literals; k++)
			c->literal_counts[at[k]]++;
		at += step->literals + step->length;
		if (step->length) {
			c->literal_counts[length_symbol(step->length).symbol]++;
			c->distance_counts[distance_symbol(step->distance).symbol]++;
		}
	}
	c->literal_counts[END_OF_BLOCK]++;
}

static void make_codes(struct codes *c)
{
	huffman_lengths(c->literal_counts, DEFLATE_LITERALS, MAX_BITS, c->literal_lengths);
	huffman_lengths(c->distance_counts, DEFLATE_DISTANCES, MAX_BITS, c->distance_lengths);
	huffman_codes(c->literal_lengths, DEFLATE_LITERALS, c->literal_codes);
	huffman_codes(c->distance_lengths, DEFLATE_DISTANCES, c->distance_codes);
}

/* The code lengths of both alphabets, runs of zeros shortened (RFC 1951, 3.2.7). */
struct length_run {
	uint8_t symbol, extra;
};

static unsigned shorten_zeros(const uint8_t *lengths, unsigned count, struct length_run *runs)
{
	unsigned n = 0;

	for (unsigned i = 0; i < count;) {
		unsigned zeros = 0;
		while (i + zeros < count && !lengths[i + zeros] && zeros < 138)
			zeros++;
		if (zeros >= 11)
			runs[n++] = (struct length_run){18, (uint8_t)(zeros - 11)};
		else if (zeros >= 3)
			runs[n++] = (struct length_run){17, (uint8_t)(zeros - 3)};
		else
			runs[n++] = (struct length_run){lengths[i], 0};
		i += zeros >= 3 ? zeros : 1;
	}
	return n;
}

static void write_codes(struct bits *b, const struct codes *c)
{
	static const uint8_t order[CODE_LENGTHS] = {
		16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
	uint8_t all[DEFLATE_LITERALS + DEFLATE_DISTANCES], lengths[CODE_LENGTHS];
	struct length_run runs[DEFLATE_LITERALS + DEFLATE_DISTANCES];
	uint32_t counts[CODE_LENGTHS] = {0};
	uint16_t codes[CODE_LENGTHS];

	memcpy(all, c->literal_lengths, DEFLATE_LITERALS);
	memcpy(all + DEFLATE_LITERALS, c->distance_lengths, DEFLATE_DISTANCES);
	unsigned n = shorten_zeros(all, sizeof all, runs);
	for (unsigned i = 0; i < n; i++)
		counts[runs[i].symbol]++;
	huffman_lengths(counts, CODE_LENGTHS, 7, lengths);
	huffman_codes(lengths, CODE_LENGTHS, codes);

	put_bits(b, 1 | 2 << 1, 3); /* the last block; codes of its own */
	put_bits(b, DEFLATE_LITERALS - 257, 5);
	put_bits(b, DEFLATE_DISTANCES - 1, 5);
	put_bits(b, CODE_LENGTHS - 4, 4);
	flush_bits(b);
	for (unsigned i = 0; i < CODE_LENGTHS; i++) {
		put_bits(b, lengths[order[i]], 3);
		flush_bits(b);
	}
	for (unsigned i = 0; i < n; i++) {
		unsigned symbol = runs[i].symbol;
		put_bits(b, codes[symbol], lengths[symbol]);
		put_bits(b, runs[i].extra, symbol == 18 ? 7 : symbol == 17 ? 3 : 0);
		flush_bits(b);
	}
}

static inline void put_literal(struct bits *b, const struct codes *c, unsigned symbol)
{
	put_bits(b, c->literal_codes[symbol], c->literal_lengths[symbol]);
}

static inline void put_match(struct bits *b, const struct codes *c, const struct deflate_step *step)
{
	struct extra length = length_symbol(step->length);
	struct extra distance = distance_symbol(step->distance);

	put_literal(b, c, length.symbol);
	put_bits(b, step->length - length.base, length.bits);
	put_bits(b, c->distance_codes[distance.symbol], c->distance_lengths[distance.symbol]);
	put_bits(b, (uint32_t)step->distance - distance.base, distance.bits);
	flush_bits(b);
}

static void write_steps(const struct deflater *d, struct bits *b, const struct codes *c)
{
	const uint8_t *at = d->data;

	for (uint32_t i = 0; i < d->step_count; i++) {
		const struct deflate_step *step = &d->steps[i];
		uint32_t k = 0;
		for (; k + 3 <= step->literals; k += 3) {
			put_literal(b, c, at[k]);
			put_literal(b, c, at[k + 1]);
			put_literal(b, c, at[k + 2]);
			flush_bits(b);
		}
		for (; k < step->literals; k++)
			put_literal(b, c, at[k]);
		flush_bits(b);
		if (step->length)
			put_match(b, c, step);
		at += step->literals + step->length;
	}
	put_literal(b, c, END_OF_BLOCK);
	flush_bits(b);
}

void deflate_finish(struct deflater *d, struct pb_buffer *out)
{
	struct codes c;
	size_t capacity = HEADER_BYTES + CODES_BYTES + (size_t)d->end * 2 + ADLER_BYTES + 16;

	deflate_close(d);
	memset(&c, 0, sizeof c);
	count_symbols(d, &c);
	make_codes(&c);
	if (!pb_reserve(out, capacity))
		return;
	uint8_t *start = out->data + out->size;
	start[0] = 0x78; /* deflate, a window of 32 KiB */
	start[1] = 0x01;
	struct bits b = {0, 0, start + HEADER_BYTES};
	write_codes(&b, &c);
	write_steps(d, &b, &c);
	b.count = (b.count + 7) & ~7u;
	flush_bits(&b);
	uint32_t adler = deflate_adler(d->data, d->end);
	for (int i = 0; i < ADLER_BYTES; i++)
		*b.at++ = (uint8_t)(adler >> (24 - 8 * i));
	out->size += (size_t)(b.at - start);
}
