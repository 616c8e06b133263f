/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inflating. Invariants: nothing is read behind the input or written behind the room, and a match
 * never reaches before the output. Called by load_inflate.c.
 */
#include "trace/inflate.h"

#include <string.h>
#include "trace/deflate_state.h"
#include "trace/inflate_codes.h"

enum {
	DISTANCE_SYMBOLS = 32,
	LENGTH_SYMBOLS = 19,
	ADLER_BYTES = 4,
};

/* Input as a row of bits, lowest first. Behind its end come zeros, which are counted. */
struct source {
	uint64_t bits;
	unsigned count;
	const uint8_t *at, *end;
	unsigned missing; /* bytes of zeros */
};

struct sink {
	uint8_t *start, *at, *end;
};

/* At least 56 bits. */
static inline void refill(struct source *s)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	if (__builtin_expect(s->end - s->at >= 8, 1)) {
		uint64_t word;
		memcpy(&word, s->at, 8);
		s->bits |= word << s->count;
		s->at += (63 - s->count) >> 3;
		s->count |= 56;
		return;
	}
#endif
	while (s->count < 56) {
		if (s->at < s->end)
			s->bits |= (uint64_t)*s->at++ << s->count;
		else
			s->missing++;
		s->count += 8;
	}
}

static inline uint32_t take(struct source *s, unsigned count)
{
	uint32_t value = (uint32_t)(s->bits & ((1ull << count) - 1));

	s->bits >>= count;
	s->count -= count;
	return value;
}

/* More has been taken than there was. */
static inline int overrun(const struct source *s)
{
	return s->missing > s->count / 8;
}

static int fixed_codes(struct inflate_tables *t)
{
	uint8_t lengths[INFLATE_SYMBOLS];

	for (unsigned i = 0; i < INFLATE_SYMBOLS; i++)
		lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
	if (!inflate_literal_codes(t, lengths, INFLATE_SYMBOLS))
		return 0;
	memset(lengths, 5, DISTANCE_SYMBOLS);
	return inflate_distance_codes(t, lengths, DISTANCE_SYMBOLS);
}

/* The code lengths of both alphabets, one after the other (RFC 1951, 3.2.7). */
static int read_lengths(struct source *s, const uint32_t *codes, uint8_t *lengths, unsigned count)
{
	unsigned i = 0;

	while (i < count) {
		refill(s);
		uint32_t e = codes[s->bits & ((1u << INFLATE_LENGTH_BITS) - 1)];
		unsigned symbol = e >> 16, repeat = 1;
		uint8_t value = (uint8_t)symbol;
		if (entry_kind(e) != KIND_LITERAL)
			return 0;
		take(s, entry_bits(e));
		if (symbol == 16) {
			if (!i)
				return 0;
			value = lengths[i - 1];
			repeat = 3 + take(s, 2);
		} else if (symbol > 16) {
			value = 0;
			repeat = symbol == 17 ? 3 + take(s, 3) : 11 + take(s, 7);
		}
		if (repeat > count - i)
			return 0;
		memset(lengths + i, value, repeat);
		i += repeat;
	}
	return 1;
}

static int own_codes(struct inflate_tables *t, struct source *s)
{
	static const uint8_t order[LENGTH_SYMBOLS] = {
		16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
	uint8_t lengths[INFLATE_SYMBOLS + DISTANCE_SYMBOLS] = {0}, few[LENGTH_SYMBOLS] = {0};
	uint32_t codes[1 << INFLATE_LENGTH_BITS];

	refill(s);
	unsigned literals = take(s, 5) + 257, distances = take(s, 5) + 1, count = take(s, 4) + 4;
	if (literals > DEFLATE_LITERALS || distances > DEFLATE_DISTANCES)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		refill(s);
		few[order[i]] = (uint8_t)take(s, 3);
	}
	return inflate_length_codes(codes, few, LENGTH_SYMBOLS) &&
	       read_lengths(s, codes, lengths, literals + distances) && lengths[256] &&
	       inflate_literal_codes(t, lengths, literals) &&
	       inflate_distance_codes(t, lengths + literals, distances);
}

static inline uint32_t look_up(struct source *s, const uint32_t *table, unsigned index_bits)
{
	uint32_t e = table[s->bits & ((1u << index_bits) - 1)];

	if (__builtin_expect(entry_kind(e) == KIND_SECOND, 0)) {
		take(s, index_bits);
		e = table[(e >> 16) + (s->bits & ((1u << entry_extra(e)) - 1))];
	}
	take(s, entry_bits(e));
	return e;
}

/* Where there are 8 bytes of room behind what the match takes, it is copied by words. */
static inline void copy_match(struct sink *out, size_t distance, uint32_t length)
{
	const uint8_t *from = out->at - distance;
	uint8_t *to = out->at;

	out->at += length;
	if (distance >= 8 && out->end - out->at >= 8) {
		for (; to < out->at; to += 8, from += 8)
			memcpy(to, from, 8);
		return;
	}
	while (length--)
		*to++ = *from++;
}

static enum inflate_result read_match(
	struct source *s, const struct inflate_tables *t, struct sink *out, uint32_t e)
{
	uint32_t length = (e >> 16) + take(s, entry_extra(e));
	uint32_t d = look_up(s, t->distances, INFLATE_DISTANCE_BITS);

	if (entry_kind(d) != KIND_MATCH)
		return INFLATE_BAD;
	size_t distance = (d >> 16) + take(s, entry_extra(d));
	if (distance > (size_t)(out->at - out->start) || overrun(s))
		return INFLATE_BAD;
	if (length > (size_t)(out->end - out->at))
		return INFLATE_FULL;
	copy_match(out, distance, length);
	return INFLATE_DONE;
}

static inline int is_literal(struct sink *out, uint32_t e)
{
	if (entry_kind(e) != KIND_LITERAL)
		return 0;
	*out->at++ = (uint8_t)(e >> 16);
	return 1;
}

static enum inflate_result read_block(
	struct source *s, const struct inflate_tables *t, struct sink *out)
{
	for (;;) {
		/* one refill gives three literals, or a match's 48 bits */
		refill(s);
		if (out->end - out->at < 3)
			break;
		uint32_t e = look_up(s, t->literals, INFLATE_LITERAL_BITS);
		unsigned literals = 0;
		while (is_literal(out, e) && ++literals < 3)
			e = look_up(s, t->literals, INFLATE_LITERAL_BITS);
		if (literals == 3) {
			if (overrun(s))
				return INFLATE_BAD;
			continue;
		}
		if (literals)
			refill(s);
		if (entry_kind(e) == KIND_END)
			return overrun(s) ? INFLATE_BAD : INFLATE_DONE;
		if (entry_kind(e) != KIND_MATCH)
			return INFLATE_BAD;
		enum inflate_result result = read_match(s, t, out, e);
		if (result)
			return result;
	}
	return INFLATE_FULL;
}

static enum inflate_result read_stored(struct source *s, struct sink *out)
{
	take(s, s->count & 7);
	refill(s);
	uint32_t length = take(s, 16), inverse = take(s, 16);
	if (length != (~inverse & 0xffff))
		return INFLATE_BAD;
	/* give back what the row of bits holds */
	if (overrun(s))
		return INFLATE_BAD;
	s->at -= s->count / 8 - s->missing;
	s->bits = 0;
	s->count = s->missing = 0;
	if (length > (size_t)(s->end - s->at))
		return INFLATE_BAD;
	if (length > (size_t)(out->end - out->at))
		return INFLATE_FULL;
	memcpy(out->at, s->at, length);
	s->at += length;
	out->at += length;
	return INFLATE_DONE;
}

static int check_adler(struct source *s, const struct sink *out)
{
	uint32_t stored = 0;

	take(s, s->count & 7);
	for (int i = 0; i < ADLER_BYTES; i++) {
		refill(s);
		stored = stored << 8 | take(s, 8);
	}
	return !overrun(s) && stored == deflate_adler(out->start, (size_t)(out->at - out->start));
}

enum inflate_result inflate_stream(struct inflate_tables *t, const uint8_t *in, size_t in_bytes,
	uint8_t *out, size_t room, size_t *size)
{
	struct source s = {0};
	struct sink sink = {out, out, out + room};
	enum inflate_result result = INFLATE_DONE;
	uint32_t last = 0;

	*size = 0;
	/* deflate, a window of at most 32 KiB, no dictionary */
	if (in_bytes < 2 || (in[0] & 15) != 8 || in[0] >> 4 > 7 || in[1] & 32 ||
		(in[0] << 8 | in[1]) % 31)
		return INFLATE_BAD;
	s.at = in + 2;
	s.end = in + in_bytes;
	while (!result && !last) {
		refill(&s);
		last = take(&s, 1);
		uint32_t kind = take(&s, 2);
		if (kind == 0)
			result = read_stored(&s, &sink);
		else if (kind == 3 || !(kind == 1 ? fixed_codes(t) : own_codes(t, &s)))
			result = INFLATE_BAD;
		else
			result = read_block(&s, t, &sink);
	}
	if (!result && !check_adler(&s, &sink))
		result = INFLATE_BAD;
	*size = (size_t)(sink.at - out);
	return result;
}
