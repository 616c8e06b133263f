/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memo keeps a decoded packet, so that equal ones need no decoding: recordings repeat the same
 * slices at other times. Two packets mean the same if they differ in their timestamp only. A packet
 * can be remembered if its timestamp is its first or last field, and if it has nothing else than
 * sequence, flags and a slice. A memo is valid until the names of its sequence change.
 */
#include "trace/load_memo.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash_index.h"

enum {
	MAX_BYTES = 56,	     /* of a packet that is remembered, without its timestamp */
	MIN_BYTES = 6,	     /* equal() reads words of 8 bytes, and two bytes in front at most */
	MAX_MEMOS = 1 << 16, /* load_memo.log holds their indices in 16 bits */
};

struct memo {
	uint32_t length;	  /* of `bytes` in use */
	uint32_t version;	  /* sequence->names_version for which the memo is valid */
	uint8_t bytes[MAX_BYTES]; /* all but the timestamp field */
	struct load_sequence *sequence;
	struct build_slice slice;
	uint16_t after; /* place in the log, right after its last entry */
};

/*
 * The log says which memo followed which last time. Packets tend to come in the same order again,
 * so the memo at `next` is tried first.
 */
struct load_memo {
	ARRAY(struct memo) memos;
	struct hash_index index;
	uint16_t log[1 << 16]; /* indices of memos in order; a ring */
	uint16_t end;
	uint16_t next;	      /* place of the memo that is expected */
	uint16_t interrupted; /* `next` before another packet, such as a wait, came between */
};

static inline uint64_t load_memo_word_at(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The last eight bytes, which may overlap the word before them; shorter input is shifted down. */
static inline uint64_t last_word(const uint8_t *at, uint32_t length)
{
	uint64_t word = load_memo_word_at(at + length - 8);

	return length < 8 ? word >> 8 * (8 - length) : word;
}

/* length is at least MIN_BYTES. Up to two bytes in front of a and b may be read as well. */
static inline bool equal(const uint8_t *a, const uint8_t *b, uint32_t length)
{
	uint64_t differ = last_word(a, length) ^ last_word(b, length);

	for (uint32_t i = 0; i + 8 < length; i += 8)
		differ |= load_memo_word_at(a + i) ^ load_memo_word_at(b + i);
	return !differ;
}

static inline uint64_t load_memo_hash_of(const uint8_t *bytes, uint32_t length)
{
	uint64_t hash = last_word(bytes, length) + length;

	for (uint32_t i = 0; i + 8 < length; i += 8)
		hash = (hash ^ hash >> 29 ^ load_memo_word_at(bytes + i)) * HASH_GOLDEN;
	return hash;
}

/* The memo of equal bytes, or NULL. */
static inline struct memo *find_by_hash(
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

static inline bool log_holds(
	const struct load_memo *m, uint16_t place, const uint8_t *bytes, uint32_t length)
{
	const struct memo *memo = &m->memos.items[m->log[place]];

	return memo->length == length && equal(memo->bytes, bytes, length);
}

/* The packet is not the expected one: try the interrupted place, then the index. NULL: unknown. */
static __attribute__((noinline)) struct memo *find_elsewhere(
	struct load_memo *m, const uint8_t *bytes, uint32_t length)
{
	uint16_t interrupted = m->interrupted;

	m->interrupted = m->next;
	if (log_holds(m, interrupted, bytes, length)) {
		m->next = (uint16_t)(interrupted + 1);
		return &m->memos.items[m->log[interrupted]];
	}
	struct memo *memo = find_by_hash(m, load_memo_hash_of(bytes, length), bytes, length);
	if (memo)
		m->next = memo->after;
	return memo;
}

static inline void log_append(struct load_memo *m, struct memo *memo)
{
	m->log[m->end++] = (uint16_t)(memo - m->memos.items);
	memo->after = m->end;
}

/* The memo of equal bytes, or NULL. */
static inline const struct memo *load_memo_recall(
	struct load_memo *m, const uint8_t *bytes, uint32_t length)
{
	struct memo *memo = &m->memos.items[m->log[m->next]];

	if (memo->length == length && equal(memo->bytes, bytes, length))
		m->next++;
	else if (!(memo = find_elsewhere(m, bytes, length)))
		return NULL;
	log_append(m, memo);
	return memo;
}

/*
 * Takes the timestamp off a packet's start or end. Other bytes at the end may look like one. That
 * does no harm: the rest then ends inside of a field, and no memo does.
 */
static inline bool cut_timestamp(struct pb_reader *packet, uint64_t *delta)
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

/* m has memos. False: the packet is unknown, and nothing was done. */
static inline bool load_memo_repeat(struct load_memo *m, struct build *b, struct pb_reader packet)
{
	uint64_t delta;

	if (pb_size(packet) < MIN_BYTES || !cut_timestamp(&packet, &delta) ||
		pb_size(packet) < MIN_BYTES || pb_size(packet) > MAX_BYTES)
		return false;
	const struct memo *memo = load_memo_recall(m, packet.at, (uint32_t)pb_size(packet));
	if (!memo || memo->version != memo->sequence->names_version)
		return false;
	if (!load_advance(memo->sequence, delta) ||
		!build_slice(memo->sequence->lane, &memo->slice))
		b->run->bad_packets++;
	return true;
}

bool load_memo_packet(struct load_memo *m, struct build *b, struct pb_reader packet)
{
	return m && m->memos.count && load_memo_repeat(m, b, packet);
}

void load_memo_packets(struct load_memo *m, struct build *b, struct pb_reader *chunk)
{
	uint64_t size;

	if (!m || !m->memos.count)
		return;
	while (chunk->at != chunk->end && *chunk->at == PB_TAG(TRACE_PACKET, PB_LENGTH)) {
		const uint8_t *body = pb_read_varint(chunk->at + 1, chunk->end, &size);
		if (!body || size > (uint64_t)(chunk->end - body) || b->result ||
			!load_memo_repeat(m, b, pb_reader(body, size)))
			break;
		chunk->at = body + size;
	}
}

static struct memo *load_memo_add_bytes(
	struct load_memo *m, uint64_t hash, const uint8_t *bytes, uint32_t length)
{
	struct memo *memo = find_by_hash(m, hash, bytes, length);

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
	struct memo *memo = load_memo_add_bytes(
		m, load_memo_hash_of(rest.at, (uint32_t)length), rest.at, (uint32_t)length);
	if (!memo)
		return;
	memset(memo, 0, sizeof(*memo));
	memcpy(memo->bytes, rest.at, length);
	memo->length = (uint32_t)length;
	memo->version = s->names_version;
	memo->sequence = s;
	memo->slice = *slice;
	log_append(m, memo);
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
