/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings repeat themselves: the same slices at other times. A packet that was decoded is
 * remembered; one that equals it but for its timestamp means the same. Only packets whose
 * timestamp is their first or last field, and that have nothing else than sequence, flags and a
 * slice, are remembered, and forgotten as soon as their sequence's names change.
 */
#include <stdlib.h>
#include <string.h>
#include "trace/load_state.h"

enum { MAX_BYTES = 56, MIN_BYTES = 8, MAX_MEMOS = 1 << 16, MIN_SLOTS = 256 };

struct memo {
	uint8_t bytes[MAX_BYTES]; /* all but the timestamp field */
	uint32_t length;
	uint32_t version; /* of the sequence's names */
	struct load_sequence *sequence;
	struct build_slice slice;
};

struct load_memo {
	struct memo *memos; /* from 1 */
	uint32_t count, room;
	uint32_t *slots;
	uint32_t capacity;
};

static inline uint64_t load64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof value);
	return value;
}

/* length: at least 8. The last word overlaps the one before it. */
static inline int equal(const uint8_t *a, const uint8_t *b, uint32_t length)
{
	uint64_t differ = load64(a + length - 8) ^ load64(b + length - 8);

	for (uint32_t i = 0; i + 8 < length; i += 8)
		differ |= load64(a + i) ^ load64(b + i);
	return !differ;
}

static inline uint32_t hash_of(const uint8_t *bytes, uint32_t length)
{
	uint64_t hash = load64(bytes + length - 8) + length;

	for (uint32_t i = 0; i + 8 < length; i += 8)
		hash = (hash ^ hash >> 29 ^ load64(bytes + i)) * 0x9e3779b97f4a7c15ull;
	return (uint32_t)(hash >> 32);
}

/* The slot of equal bytes, else the empty one where they belong. */
static inline uint32_t *slot_of(const struct load_memo *m, const uint8_t *bytes, uint32_t length)
{
	for (uint32_t at = hash_of(bytes, length);; at++) {
		uint32_t *slot = &m->slots[at & (m->capacity - 1)];
		const struct memo *memo = &m->memos[*slot];
		if (!*slot || (memo->length == length && equal(memo->bytes, bytes, length)))
			return slot;
	}
}

/*
 * Take the timestamp off a packet's start or end. What is at the end might be something else that
 * looks like one; but then the rest equals no packet that had its timestamp there.
 */
static inline int split(struct pb_reader *packet, uint64_t *delta)
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
		return 0;
	packet->end = end;
	return 1;
}

int load_memo_packet(struct load *l, struct pb_reader packet)
{
	const struct load_memo *m = l->memo;
	uint64_t delta;

	if (!m || !m->capacity || pb_size(packet) < MIN_BYTES)
		return 0;
	if (!split(&packet, &delta) || pb_size(packet) < MIN_BYTES || pb_size(packet) > MAX_BYTES)
		return 0;
	const struct memo *memo = &m->memos[*slot_of(m, packet.at, (uint32_t)pb_size(packet))];
	if (!memo->length || memo->version != memo->sequence->names_version)
		return 0;
	if (!load_advance(memo->sequence, delta) ||
		!build_slice(memo->sequence->lane, &memo->slice))
		l->build.run->bad_packets++;
	return 1;
}

static int grow_slots(struct load_memo *m)
{
	uint32_t *old = m->slots;
	uint32_t capacity = m->capacity ? m->capacity * 2 : MIN_SLOTS;

	if (m->count * 2 < m->capacity)
		return 1;
	uint32_t *slots = calloc(capacity, sizeof *slots);
	if (!slots)
		return 0;
	m->slots = slots;
	m->capacity = capacity;
	for (uint32_t i = 1; i < m->count; i++)
		*slot_of(m, m->memos[i].bytes, m->memos[i].length) = i;
	free(old);
	return 1;
}

/* Remembering is a help, not a need: without memory the load goes on without it. */
static struct load_memo *ready(struct load *l)
{
	struct load_memo *m = l->memo;

	if (!m)
		m = l->memo = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	if (m->count == m->room) {
		uint32_t room = m->room ? m->room * 2 : MIN_SLOTS / 2;
		struct memo *memos =
			room <= MAX_MEMOS ? realloc(m->memos, room * sizeof *memos) : NULL;
		if (!memos)
			return NULL;
		m->memos = memos;
		m->room = room;
		if (!m->count)
			memset(&memos[m->count++], 0, sizeof *memos);
	}
	return grow_slots(m) ? m : NULL;
}

void load_memo_add(struct load *l, struct load_sequence *s, struct pb_reader packet,
	struct pb_reader timestamp, const struct build_slice *slice)
{
	int first = timestamp.at == packet.at;
	struct pb_reader rest = first ? (struct pb_reader){timestamp.end, packet.end}
				      : (struct pb_reader){packet.at, timestamp.at};
	size_t length = pb_size(rest);
	struct load_memo *m;

	if ((!first && timestamp.end != packet.end) || length < MIN_BYTES || length > MAX_BYTES ||
		*timestamp.at != PB_TAG(PACKET_TIMESTAMP, PB_VARINT) || !(m = ready(l)))
		return;
	uint32_t *slot = slot_of(m, rest.at, (uint32_t)length);
	if (!*slot)
		*slot = m->count++;
	struct memo *memo = &m->memos[*slot];
	memset(memo, 0, sizeof *memo);
	memcpy(memo->bytes, rest.at, length);
	memo->length = (uint32_t)length;
	memo->version = s->names_version;
	memo->sequence = s;
	memo->slice = *slice;
}

void load_memo_fini(struct load *l)
{
	if (!l->memo)
		return;
	free(l->memo->memos);
	free(l->memo->slots);
	free(l->memo);
}
