/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a lane's sequence must have said before a packet may refer to it: its own first packet
 * (state cleared, defaults, clock, track), and the names of bricks, categories, sites and sources.
 * Each is said once per lane, when first used.
 */
#include <stdio.h>
#include <string.h>
#include "trace/writer_state.h"

enum { ONE = 1 };

static const char *const annotation_names[] = {
#define FORMAT_X(identifier, name) name,
	FORMAT_ANNOTATIONS(FORMAT_X)
#undef FORMAT_X
};

static void intern(struct pb_buffer *b, uint32_t field, uint64_t iid, const char *text, size_t size)
{
	size_t entry = pb_open(b, field);

	pb_varint(b, ENTRY_IID, iid);
	pb_string(b, ENTRY_TEXT, text, size);
	pb_close(b, entry);
}

static void clock_entry(struct pb_buffer *b, uint32_t id, uint64_t ns, int incremental)
{
	size_t entry = pb_open(b, SNAPSHOT_CLOCKS);

	pb_varint(b, CLOCK_ID, id);
	pb_varint(b, CLOCK_TIMESTAMP, ns);
	if (incremental) {
		pb_varint(b, CLOCK_IS_INCREMENTAL, 1);
		pb_varint(b, CLOCK_UNIT_NS, 1);
	}
	pb_close(b, entry);
}

void writer_clock_snapshot(struct trace_writer *w, uint64_t ns, int lane_clock)
{
	struct pb_buffer *b = &w->scratch;
	size_t snapshot = pb_open(b, PACKET_CLOCK_SNAPSHOT);

	if (lane_clock)
		clock_entry(b, CLOCK_ID_LANE, ns, 1);
	clock_entry(b, CLOCK_ID_MONOTONIC, ns, 0);
	clock_entry(b, CLOCK_ID_BOOTTIME, ns + (uint64_t)w->boot_offset_ns, 0);
	clock_entry(b, CLOCK_ID_REALTIME, ns + (uint64_t)w->unix_offset_ns, 0);
	pb_close(b, snapshot);
}

static void lane_first_packet(struct trace_writer *w, const struct writer_lane *lane, uint64_t ns)
{
	struct pb_buffer *b = &w->scratch;
	size_t packet = pb_open(b, TRACE_PACKET);

	pb_varint(b, PACKET_SEQUENCE_ID, lane->sequence);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
	size_t defaults = pb_open(b, PACKET_DEFAULTS);
	pb_varint(b, DEFAULTS_CLOCK_ID, CLOCK_ID_LANE);
	size_t event = pb_open(b, DEFAULTS_TRACK_EVENT);
	pb_varint(b, EVENT_DEFAULTS_TRACK_UUID, lane->uuid);
	pb_close(b, event);
	pb_close(b, defaults);
	size_t interned = pb_open(b, PACKET_INTERNED_DATA);
	for (uint32_t i = 0; i < sizeof annotation_names / sizeof *annotation_names; i++)
		intern(b, INTERNED_ANNOTATION_NAMES, i + ONE, annotation_names[i],
			strlen(annotation_names[i]));
	pb_close(b, interned);
	writer_clock_snapshot(w, ns, 1);
	pb_close(b, packet);
}

static void lane_track(struct trace_writer *w, const struct writer_lane *lane)
{
	struct pb_buffer *b = &w->scratch;
	char name[sizeof lane->name + sizeof lane->backend + 8];
	size_t size = 0;
	if (lane->kind != BRICK_LANE_THREAD && lane->backend[0]) {
		size = tables_text(name, sizeof name, lane->backend, sizeof lane->backend);
		size += tables_text(name + size, sizeof name - size, ": ", 2);
	}
	size += tables_text(name + size, sizeof name - size, lane->name, sizeof lane->name);
	size_t packet = pb_open(b, TRACE_PACKET);

	pb_varint(b, PACKET_SEQUENCE_ID, lane->sequence);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, lane->uuid);
	pb_varint(b, TRACK_PARENT_UUID, lane->process->uuid);
	if (lane->kind != BRICK_LANE_THREAD) {
		pb_string(b, TRACK_NAME, name, size);
	} else {
		size_t thread = pb_open(b, TRACK_THREAD);
		pb_varint(b, THREAD_PID, lane->process->pid);
		pb_varint(b, THREAD_TID, lane->tid);
		if (size)
			pb_string(b, THREAD_NAME, name, size);
		pb_close(b, thread);
	}
	pb_close(b, track);
	pb_close(b, packet);
}

int writer_lane_start(struct trace_writer *w, struct writer_lane *lane, uint64_t ns)
{
	w->scratch.size = 0;
	lane_first_packet(w, lane, ns);
	lane_track(w, lane);
	lane->started = 1;
	lane->last_ns = ns;
	return writer_packet_out(w);
}

/* A packet that only adds names; between the calls come intern()s. */
struct names {
	size_t packet, interned;
};

static struct names names_open(struct trace_writer *w, const struct writer_lane *lane)
{
	struct pb_buffer *b = &w->scratch;
	struct names names;

	b->size = 0;
	names.packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_SEQUENCE_ID, lane->sequence);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	names.interned = pb_open(b, PACKET_INTERNED_DATA);
	return names;
}

static int names_close(struct trace_writer *w, struct names names)
{
	pb_close(&w->scratch, names.interned);
	pb_close(&w->scratch, names.packet);
	return writer_packet_out(w);
}

static void intern_category(struct trace_writer *w, struct writer_lane *lane, uint32_t category)
{
	const struct writer_process *process = lane->process;
	char text[3 * sizeof process->tables.categories->name];

	if (category >= process->tables.category_count || lane->interned_categories >> category & 1)
		return;
	lane->interned_categories |= 1ull << category;
	size_t size = tables_text(text, sizeof text, process->tables.categories[category].name,
		sizeof process->tables.categories->name);
	intern(&w->scratch, INTERNED_CATEGORIES, category + ONE, text, size);
}

/* The brick's name, and its category's. */
int writer_intern_brick(struct trace_writer *w, struct writer_lane *lane, uint32_t brick)
{
	const struct brick_session_brick *entry = &lane->process->tables.bricks[brick];
	char text[3 * sizeof entry->name];

	if (lane->interned_bricks[brick / 64] >> (brick % 64) & 1)
		return w->error;
	lane->interned_bricks[brick / 64] |= 1ull << (brick % 64);
	struct names names = names_open(w, lane);
	size_t size = tables_text(text, sizeof text, entry->name, sizeof entry->name);
	intern(&w->scratch, INTERNED_EVENT_NAMES, brick + ONE, text, size);
	intern_category(w, lane, entry->category);
	return names_close(w, names);
}

/* Once per site: the caller's template says whether it has been done. */
int writer_intern_site(struct trace_writer *w, struct writer_lane *lane, uint32_t site)
{
	char text[1024];
	size_t size = writer_site_json(text, sizeof text, &lane->process->tables.sites[site]);
	struct names names = names_open(w, lane);

	intern(&w->scratch, INTERNED_STRING_VALUES, site, text, size);
	return names_close(w, names);
}

int writer_intern_source(struct trace_writer *w, struct writer_lane *lane, uint32_t source)
{
	static const char *const sources[FORMAT_SOURCE_COUNT] = FORMAT_SOURCES;

	if (lane->interned_sources >> source & 1)
		return w->error;
	lane->interned_sources |= 1u << source;
	struct names names = names_open(w, lane);
	intern(&w->scratch, INTERNED_STRING_VALUES, FORMAT_SOURCE_IID + source, sources[source],
		strlen(sources[source]));
	return names_close(w, names);
}

/* The brick's name as a value, and its category's, for slices that a kernel names. */
int writer_intern_brick_value(struct trace_writer *w, struct writer_lane *lane, uint32_t brick)
{
	const struct brick_session_brick *entry = &lane->process->tables.bricks[brick];
	char text[3 * sizeof entry->name];

	if (lane->interned_values[brick / 64] >> (brick % 64) & 1)
		return w->error;
	lane->interned_values[brick / 64] |= 1ull << (brick % 64);
	struct names names = names_open(w, lane);
	size_t size = tables_text(text, sizeof text, entry->name, sizeof entry->name);
	intern_category(w, lane, entry->category);
	intern(&w->scratch, INTERNED_STRING_VALUES, FORMAT_BRICK_IID + brick, text, size);
	return names_close(w, names);
}

/* What was launched, and its name as that of slices. */
int writer_intern_kernel(struct trace_writer *w, struct writer_lane *lane, uint32_t kernel)
{
	const struct brick_session_kernel *entry = &lane->process->tables.kernels[kernel];
	char text[2048];

	if (lane->interned_kernels[kernel / 64] >> (kernel % 64) & 1)
		return w->error;
	lane->interned_kernels[kernel / 64] |= 1ull << (kernel % 64);
	struct names names = names_open(w, lane);
	size_t size = tables_text(text, sizeof text, entry->name, sizeof entry->name);
	intern(&w->scratch, INTERNED_EVENT_NAMES, FORMAT_N_KERNEL + kernel, text, size);
	size = writer_kernel_json(text, sizeof text, entry);
	intern(&w->scratch, INTERNED_STRING_VALUES, FORMAT_KERNEL_IID + kernel, text, size);
	return names_close(w, names);
}

/* One of Brick's own instants: enum format_event_name. */
int writer_intern_event(struct trace_writer *w, struct writer_lane *lane, uint32_t name)
{
	static const char *const texts[] = {FORMAT_DROPPED, FORMAT_THREAD, FORMAT_WORK};
	uint32_t index = name - FORMAT_N_DROPPED;

	if (lane->interned_events >> index & 1)
		return w->error;
	lane->interned_events |= 1u << index;
	struct names names = names_open(w, lane);
	intern(&w->scratch, INTERNED_EVENT_NAMES, name, texts[index], strlen(texts[index]));
	if (lane->interned_events == 1u << index)
		intern(&w->scratch, INTERNED_CATEGORIES, FORMAT_OWN_CATEGORY_IID, FORMAT_CATEGORY,
			strlen(FORMAT_CATEGORY));
	return names_close(w, names);
}

/* A counter is one track per process and brick. */
int writer_counter_track(struct trace_writer *w, struct writer_lane *lane, uint32_t brick)
{
	struct writer_process *process = lane->process;
	struct pb_buffer *b = &w->scratch;
	char name[3 * sizeof process->tables.bricks->name];

	if (process->counter_uuids[brick])
		return w->error;
	process->counter_uuids[brick] = writer_uuid(
		w, UUID_COUNTER, (uint64_t)lane->process_number * BRICK_MAX_BRICKS + brick);
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
	pb_close(b, pb_open(b, TRACK_COUNTER));
	pb_close(b, track);
	pb_close(b, packet);
	return writer_packet_out(w);
}
