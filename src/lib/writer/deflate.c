/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the repetitions of a chunk. A packet is compared with those that the writer says it is
 * like, some packets later: what was just written is slow to read.
 */
#include "lib/writer/deflate.h"

#include <stdlib.h>
#include <string.h>
#include "lib/writer/deflate_state.h"

enum { HASHED = 4 }; /* bytes that search() looks for */

struct deflater *deflate_create(size_t chunk_bytes)
{
	struct deflater *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->steps = malloc(
		(chunk_bytes / DEFLATE_MIN_MATCH + chunk_bytes / 64 + 16) * sizeof *d->steps);
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
	memset(d->hash, 0, sizeof d->hash);
	memset(d->literal_counts, 0, sizeof d->literal_counts);
	memset(d->length_counts, 0, sizeof d->length_counts);
	memset(d->distance_counts, 0, sizeof d->distance_counts);
}

static inline uint64_t load64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

static inline uint32_t load32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof value);
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

static inline uint32_t *hash_slot(struct deflater *d, const uint8_t *at)
{
	return &d->hash[load32(at) * 0x9e3779b1u >> (32 - DEFLATE_HASH_BITS)];
}

/* Without a hint: the last place where the same four bytes stood, if that leads to a match. */
static void search(struct deflater *d, uint32_t start, uint32_t end)
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
static inline int match(struct deflater *d, uint32_t at, uint32_t distance, uint32_t length)
{
	uint32_t before = equal_before(d->data, at, distance);

	if (before > at - d->covered)
		before = at - d->covered;
	if (length + before < DEFLATE_MIN_MATCH + (distance > DEFLATE_NEAR))
		return 0;
	add_match(d, at - before, distance, length + before);
	return 1;
}

static inline int reaches(uint32_t at, uint32_t distance)
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
		if (match(d, at, distance, length)) {
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
			search(d, at, p->end);
		else if (p->other == DEFLATE_SAME)
			match(d, at, p->like,
				p->end - at +
					equal_bytes(next, next - p->like, queue->end - p->end));
		else
			match_either(d, p, at);
	}
	queue->packets[0] = queue->packets[queue->count - 1];
	queue->count = 1;
}

void deflate_close(struct deflater *d)
{
	uint32_t end = d->queue.end;

	deflate_add(d, end, end, DEFLATE_UNKNOWN, DEFLATE_UNKNOWN);
	deflate_run(d);
}
