/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One TracePacket: which sequence it is of, its time, and what it carries. Sequences that are no
 * lane's are followed only as far as Brick's own events go; packets of other tracers are skipped.
 */
#include <stdlib.h>
#include <string.h>
#include "trace/load_event.h"
#include "trace/load_memo.h"
#include "trace/load_own.h"

enum { MAX_SEQUENCES = 1 << 16 };

/* The parts of a packet that Brick uses; a part that is not there is empty. */
struct packet {
	uint64_t timestamp, sequence, flags, clock_id;
	int has_timestamp;
	uint32_t fields;
	struct pb_reader timestamp_field; /* with its tag */
	struct pb_reader event, interned, snapshot, track, defaults, extension;
};

static int parse(struct pb_reader message, struct packet *p)
{
	struct pb_field f;
	int more;

	memset(p, 0, sizeof *p);
	for (const uint8_t *at; at = message.at, (more = pb_next(&message, &f)) > 0;) {
		p->fields++;
		if (f.number == PACKET_TIMESTAMP && f.wire == PB_VARINT) {
			p->timestamp = f.value;
			p->has_timestamp = 1;
			p->timestamp_field = (struct pb_reader){at, message.at};
		} else if (f.number == PACKET_SEQUENCE_ID && f.wire == PB_VARINT) {
			p->sequence = f.value;
		} else if (f.number == PACKET_SEQUENCE_FLAGS && f.wire == PB_VARINT) {
			p->flags = f.value;
		} else if (f.number == PACKET_TRACK_EVENT && f.wire == PB_LENGTH) {
			p->event = f.in;
		} else if (f.number == PACKET_TIMESTAMP_CLOCK_ID && f.wire == PB_VARINT) {
			p->clock_id = f.value;
		} else if (f.wire == PB_LENGTH) {
			if (f.number == PACKET_INTERNED_DATA)
				p->interned = f.in;
			else if (f.number == PACKET_CLOCK_SNAPSHOT)
				p->snapshot = f.in;
			else if (f.number == PACKET_TRACK_DESCRIPTOR)
				p->track = f.in;
			else if (f.number == PACKET_DEFAULTS)
				p->defaults = f.in;
			else if (f.number == PACKET_EXTENSION_DESCRIPTOR)
				p->extension = f.in;
		}
	}
	return more == 0;
}

struct load_sequence *load_sequence(struct load *l, uint32_t id)
{
	if (l->last_sequence && l->last_sequence->id == id)
		return l->last_sequence;
	struct load_sequence *s = hashmap_pointer(hashmap_get(&l->sequences, id));
	if (!s && l->sequences.count < MAX_SEQUENCES) {
		s = calloc(1, sizeof *s);
		if (!s || hashmap_set_pointer(&l->sequences, id, s)) {
			free(s);
			return build_no_memory(&l->build), NULL;
		}
		s->id = id;
	}
	return l->last_sequence = s;
}

static void forget_names(struct load_sequence *s)
{
	hashmap_fini(&s->names);
	hashmap_fini(&s->categories);
	hashmap_fini(&s->values);
}

void load_packets_fini(struct load *l)
{
	load_memo_fini(l);
	for (struct hashmap_slot *i = NULL; (i = hashmap_next(&l->sequences, i));) {
		struct load_sequence *s = hashmap_pointer(i->value);
		forget_names(s);
		free(s);
	}
	hashmap_fini(&l->sequences);
}

static uint64_t field_value(struct pb_reader message, uint32_t number, uint64_t fallback)
{
	struct pb_field f;

	while (pb_next(&message, &f) > 0)
		if (f.number == number && f.wire == PB_VARINT)
			fallback = f.value;
	return fallback;
}

static struct pb_reader field_message(struct pb_reader message, uint32_t number)
{
	struct pb_field f;
	struct pb_reader found = {NULL, NULL};

	while (pb_next(&message, &f) > 0)
		if (f.number == number && f.wire == PB_LENGTH)
			found = f.in;
	return found;
}

/* The snapshot sets the sequence's clock, *now, which later timestamps are relative to. */
static int read_snapshot(struct load_sequence *s, uint64_t *now, struct pb_reader snapshot)
{
	struct pb_field f;
	int more;

	while ((more = pb_next(&snapshot, &f)) > 0) {
		if (f.number != SNAPSHOT_CLOCKS || f.wire != PB_LENGTH ||
			field_value(f.in, CLOCK_ID, 0) != CLOCK_ID_LANE)
			continue;
		uint64_t ns = field_value(f.in, CLOCK_TIMESTAMP, 0);
		if (s->has_clock && ns < *now)
			return 0;
		*now = ns;
		s->has_clock = 1;
	}
	return more == 0;
}

static int add_counter(struct load *l, uint64_t uuid, struct pb_reader name)
{
	uint32_t brick = build_brick(&l->build, (const char *)name.at, pb_size(name));

	if (brick == RUN_NONE || !build_grow(&l->build, &l->counters, &l->counter_capacity,
					 l->counter_count, sizeof *l->counters))
		return 0;
	l->counters[l->counter_count++] = (struct load_counter){uuid, brick};
	return 1;
}

/* A lane's own event tells of its last thread, the tracks of all. */
static int thread_name(const struct load_sequence *s, struct pb_reader thread)
{
	struct pb_field f;
	struct pb_reader name = {NULL, NULL};
	uint64_t tid = 0;
	int more;

	while ((more = pb_next(&thread, &f)) > 0) {
		if (f.number == THREAD_TID && f.wire == PB_VARINT)
			tid = f.value;
		else if (f.number == THREAD_NAME && f.wire == PB_LENGTH)
			name = f.in;
	}
	return !more &&
	       (!name.at || build_thread_name(s->lane, tid, (const char *)name.at, pb_size(name)));
}

static int read_track(struct load *l, const struct load_sequence *s, struct pb_reader track)
{
	struct pb_field f;
	int more, is_counter = 0;
	uint64_t uuid = 0;
	struct pb_reader name = {NULL, NULL};

	while ((more = pb_next(&track, &f)) > 0) {
		if (f.number == TRACK_UUID && f.wire == PB_VARINT)
			uuid = f.value;
		else if (f.number == TRACK_NAME && f.wire == PB_LENGTH)
			name = f.in;
		else if (f.number == TRACK_COUNTER && f.wire == PB_LENGTH)
			is_counter = 1;
		else if (f.number == TRACK_THREAD && f.wire == PB_LENGTH && s->lane &&
			 !thread_name(s, f.in))
			return 0;
	}
	if (more)
		return 0;
	return !is_counter || !name.at || !s->lane || add_counter(l, uuid, name);
}

static void start_sequence(struct load_sequence *s)
{
	forget_names(s);
	memset(s->annotations, 0, sizeof s->annotations);
	s->cleared = 1;
	s->names_version++;
}

static int lane_event(
	struct load *l, struct load_sequence *s, struct pb_reader message, const struct packet *p)
{
	struct build_slice slice;

	/* on another clock than its lane's are a step's counters: they say their time themselves */
	uint64_t delta = p->clock_id ? 0 : p->timestamp;

	if (!p->has_timestamp || !load_advance(s, delta))
		return 0;
	int result = load_lane_event(l, s, p->event, &slice);
	/* sequence, time and event, perhaps flags: nothing else that a repetition could lack */
	if (result == 2 && p->fields == (p->flags == SEQUENCE_NEEDS_STATE ? 4 : 3))
		load_memo_add(l, s, message, p->timestamp_field, &slice);
	return result;
}

static int lane_packet(
	struct load *l, struct load_sequence *s, struct pb_reader message, const struct packet *p)
{
	int good = 1;

	if (p->interned.at) {
		s->names_version++;
		good &= load_interned(l, s, p->interned);
	}
	if (p->snapshot.at)
		good &= read_snapshot(s, &s->lane->now, p->snapshot);
	if (p->track.at)
		good &= read_track(l, s, p->track);
	if (p->event.at)
		good &= lane_event(l, s, message, p) != 0;
	return good;
}

static int off_cpu_packet(struct load *l, struct load_sequence *s, const struct packet *p)
{
	int good = 1;

	if (p->interned.at)
		good &= load_interned(l, s, p->interned);
	if (p->snapshot.at)
		good &= read_snapshot(s, &s->off_cpu.now, p->snapshot);
	if (!p->event.at)
		return good;
	if (!p->has_timestamp || p->clock_id || !s->has_clock ||
		__builtin_add_overflow(s->off_cpu.now, p->timestamp, &s->off_cpu.now))
		return 0;
	return good & load_off_cpu_event(s, p->event);
}

/* Events of the run's own have absolute times, which nothing depends on. */
static int own_packet(struct load *l, const struct packet *p)
{
	int good = !p->extension.at || load_described(l, p->extension);

	return (!p->event.at || load_own_event(l, p->event)) && good;
}

void load_packet(struct load *l, struct pb_reader message)
{
	struct packet p;
	struct load_sequence *s;

	if (load_memo_packet(l, message))
		return;
	if (!parse(message, &p)) {
		l->build.run->bad_packets++;
		return;
	}
	if (!p.sequence || p.sequence > UINT32_MAX)
		return;
	s = load_sequence(l, (uint32_t)p.sequence);
	if (!s) {
		l->build.run->bad_packets++;
		return;
	}
	if (__builtin_expect(p.flags & SEQUENCE_STATE_CLEARED, 0))
		start_sequence(s);
	if (!s->cleared)
		return;
	if (p.defaults.at)
		s->track_uuid = field_value(field_message(p.defaults, DEFAULTS_TRACK_EVENT),
			EVENT_DEFAULTS_TRACK_UUID, s->track_uuid);
	int good = s->lane	     ? lane_packet(l, s, message, &p)
		   : s->off_cpu.lane ? off_cpu_packet(l, s, &p)
				     : own_packet(l, &p);
	l->build.run->bad_packets += !good;
}
