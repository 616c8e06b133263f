/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing the steps of a chunk as one deflate block with codes of its own (RFC 1951), inside of a
 * zlib stream (RFC 1950).
 */
#include <string.h>
#include "lib/writer/deflate_state.h"

enum {
	END_OF_BLOCK = 256,
	CODE_LENGTHS = 19,
	MAX_BITS = 15,
	HEADER_BYTES = 2,
	ADLER_BYTES = 4,
	CODES_BYTES = 512, /* more than the description of all codes takes */
};

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

/* The last literals are behind the last match. */
static void count_symbols(const struct deflater *d, struct codes *c)
{
	memcpy(c->literal_counts, d->literal_counts, sizeof d->literal_counts);
	memcpy(c->distance_counts, d->distance_counts, sizeof c->distance_counts);
	for (uint32_t i = d->covered; i < d->queue.end; i++)
		c->literal_counts[d->data[i]]++;
	for (uint32_t i = DEFLATE_MIN_MATCH; i <= DEFLATE_MOST_MATCH; i++)
		c->literal_counts[deflate_length(i).symbol] += d->length_counts[i];
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

/*
 * What bytes, lengths of matches and near distances are written as: code and extra bits, above how
 * many they are.
 */
struct words {
	uint32_t literals[256], lengths[DEFLATE_MOST_MATCH + 1], near[DEFLATE_NEAR];
};

static uint32_t word(uint32_t code, unsigned count, struct deflate_extra e, uint32_t value)
{
	return (code | (value - e.base) << count) << 8 | (count + e.bits);
}

static void make_words(struct words *words, const struct codes *c)
{
	for (unsigned i = 0; i < 256; i++)
		words->literals[i] = (uint32_t)c->literal_codes[i] << 8 | c->literal_lengths[i];
	for (unsigned i = DEFLATE_MIN_MATCH; i <= DEFLATE_MOST_MATCH; i++) {
		struct deflate_extra e = deflate_length(i);
		words->lengths[i] =
			word(c->literal_codes[e.symbol], c->literal_lengths[e.symbol], e, i);
	}
	for (unsigned i = 0; i < DEFLATE_NEAR; i++) {
		struct deflate_extra e = deflate_distance(i);
		words->near[i] =
			word(c->distance_codes[e.symbol], c->distance_lengths[e.symbol], e, i);
	}
}

static inline void put_word(struct bits *b, uint32_t word)
{
	put_bits(b, word >> 8, word & 255);
}

static inline void put_distance(
	struct bits *b, const struct words *words, const struct codes *c, uint32_t distance)
{
	if (distance < DEFLATE_NEAR) {
		put_word(b, words->near[distance]);
		return;
	}
	struct deflate_extra e = deflate_distance(distance);
	put_bits(b, c->distance_codes[e.symbol], c->distance_lengths[e.symbol]);
	put_bits(b, distance - e.base, e.bits);
}

static void put_literals(
	struct bits *b, const struct words *words, const uint8_t *at, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		put_word(b, words->literals[at[i]]);
		flush_bits(b);
	}
}

/* Up to four, as there mostly are before a match: no branches, as nobody can foresee how many. */
static inline void put_few_literals(
	struct bits *b, const struct words *words, const uint8_t *at, uint32_t count)
{
	put_word(b, count > 0 ? words->literals[at[0]] : 0);
	put_word(b, count > 1 ? words->literals[at[1]] : 0);
	put_word(b, count > 2 ? words->literals[at[2]] : 0);
	flush_bits(b);
	put_word(b, count > 3 ? words->literals[at[3]] : 0);
	flush_bits(b);
}

static void write_steps(const struct deflater *d, struct bits *b, const struct codes *c)
{
	const uint8_t *at = d->data;
	struct words words;

	make_words(&words, c);
	for (uint32_t i = 0; i < d->step_count; i++) {
		const struct deflate_step *step = &d->steps[i];
		if (step->literals <= 4)
			put_few_literals(b, &words, at, step->literals);
		else
			put_literals(b, &words, at, step->literals);
		put_word(b, words.lengths[step->length]);
		put_distance(b, &words, c, step->distance);
		flush_bits(b);
		at += step->literals + step->length;
	}
	put_literals(b, &words, at, d->queue.end - d->covered);
	put_bits(b, c->literal_codes[END_OF_BLOCK], c->literal_lengths[END_OF_BLOCK]);
	flush_bits(b);
}

void deflate_finish(struct deflater *d, struct pb_buffer *out)
{
	struct codes c;
	size_t capacity = HEADER_BYTES + CODES_BYTES + (size_t)d->queue.end * 2 + ADLER_BYTES + 16;

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
	uint32_t adler = deflate_adler(d->data, d->queue.end);
	for (int i = 0; i < ADLER_BYTES; i++)
		*b.at++ = (uint8_t)(adler >> (24 - 8 * i));
	out->size += (size_t)(b.at - start);
}
