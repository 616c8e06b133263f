/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a lane's threads were off their CPUs: slices on tracks of their own, one below each
 * thread's, with a sequence of its own, because the kernel tells of them later than the lane's
 * records come. No slice overlaps another: two threads that owned the lane one after the other may.
 */
#include <string.h>
#include "lib/writer/writer_slice.h"

static uint32_t sequence_of(const struct writer_lane *lane)
{
	return FORMAT_OFF_CPU_SEQUENCE + lane->number;
}

static void name_entry(struct pb_buffer *b, uint32_t field, uint64_t iid, const char *text)
{
	size_t entry = pb_open(b, field);

	pb_varint(b, ENTRY_IID, iid);
	pb_string(b, ENTRY_TEXT, text, strlen(text));
	pb_close(b, entry);
}

static void defaults(struct pb_buffer *b, uint64_t uuid)
{
	size_t defaults = pb_open(b, PACKET_DEFAULTS);

	pb_varint(b, DEFAULTS_CLOCK_ID, CLOCK_ID_LANE);
	size_t event = pb_open(b, DEFAULTS_TRACK_EVENT);
	pb_varint(b, EVENT_DEFAULTS_TRACK_UUID, uuid);
	pb_close(b, event);
	pb_close(b, defaults);
}

/* One that says what those behind it are of. */
static size_t open_packet(const struct writer_lane *lane, uint64_t flags, uint64_t uuid)
{
	struct pb_buffer *b = &lane->packets->scratch;
	size_t packet = pb_open(b, TRACE_PACKET);

	pb_varint(b, PACKET_SEQUENCE_ID, sequence_of(lane));
	pb_varint(b, PACKET_SEQUENCE_FLAGS, flags);
	defaults(b, uuid);
	return packet;
}

static void first_packet(const struct writer_lane *lane, uint64_t uuid)
{
	struct pb_buffer *b = &lane->packets->scratch;
	size_t packet = open_packet(lane, SEQUENCE_STATE_CLEARED, uuid);
	size_t interned = pb_open(b, PACKET_INTERNED_DATA);
	name_entry(b, INTERNED_CATEGORIES, FORMAT_OWN_CATEGORY_IID, FORMAT_CATEGORY);
	name_entry(b, INTERNED_EVENT_NAMES, FORMAT_N_BLOCKED, FORMAT_BLOCKED);
	name_entry(b, INTERNED_EVENT_NAMES, FORMAT_N_PREEMPTED, FORMAT_PREEMPTED);
	pb_close(b, interned);
	writer_clock_snapshot(lane->writer, lane->off_cpu_ns, 1);
	pb_close(b, packet);
}

static void track(const struct writer_lane *lane, uint64_t uuid)
{
	struct pb_buffer *b = &lane->packets->scratch;
	size_t packet = open_packet(lane, SEQUENCE_NEEDS_STATE, uuid);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, uuid);
	pb_varint(b, TRACK_PARENT_UUID, writer_owner_uuid(lane, UUID_LANE, lane->off_cpu_owner));
	pb_string(b, TRACK_NAME, FORMAT_OFF_CPU, strlen(FORMAT_OFF_CPU));
	pb_varint(b, TRACK_SIBLING_MERGE, SIBLING_MERGE_NONE);
	pb_close(b, track);
	pb_close(b, packet);
}

/* The thread's place among those that had the lane; who had it before it had a track: the first. */
static size_t owner_of(const struct writer_lane *lane, uint64_t tid)
{
	size_t owner = lane->former.count;

	if (tid == lane->track_tid)
		return owner;
	while (owner && lane->former.items[--owner] != tid)
		;
	return owner;
}

/* What follows is the thread's. */
static int start(struct writer_lane *lane, uint64_t ns, uint64_t tid)
{
	size_t owner = owner_of(lane, tid);
	uint64_t uuid = writer_owner_uuid(lane, UUID_OFF_CPU, owner);
	int is_first = !lane->off_cpu_ns;

	if (!is_first && owner == lane->off_cpu_owner)
		return 0;
	lane->off_cpu_owner = owner;
	lane->packets->scratch.size = 0;
	if (is_first) {
		lane->off_cpu_ns = ns;
		first_packet(lane, uuid);
	}
	track(lane, uuid);
	return packets_add(lane->packets);
}

/* One end of a slice; `fields` of its event. */
static void edge(struct writer_lane *lane, const uint8_t *fields, unsigned bytes, uint64_t ns,
	packet_place *last)
{
	if (lane->packets->chunk_size > CHUNK_BYTES && packets_send(lane->packets))
		return;
	uint8_t *at = packets_end(lane->packets);
	unsigned head = slice_open(at, lane->packets, ns - lane->off_cpu_ns, GAP_BYTES);
	unsigned n = head + slice_common(at + head, sequence_of(lane));
	at[n++] = (uint8_t)bytes;
	memcpy(at + n, fields, bytes);
	lane->off_cpu_ns = ns;
	packet_laid_again(lane->packets, head, n + bytes - head, last);
}

static void interval(struct writer_lane *lane, const struct sink_off_cpu *o)
{
	uint64_t begin_ns = o->begin_ns > lane->off_cpu_ns ? o->begin_ns : lane->off_cpu_ns;
	uint8_t fields[24];

	if (begin_ns >= o->end_ns || start(lane, begin_ns, o->tid))
		return;
	unsigned n = slice_field(fields, EVENT_TYPE, EVENT_BEGIN);
	n += slice_field(fields + n, EVENT_CATEGORY_IIDS, FORMAT_OWN_CATEGORY_IID);
	n += slice_field(
		fields + n, EVENT_NAME_IID, o->preempted ? FORMAT_N_PREEMPTED : FORMAT_N_BLOCKED);
	edge(lane, fields, n, begin_ns, &lane->off_cpu_begin[o->preempted != 0]);
	n = slice_field(fields, EVENT_TYPE, EVENT_END);
	edge(lane, fields, n, o->end_ns, &lane->off_cpu_end);
}

int lane_off_cpu(struct writer_lane *lane, const struct sink_off_cpu *intervals, size_t count)
{
	for (size_t i = 0; i < count && !lane->packets->error; i++)
		interval(lane, &intervals[i]);
	return lane->packets->error;
}
