/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the repetitions of a chunk. A packet is compared with the one that it most likely
 * repeats, up to the timestamp and behind it. Between two packets no boundary is kept: the tail of
 * one stays open until the next is known, because both together are mostly one repetition.
 */
#include "trace/deflate.h"

#include <stdlib.h>
#include <string.h>
#include "trace/deflate_state.h"

enum { VARINT_BYTES = 10 };

struct deflater *deflate_create(size_t chunk_bytes)
{
	struct deflater *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->chunk_bytes = chunk_bytes;
	d->step_capacity = (uint32_t)(chunk_bytes / DEFLATE_MIN_MATCH + chunk_bytes / 64 + 16);
	d->steps = malloc(d->step_capacity * sizeof *d->steps);
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
	d->end = d->covered = d->open_length = d->step_count = 0;
	memset(d->hash, 0, sizeof d->hash);
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

/* Literals up to `start`, then `length` bytes as they stand at `source`. */
static inline void add_match(struct deflater *d, uint32_t start, uint32_t source, uint32_t length)
{
	uint32_t literals = start - d->covered, distance = start - source - 1;

	d->covered = start + length;
	while (length) {
		/* never leave a rest that is too short to be a match of its own */
		uint32_t part = length <= DEFLATE_MOST_MATCH ? length
				: length < DEFLATE_MOST_MATCH + DEFLATE_MIN_MATCH
					? length - DEFLATE_MIN_MATCH
					: DEFLATE_MOST_MATCH;
		d->steps[d->step_count++] =
			(struct deflate_step){literals, (uint16_t)part, (uint16_t)distance};
		literals = 0;
		length -= part;
	}
}

static inline void close_open(struct deflater *d)
{
	if (d->open_length) {
		add_match(d, d->open_start, d->open_source, d->open_length);
		d->open_length = 0;
	}
}

void deflate_close(struct deflater *d)
{
	close_open(d);
	if (d->covered < d->end)
		d->steps[d->step_count++] = (struct deflate_step){d->end - d->covered, 0, 0};
	d->covered = d->end;
}

static inline uint32_t *hash_slot(struct deflater *d, const uint8_t *at)
{
	return &d->hash[load32(at) * 0x9e3779b1u >> (32 - DEFLATE_HASH_BITS)];
}

/* Without a hint: the last place where the same four bytes stood, if that leads to a match. */
static void search(struct deflater *d, uint32_t start, uint32_t end)
{
	uint32_t at = start;

	while (at + DEFLATE_MIN_MATCH <= end) {
		uint32_t *slot = hash_slot(d, d->data + at);
		uint32_t source = *slot;
		*slot = at + 1;
		if (source && at - --source <= DEFLATE_WINDOW) {
			uint32_t length = equal_bytes(d->data + at, d->data + source, end - at);
			if (length >= DEFLATE_MIN_MATCH + (at - source > 4096)) {
				add_match(d, at, source, length);
				at += length;
				continue;
			}
		}
		at++;
	}
}

/* Behind the varint at `at`, or where it should have ended: what a hint promises may be wrong. */
static inline uint32_t skip_varint(const struct deflater *d, uint32_t at)
{
	uint32_t most = at + VARINT_BYTES < d->end ? at + VARINT_BYTES : d->end;

	while (at < most && d->data[at++] >= 0x80)
		;
	return at;
}

/*
 * The start of a packet: joined with the open tail of the packet before it if what precedes the
 * source is equal, too.
 */
static inline void match_head(struct deflater *d, uint32_t start, uint32_t source, uint32_t length)
{
	uint32_t tail = d->open_length;

	if (tail && source >= tail &&
		equal_bytes(d->data + start - tail, d->data + source - tail, tail) == tail) {
		d->open_length = 0;
		start -= tail;
		source -= tail;
		length += tail;
	} else {
		close_open(d);
	}
	if (length >= DEFLATE_MIN_MATCH)
		add_match(d, start, source, length);
}

void deflate_packet(struct deflater *d, uint32_t end, uint32_t source, uint32_t varint)
{
	const uint8_t *data = d->data;
	uint32_t start = d->end;

	d->end = end;
	if (source >= start || start - source > DEFLATE_WINDOW) {
		close_open(d);
		search(d, start, end);
		return;
	}
	uint32_t length = equal_bytes(data + start, data + source, end - start);
	match_head(d, start, source, length);
	uint32_t at = skip_varint(d, start + varint);
	if (at >= end || start + length >= at)
		return;
	source = skip_varint(d, source + varint);
	if (source >= at || at - source > DEFLATE_WINDOW)
		return;
	length = equal_bytes(data + at, data + source, end - at);
	if (length < DEFLATE_MIN_MATCH)
		return;
	if (at + length == end) {
		d->open_start = at;
		d->open_source = source;
		d->open_length = length;
	} else {
		add_match(d, at, source, length);
	}
}
