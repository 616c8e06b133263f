/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk becomes a list of steps, each some literal bytes followed by a match: a packet is
 * compared with those that the caller says it is like, some packets later, because what was just
 * written is slow to read. The steps are then written as one deflate block with codes of its own
 * (RFC 1951), inside of a zlib stream (RFC 1950).
 */
#include "lib/writer/deflate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

enum { HASHED = 4 }; /* bytes that deflate_search() looks for */

struct deflater *deflate_create(size_t chunk_bytes)
{
	struct deflater *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->steps = malloc(
		(chunk_bytes / DEFLATE_MIN_MATCH + chunk_bytes / 64 + 16) * sizeof(*d->steps));
	if (!d->steps) {
		free(d);
		return NULL;
	}
	return d;
}

void deflate_destroy(struct deflater *d)
{
	if (!d)
		return;
	free(d->steps);
	free(d);
}

void deflate_start(struct deflater *d, const uint8_t *data)
{
	d->data = data;
	d->covered = d->step_count = 0;
	d->queue.end = d->queue.count = 0;
	memset(d->hash, 0, sizeof(d->hash));
	memset(d->literal_counts, 0, sizeof(d->literal_counts));
	memset(d->length_counts, 0, sizeof(d->length_counts));
	memset(d->distance_counts, 0, sizeof(d->distance_counts));
}

static inline uint64_t load64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* How many of at most `most` bytes are equal. Reads nothing beyond them. */
static inline uint32_t equal_bytes(const uint8_t *a, const uint8_t *b, uint32_t most)
{
	uint32_t n = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	for (; n + 8 <= most; n += 8) {
		uint64_t differ = load64(a + n) ^ load64(b + n);
		if (differ)
			return n + (uint32_t)__builtin_ctzll(differ) / 8;
	}
#endif
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

/* How many of the eight bytes before `at` are equal to those that are `distance` before them. */
static inline uint32_t equal_before(const uint8_t *data, uint32_t at, uint32_t distance)
{
	uint32_t n = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	if (at >= distance + 8) {
		uint64_t differ = load64(data + at - 8) ^ load64(data + at - 8 - distance);
		return differ ? (uint32_t)__builtin_clzll(differ) / 8 : 8;
	}
#endif
	while (n < 8 && at - n > distance && data[at - n - 1] == data[at - n - 1 - distance])
		n++;
	return n;
}

/* Literals up to `start`, then `length` bytes as they stand `distance` before. */
static inline void count_literals(struct deflater *d, const uint8_t *at, uint32_t count)
{
	uint32_t i = 0;

	/* a match follows: there are three bytes, and nobody can foresee how many are literals */
	for (; i < 3; i++)
		d->literal_counts[at[i]] += i < count;
	d->literal_counts[at[count > 3 ? 3 : 0]] += count > 3;
	i = 4;
	for (; i < count; i++)
		d->literal_counts[at[i]]++;
}

static inline void add_match(struct deflater *d, uint32_t start, uint32_t distance, uint32_t length)
{
	uint32_t literals = start - d->covered;

	count_literals(d, d->data + d->covered, literals);
	d->covered = start + length;
	while (length) {
		/* never leave a rest that is too short to be a match of its own */
		uint32_t part = length <= DEFLATE_MOST_MATCH ? length
				: length < DEFLATE_MOST_MATCH + DEFLATE_MIN_MATCH
					? length - DEFLATE_MIN_MATCH
					: DEFLATE_MOST_MATCH;
		d->steps[d->step_count++] =
			(struct deflate_step){literals, (uint16_t)part, (uint16_t)(distance - 1)};
		d->length_counts[part]++;
		d->distance_counts[deflate_distance(distance - 1).symbol]++;
		literals = 0;
		length -= part;
	}
}

/* Of the four bytes at that place. */
static inline uint32_t *hash_slot(struct deflater *d, const uint8_t *at)
{
	uint32_t bytes;

	memcpy(&bytes, at, sizeof(bytes));
	return &d->hash[bytes * 0x9e3779b1u >> (32 - DEFLATE_HASH_BITS)];
}

/* Without a hint, try the last place where the same four bytes stood. */
static void deflate_search(struct deflater *d, uint32_t start, uint32_t end)
{
	uint32_t at = start;

	while (at + HASHED <= end) {
		uint32_t *slot = hash_slot(d, d->data + at);
		uint32_t source = *slot;
		*slot = at + 1;
		if (source && at - --source <= DEFLATE_WINDOW) {
			uint32_t length = equal_bytes(d->data + at, d->data + source, end - at);
			if (length >= HASHED + (at - source > 4096)) {
				add_match(d, at, at - source, length);
				at += length;
				continue;
			}
		}
		at++;
	}
}

/*
 * A match of `length` bytes at `at`, and of what stands before it as long as it is equal, too: the
 * end of a timestamp. Returns whether it is worth it.
 */
static inline bool deflate_match(
	struct deflater *d, uint32_t at, uint32_t distance, uint32_t length)
{
	uint32_t before = equal_before(d->data, at, distance);

	if (before > at - d->covered)
		before = at - d->covered;
	if (length + before < DEFLATE_MIN_MATCH + (distance > DEFLATE_NEAR))
		return false;
	add_match(d, at - before, distance, length + before);
	return true;
}

static inline bool reaches(uint32_t at, uint32_t distance)
{
	return distance - 1 < DEFLATE_WINDOW && distance <= at;
}

/*
 * Up to p->end: what two others have at the same place, in turns, because where one differs the
 * other may not. The last match may be longer.
 */
static void match_either(struct deflater *d, const struct deflate_packet *p, uint32_t at)
{
	uint32_t distance = p->like, other = reaches(at, p->other) ? p->other : p->like, failed = 0;

	while (at < p->end) {
		const uint8_t *data = d->data + at;
		uint32_t length = equal_bytes(data, data - distance, d->queue.end - at),
			 next = other;
		if (deflate_match(d, at, distance, length)) {
			at += length;
			failed = 0;
		} else if (failed++) {
			at++;
			failed = 0;
		}
		other = distance;
		distance = next;
	}
}

/*
 * All but the last packet, which the next one shows how to end: a match goes on into what follows,
 * where there mostly stands the same, too.
 */
void deflate_run(struct deflater *d)
{
	struct deflate_queue *queue = &d->queue;

	for (uint32_t i = 0; i + 1 < queue->count; i++) {
		const struct deflate_packet *p = &queue->packets[i];
		uint32_t at = p->rest > d->covered ? p->rest : d->covered;
		if (at >= p->end)
			continue;
		const uint8_t *next = d->data + p->end;
		if (!reaches(at, p->like))
			deflate_search(d, at, p->end);
		else if (p->other == DEFLATE_SAME)
			deflate_match(d, at, p->like,
				p->end - at +
					equal_bytes(next, next - p->like, queue->end - p->end));
		else
			match_either(d, p, at);
	}
	queue->packets[0] = queue->packets[queue->count - 1];
	queue->count = 1;
}

/*
 * Huffman codes of bounded length. The tree is built over the sorted counts with two queues; codes
 * that come out too long are shortened, and others lengthened until Kraft's sum fits again.
 */
enum { MAX_SYMBOLS = DEFLATE_LITERALS, MAX_LENGTH = 15 };

struct leaf {
	uint32_t count;
	uint16_t symbol;
};

/*
 * Sort by count, one byte at a time: unlike qsort() this allocates nothing and has no branches to
 * guess.
 */
static void deflate_sort(struct leaf *leaves, unsigned n, uint32_t most)
{
	struct leaf sorted[MAX_SYMBOLS];

	for (unsigned shift = 0; shift < 32 && most >> shift; shift += 8) {
		unsigned at[257] = {0};
		for (unsigned i = 0; i < n; i++)
			at[(leaves[i].count >> shift & 255) + 1]++;
		for (unsigned i = 1; i < 256; i++)
			at[i] += at[i - 1];
		for (unsigned i = 0; i < n; i++)
			sorted[at[leaves[i].count >> shift & 255]++] = leaves[i];
		memcpy(leaves, sorted, n * sizeof(*leaves));
	}
}

/* Depth of each of the n sorted leaves in the tree of Huffman. */
static void tree_depths(const struct leaf *leaves, unsigned n, uint8_t *depths)
{
	uint32_t weight[2 * MAX_SYMBOLS];
	uint16_t parent[2 * MAX_SYMBOLS];
	uint8_t depth[2 * MAX_SYMBOLS];
	unsigned leaf = 0, node = n, last = n;

	for (unsigned i = 0; i < n; i++)
		weight[i] = leaves[i].count;
	for (; last < 2 * n - 1; last++) {
		weight[last] = 0;
		for (int k = 0; k < 2; k++) {
			int take_leaf = leaf < n && (node == last || weight[leaf] <= weight[node]);
			unsigned i = take_leaf ? leaf++ : node++;
			weight[last] += weight[i];
			parent[i] = (uint16_t)last;
		}
	}
	depth[last - 1] = 0;
	for (unsigned i = last - 1; i-- > 0;) {
		unsigned deeper = depth[parent[i]] + 1u;
		depth[i] = (uint8_t)(deeper > 255 ? 255 : deeper);
	}
	memcpy(depths, depth, n);
}

/* Leaves are sorted by count: the first ones, the rarest, bear what must be longer. */
static void bound_depths(uint8_t *depths, unsigned n, unsigned most)
{
	uint32_t used = 0, full = 1u << most;

	for (unsigned i = 0; i < n; i++) {
		if (depths[i] > most)
			depths[i] = (uint8_t)most;
		used += full >> depths[i];
	}
	for (unsigned i = 0; used > full; i = (i + 1) % n)
		while (used > full && depths[i] < most) {
			used -= full >> (depths[i] + 1);
			depths[i]++;
		}
	for (unsigned i = n; i-- > 0;)
		while (depths[i] > 1 && used + (full >> depths[i]) <= full) {
			used += full >> depths[i];
			depths[i]--;
		}
}

static void huffman_lengths(
	const uint32_t *counts, unsigned symbols, unsigned most, uint8_t *lengths)
{
	struct leaf leaves[MAX_SYMBOLS];
	uint8_t depths[MAX_SYMBOLS];
	uint32_t max = 0;
	unsigned n = 0;

	memset(lengths, 0, symbols);
	for (unsigned i = 0; i < symbols; i++) {
		max |= counts[i];
		if (counts[i])
			leaves[n++] = (struct leaf){counts[i], (uint16_t)i};
	}
	deflate_sort(leaves, n, max);
	if (n == 1)
		lengths[leaves[0].symbol] = 1;
	if (n < 2)
		return;
	tree_depths(leaves, n, depths);
	bound_depths(depths, n, most);
	for (unsigned i = 0; i < n; i++)
		lengths[leaves[i].symbol] = depths[i];
}

static uint16_t reverse(uint32_t code, unsigned bits)
{
	uint32_t reversed = 0;

	for (unsigned i = 0; i < bits; i++)
		reversed |= (code >> i & 1) << (bits - 1 - i);
	return (uint16_t)reversed;
}

/* RFC 1951, 3.2.2 */
static void huffman_codes(const uint8_t *lengths, unsigned symbols, uint16_t *codes)
{
	uint32_t counts[MAX_LENGTH + 1] = {0}, next[MAX_LENGTH + 1], code = 0;

	for (unsigned i = 0; i < symbols; i++)
		counts[lengths[i]]++;
	counts[0] = 0;
	for (unsigned bits = 1; bits <= MAX_LENGTH; bits++) {
		code = (code + counts[bits - 1]) << 1;
		next[bits] = code;
	}
	for (unsigned i = 0; i < symbols; i++)
		codes[i] = lengths[i] ? reverse(next[lengths[i]]++, lengths[i]) : 0;
}

/*
 * Adler-32, 16 bytes at a time: a is 1 plus the sum of all bytes, b the sum of all a. In a block
 * of n columns of 16 bytes, b grows by 16 times the sums of the columns before each one, plus the
 * bytes weighted by how many of their column follow. Lanes are wide enough for MAX_COLUMNS.
 */
typedef uint16_t lanes __attribute__((vector_size(16)));

enum { MODULUS = 65521, COLUMN = 16, MAX_COLUMNS = 21 };

/* sum: of bytes 2i and 2i + 1 in every column; before: sums of the columns before each one */
struct sums {
	lanes even, odd, before_even, before_odd;
};

static inline struct sums deflate_add_columns(const uint8_t *data, unsigned columns)
{
	struct sums s;

	memset(&s, 0, sizeof(s));
	for (unsigned i = 0; i < columns; i++) {
		lanes column;
		memcpy(&column, data + i * COLUMN, COLUMN);
		s.before_even += s.even;
		s.before_odd += s.odd;
		s.even += column & 0xff;
		s.odd += column >> 8;
	}
	return s;
}

static uint32_t adler32_of(const uint8_t *data, size_t size)
{
	uint32_t a = 1, b = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	while (size >= COLUMN) {
		unsigned columns = size / COLUMN < MAX_COLUMNS ? (unsigned)(size / COLUMN)
							       : (unsigned)MAX_COLUMNS;
		struct sums s = deflate_add_columns(data, columns);
		uint32_t before = 0, weighted = 0, sum = 0;
		for (unsigned i = 0; i < 8; i++) {
			before += (uint32_t)s.before_even[i] + s.before_odd[i];
			sum += (uint32_t)s.even[i] + s.odd[i];
			weighted += s.even[i] * (COLUMN - 2 * i) + s.odd[i] * (COLUMN - 1 - 2 * i);
		}
		b = (b + a * (columns * COLUMN) + before * COLUMN + weighted) % MODULUS;
		a = (a + sum) % MODULUS;
		data += columns * COLUMN;
		size -= columns * COLUMN;
	}
#endif
	for (; size; size--) {
		a = (a + *data++) % MODULUS;
		b = (b + a) % MODULUS;
	}
	return b << 16 | a;
}

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
	memcpy(c->literal_counts, d->literal_counts, sizeof(d->literal_counts));
	memcpy(c->distance_counts, d->distance_counts, sizeof(c->distance_counts));
	for (uint32_t i = d->covered; i < d->queue.end; i++)
		c->literal_counts[d->data[i]]++;
	for (uint32_t i = DEFLATE_MIN_MATCH; i <= DEFLATE_MOST_MATCH; i++)
		c->literal_counts[deflate_length(i).symbol] += d->length_counts[i];
	c->literal_counts[END_OF_BLOCK]++;
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
	unsigned n = shorten_zeros(all, sizeof(all), runs);
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

static uint32_t deflate_word(uint32_t code, unsigned count, struct deflate_extra e, uint32_t value)
{
	return (code | (value - e.base) << count) << 8 | (count + e.bits);
}

static void make_words(struct words *words, const struct codes *c)
{
	for (unsigned i = 0; i < 256; i++)
		words->literals[i] = (uint32_t)c->literal_codes[i] << 8 | c->literal_lengths[i];
	for (unsigned i = DEFLATE_MIN_MATCH; i <= DEFLATE_MOST_MATCH; i++) {
		struct deflate_extra e = deflate_length(i);
		words->lengths[i] = deflate_word(
			c->literal_codes[e.symbol], c->literal_lengths[e.symbol], e, i);
	}
	for (unsigned i = 0; i < DEFLATE_NEAR; i++) {
		struct deflate_extra e = deflate_distance(i);
		words->near[i] = deflate_word(
			c->distance_codes[e.symbol], c->distance_lengths[e.symbol], e, i);
	}
}

static inline void put_word(struct bits *b, uint32_t word)
{
	put_bits(b, word >> 8, word & 255);
}

static inline void deflate_put_distance(
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

/* Put up to four literals, the usual number before a match, without branches. */
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

static void deflate_write_steps(const struct deflater *d, struct bits *b, const struct codes *c)
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
		deflate_put_distance(b, &words, c, step->distance);
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

	/* an empty packet ends the chunk's last one */
	deflate_add(d, d->queue.end, d->queue.end, DEFLATE_UNKNOWN, DEFLATE_UNKNOWN);
	deflate_run(d);
	memset(&c, 0, sizeof(c));
	count_symbols(d, &c);
	huffman_lengths(c.literal_counts, DEFLATE_LITERALS, MAX_BITS, c.literal_lengths);
	huffman_lengths(c.distance_counts, DEFLATE_DISTANCES, MAX_BITS, c.distance_lengths);
	huffman_codes(c.literal_lengths, DEFLATE_LITERALS, c.literal_codes);
	huffman_codes(c.distance_lengths, DEFLATE_DISTANCES, c.distance_codes);
	if (!pb_reserve(out, capacity))
		return;
	uint8_t *start = out->data + out->size;
	start[0] = 0x78; /* deflate, a window of 32 KiB */
	start[1] = 0x01;
	struct bits b = {0, 0, start + HEADER_BYTES};
	write_codes(&b, &c);
	deflate_write_steps(d, &b, &c);
	b.count = (b.count + 7) & ~7u;
	flush_bits(&b);
	uint32_t adler = adler32_of(d->data, d->queue.end);
	for (int i = 0; i < ADLER_BYTES; i++)
		*b.at++ = (uint8_t)(adler >> (24 - 8 * i));
	out->size += (size_t)(b.at - start);
}
