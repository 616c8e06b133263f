/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings repeat themselves: the same slices at other times. A packet that was decoded is
 * remembered; one that equals it but for its timestamp means the same. Only packets whose
 * timestamp is their first or last field, and that have nothing else than sequence, flags and a
 * slice, are remembered, and forgotten as soon as their sequence's names change.
 */
#include "trace/load_memo.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash_index.h"

enum { MAX_BYTES = 56, MIN_BYTES = 6, MAX_MEMOS = 1 << 16 };

struct memo {
	uint32_t length;
	uint32_t version;	  /* of the sequence's names */
	uint8_t bytes[MAX_BYTES]; /* all but the timestamp field */
	struct load_sequence *sequence;
	struct build_slice slice;
	uint16_t after; /* the place in the log behind where it was last */
};

/*
 * Packets are likely to come again in the same order: the next one is looked for in the log first.
 */
struct load_memo {
	ARRAY(struct memo) memos;
	struct hash_index index;
	uint16_t log[1 << 16]; /* memos as they came; from its end on over its begin */
	uint16_t end;
	uint16_t next; /* in the log: what is expected */
	uint16_t left; /* what was expected before something else came, such as a wait */
};

static inline uint64_t load64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The last word, which overlaps the one before it; less of it when there is no more. */
static inline uint64_t load_last(const uint8_t *at, uint32_t length)
{
	uint64_t word = load64(at + length - 8);

	return length < 8 ? word >> 8 * (8 - length) : word;
}

/* length: at least MIN_BYTES; what is before them may be read, too. */
static inline bool equal(const uint8_t *a, const uint8_t *b, uint32_t length)
{
	uint64_t differ = load_last(a, length) ^ load_last(b, length);

	for (uint32_t i = 0; i + 8 < length; i += 8)
		differ |= load64(a + i) ^ load64(b + i);
	return !differ;
}

static inline uint64_t hash_of(const uint8_t *bytes, uint32_t length)
{
	uint64_t hash = load_last(bytes, length) + length;

	for (uint32_t i = 0; i + 8 < length; i += 8)
		hash = (hash ^ hash >> 29 ^ load64(bytes + i)) * HASH_GOLDEN;
	return hash;
}

/* The memo of equal bytes, or NULL. */
static inline struct memo *find(
	const struct load_memo *m, uint64_t hash, const uint8_t *bytes, uint32_t length)
{
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&m->index, &probe)) != HASH_INDEX_NONE;) {
		struct memo *memo = &m->memos.items[i];
		if (memo->length == length && equal(memo->bytes, bytes, length))
			return memo;
	}
	return NULL;
}

static inline bool is_at(
	const struct load_memo *m, uint16_t place, const uint8_t *bytes, uint32_t length)
{
	const struct memo *memo = &m->memos.items[m->log[place]];

	return memo->length == length && equal(memo->bytes, bytes, length);
}

/* Elsewhere than expected: where it was left, or where the same was seen last. NULL: nowhere. */
static __attribute__((noinline)) struct memo *search(
	struct load_memo *m, const uint8_t *bytes, uint32_t length)
{
	uint16_t left = m->left;

	m->left = m->next;
	if (is_at(m, left, bytes, length)) {
		m->next = (uint16_t)(left + 1);
		return &m->memos.items[m->log[left]];
	}
	struct memo *memo = find(m, hash_of(bytes, length), bytes, length);
	if (memo)
		m->next = memo->after;
	return memo;
}

static inline void note(struct load_memo *m, struct memo *memo)
{
	m->log[m->end++] = (uint16_t)(memo - m->memos.items);
	memo->after = m->end;
}

/* The memo of equal bytes, or NULL. */
static inline const struct memo *find_next(
	struct load_memo *m, const uint8_t *bytes, uint32_t length)
{
	struct memo *memo = &m->memos.items[m->log[m->next]];

	if (memo->length == length && equal(memo->bytes, bytes, length))
		m->next++;
	else if (!(memo = search(m, bytes, length)))
		return NULL;
	note(m, memo);
	return memo;
}

/*
 * Take the timestamp off a packet's start or end. What is at the end might be something else that
 * looks like one; but then the rest equals no packet that had its timestamp there.
 */
static inline bool split(struct pb_reader *packet, uint64_t *delta)
{
	const uint8_t *at = packet->at, *end = packet->end;

	if (*at == PB_TAG(PACKET_TIMESTAMP, PB_VARINT)) {
		packet->at = pb_read_varint(at + 1, end, delta);
		return packet->at != NULL;
	}
	for (end--; end > at && end[-1] >= 0x80;)
		end--;
	if (end == at || *--end != PB_TAG(PACKET_TIMESTAMP, PB_VARINT) ||
		pb_read_varint(end + 1, packet->end, delta) != packet->end)
		return false;
	packet->end = end;
	return true;
}

/* m: has memos. False: not one that is known, nothing was done. */
static inline bool repeat(struct load_memo *m, struct build *b, struct pb_reader packet)
{
	uint64_t delta;

	if (pb_size(packet) < MIN_BYTES || !split(&packet, &delta) || pb_size(packet) < MIN_BYTES ||
		pb_size(packet) > MAX_BYTES)
		return false;
	const struct memo *memo = find_next(m, packet.at, (uint32_t)pb_size(packet));
	if (!memo || memo->version != memo->sequence->names_version)
		return false;
	if (!load_advance(memo->sequence, delta) ||
		!build_slice(memo->sequence->lane, &memo->slice))
		b->run->bad_packets++;
	return true;
}

bool load_memo_packet(struct load_memo *m, struct build *b, struct pb_reader packet)
{
	return m && m->memos.count && repeat(m, b, packet);
}

void load_memo_packets(struct load_memo *m, struct build *b, struct pb_reader *chunk)
{
	uint64_t size;

	if (!m || !m->memos.count)
		return;
	while (chunk->at != chunk->end && *chunk->at == PB_TAG(TRACE_PACKET, PB_LENGTH)) {
		const uint8_t *body = pb_read_varint(chunk->at + 1, chunk->end, &size);
		if (!body || size > (uint64_t)(chunk->end - body) || b->result ||
			!repeat(m, b, pb_reader(body, size)))
			break;
		chunk->at = body + size;
	}
}

static struct memo *add(struct load_memo *m, uint64_t hash, const uint8_t *bytes, uint32_t length)
{
	struct memo *memo = find(m, hash, bytes, length);

	if (memo || m->memos.count == MAX_MEMOS || hash_index_reserve(&m->index))
		return memo;
	memo = array_add(&m->memos);
	if (memo)
		hash_index_add(&m->index, hash, (uint32_t)m->memos.count - 1);
	return memo;
}

void load_memo_add(struct load_memo *m, struct load_sequence *s, struct pb_reader packet,
	struct pb_reader timestamp, const struct build_slice *slice)
{
	bool first = timestamp.at == packet.at;
	struct pb_reader rest = first ? (struct pb_reader){timestamp.end, packet.end}
				      : (struct pb_reader){packet.at, timestamp.at};
	size_t length = pb_size(rest);

	if (!m || (!first && timestamp.end != packet.end) || length < MIN_BYTES ||
		length > MAX_BYTES || *timestamp.at != PB_TAG(PACKET_TIMESTAMP, PB_VARINT))
		return;
	struct memo *memo = add(m, hash_of(rest.at, (uint32_t)length), rest.at, (uint32_t)length);
	if (!memo)
		return;
	memset(memo, 0, sizeof(*memo));
	memcpy(memo->bytes, rest.at, length);
	memo->length = (uint32_t)length;
	memo->version = s->names_version;
	memo->sequence = s;
	memo->slice = *slice;
	note(m, memo);
	m->next = m->end;
}

struct load_memo *load_memo_create(void)
{
	return calloc(1, sizeof(struct load_memo));
}

void load_memo_destroy(struct load_memo *m)
{
	if (!m)
		return;
	array_fini(&m->memos);
	hash_index_fini(&m->index);
	free(m);
}
