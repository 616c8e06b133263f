/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks: a lane's sequence begins with its clock, its defaults and its track; it gets another
 * track with each thread that takes it over. Counters have theirs beside those of the process.
 */
#include <string.h>
#include "brick/abi/step_counters.h"
#include "lib/writer/writer_lane.h"

static const char *const annotation_names[] = {
#define FORMAT_X(identifier, name) name,
	FORMAT_ANNOTATIONS(FORMAT_X)
#undef FORMAT_X
};

static void lane_defaults(struct pb_buffer *b, const struct writer_lane *lane)
{
	size_t defaults = pb_open(b, PACKET_DEFAULTS);

	pb_varint(b, DEFAULTS_CLOCK_ID, CLOCK_ID_LANE);
	size_t event = pb_open(b, DEFAULTS_TRACK_EVENT);
	pb_varint(b, EVENT_DEFAULTS_TRACK_UUID, lane->uuid);
	pb_close(b, event);
	pb_close(b, defaults);
}

static void lane_first_packet(const struct writer_lane *lane, uint64_t ns)
{
	struct pb_buffer *b = &lane->packets->scratch;
	size_t packet = pb_open(b, TRACE_PACKET);

	pb_varint(b, PACKET_SEQUENCE_ID, lane->sequence);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
	lane_defaults(b, lane);
	size_t interned = pb_open(b, PACKET_INTERNED_DATA);
	for (uint32_t i = 0; i < sizeof annotation_names / sizeof *annotation_names; i++)
		writer_intern(b, INTERNED_ANNOTATION_NAMES, i + 1u, annotation_names[i],
			strlen(annotation_names[i]));
	pb_close(b, interned);
	writer_clock_snapshot(lane->writer, ns, 1);
	pb_close(b, packet);
}

static void describe_thread(struct pb_buffer *b, const struct writer_lane *lane)
{
	char name[3 * sizeof lane->name];
	size_t size = tables_text(name, sizeof name, lane->name, sizeof lane->name);
	size_t thread = pb_open(b, TRACK_THREAD);

	pb_varint(b, THREAD_PID, lane->process->pid);
	pb_varint(b, THREAD_TID, lane->track_tid);
	if (size)
		pb_string(b, THREAD_NAME, name, size);
	pb_close(b, thread);
}

static size_t queue_name(char *name, size_t capacity, const struct writer_lane *lane)
{
	size_t size = 0;

	if (lane->backend[0]) {
		size = tables_text(name, capacity, lane->backend, sizeof lane->backend);
		size += tables_text(name + size, capacity - size, ": ", 2);
	}
	return size + tables_text(name + size, capacity - size, lane->name, sizeof lane->name);
}

/* Two queues may have one name, and stay two. */
static void describe_queue(struct pb_buffer *b, const struct writer_lane *lane)
{
	char name[3 * (sizeof lane->name + sizeof lane->backend)];

	pb_string(b, TRACK_NAME, name, queue_name(name, sizeof name, lane));
	pb_varint(b, TRACK_SIBLING_MERGE, SIBLING_MERGE_NONE);
}

/* The queue as views of GPUs know it: the stages of what runs on it refer to that. */
static void intern_queue(struct pb_buffer *b, const struct writer_lane *lane)
{
	char name[3 * (sizeof lane->name + sizeof lane->backend)];
	size_t interned = pb_open(b, PACKET_INTERNED_DATA);

	writer_intern(b, INTERNED_GPU_NAMES, FORMAT_QUEUE_IID + lane->sequence, name,
		queue_name(name, sizeof name, lane));
	pb_close(b, interned);
}

/* The lane's track, and that what follows is on it. */
static void lane_track(const struct writer_lane *lane)
{
	struct pb_buffer *b = &lane->packets->scratch;
	size_t packet = pb_open(b, TRACE_PACKET);

	pb_varint(b, PACKET_SEQUENCE_ID, lane->sequence);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	lane_defaults(b, lane);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, lane->uuid);
	pb_varint(b, TRACK_PARENT_UUID, lane->process->uuid);
	if (lane->kind == BRICK_LANE_THREAD)
		describe_thread(b, lane);
	else
		describe_queue(b, lane);
	pb_close(b, track);
	if (lane->kind == BRICK_LANE_QUEUE)
		intern_queue(b, lane);
	pb_close(b, packet);
}

int writer_lane_start(struct writer_lane *lane, uint64_t ns)
{
	lane->packets->scratch.size = 0;
	lane_first_packet(lane, ns);
	lane_track(lane);
	lane->started = 1;
	lane->last_ns = ns;
	return packets_add(lane->packets);
}

uint64_t writer_owner_uuid(const struct writer_lane *lane, uint64_t kind, size_t owner)
{
	return writer_uuid(lane->writer, kind, lane->number + ((uint64_t)owner << 32));
}

int writer_lane_owner(struct writer_lane *lane, uint64_t tid)
{
	if (array_push(&lane->former, lane->track_tid))
		return packets_fail(lane->packets, -ENOMEM);
	lane->track_tid = tid;
	lane->name[0] = 0;
	lane->uuid = writer_owner_uuid(lane, UUID_LANE, lane->former.count);
	lane->packets->scratch.size = 0;
	lane_track(lane);
	return packets_add(lane->packets);
}

int writer_lane_name(struct writer_lane *lane, const char *name)
{
	if (!strncmp(lane->name, name, sizeof lane->name))
		return lane->packets->error;
	memcpy(lane->name, name, sizeof lane->name);
	lane->packets->scratch.size = 0;
	lane_track(lane);
	return packets_add(lane->packets);
}

struct known_counter {
	const char *name;
	uint32_t unit;
};

#define FORMAT_X(name, unit) {name, unit},
static const struct known_counter step_counters[] = {FORMAT_STEP_COUNTERS(FORMAT_X){0}};
static const struct known_counter token_counters[] = {FORMAT_TOKEN_COUNTERS(FORMAT_X){0}};
#undef FORMAT_X

/* 0: it is none of the list, which ends with one without a name. */
static uint32_t unit_of(
	const struct known_counter *list, const struct writer_process *process, uint32_t brick)
{
	const struct brick_session_brick *entry = &process->tables.bricks[brick];

	while (list->name && strncmp(entry->name, list->name, sizeof entry->name))
		list++;
	return list->unit;
}

uint32_t writer_step_counter(const struct writer_process *process, uint32_t brick)
{
	return unit_of(step_counters, process, brick);
}

/* A counter is one track per process and brick. */
int writer_counter_track(struct writer_lane *lane, uint32_t brick)
{
	struct writer_process *process = lane->process;
	struct pb_buffer *b = &lane->packets->scratch;
	char name[3 * sizeof process->tables.bricks->name];
	uint32_t step = writer_step_counter(process, brick);
	uint32_t unit = step ? step : unit_of(token_counters, process, brick);

	if (process->counter_uuids[brick])
		return lane->packets->error;
	process->counter_uuids[brick] = writer_uuid(lane->writer, UUID_COUNTER,
		(uint64_t)lane->process_number * BRICK_MAX_BRICKS + brick);
	size_t size = tables_text(name, sizeof name, process->tables.bricks[brick].name,
		sizeof process->tables.bricks->name);
	b->size = 0;
	size_t packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_SEQUENCE_ID, lane->sequence);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, process->counter_uuids[brick]);
	pb_varint(b, TRACK_PARENT_UUID, process->uuid);
	pb_string(b, TRACK_NAME, name, size);
	size_t described = pb_open(b, TRACK_COUNTER);
	if (unit)
		pb_varint(b, COUNTER_UNIT, unit);
	pb_close(b, described);
	pb_close(b, track);
	pb_close(b, packet);
	return packets_add(lane->packets);
}
