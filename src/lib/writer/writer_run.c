/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the run says of itself on its own sequence: who recorded what where, the clock, sources,
 * notes. Later events replace earlier ones.
 */
#include <string.h>
#include <sys/utsname.h>
#include "brick/version.h"
#include "lib/writer/writer_state.h"

/* An argv as a list. */
static void event_command(struct trace_writer *w, const char *const *command)
{
	size_t list = event_array(w, "command");

	for (; command && *command; command++)
		event_text(w, NULL, *command, strlen(*command));
	event_end_nested(w, list);
}

static size_t own_packet(struct pb_buffer *b)
{
	size_t packet = pb_open(b, TRACE_PACKET);

	pb_varint(b, PACKET_SEQUENCE_ID, FORMAT_OWN_SEQUENCE);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	return packet;
}

/* What tells this recording from all others, and the machine that it was made on. */
static void run_identity(struct trace_writer *w)
{
	struct pb_buffer *b = &w->packets.scratch;
	struct utsname machine;
	size_t packet = own_packet(b), uuid = pb_open(b, PACKET_TRACE_UUID);

	pb_varint(b, TRACE_UUID_MSB, writer_uuid(w, UUID_TRACE, 0));
	pb_varint(b, TRACE_UUID_LSB, writer_uuid(w, UUID_TRACE, 1));
	pb_close(b, uuid);
	pb_close(b, packet);
	if (uname(&machine))
		return;
	packet = own_packet(b);
	size_t info = pb_open(b, PACKET_SYSTEM_INFO), name = pb_open(b, SYSTEM_INFO_UTSNAME);
	pb_string(b, UTSNAME_SYSTEM, machine.sysname, strlen(machine.sysname));
	pb_string(b, UTSNAME_VERSION, machine.version, strlen(machine.version));
	pb_string(b, UTSNAME_RELEASE, machine.release, strlen(machine.release));
	pb_string(b, UTSNAME_MACHINE, machine.machine, strlen(machine.machine));
	pb_close(b, name);
	pb_close(b, info);
	pb_close(b, packet);
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
	struct pb_buffer *b = &w->packets.scratch;
	size_t snapshot = pb_open(b, PACKET_CLOCK_SNAPSHOT);

	if (lane_clock)
		clock_entry(b, CLOCK_ID_LANE, ns, 1);
	clock_entry(b, CLOCK_ID_MONOTONIC, ns, 0);
	clock_entry(b, CLOCK_ID_BOOTTIME, ns + (uint64_t)w->boot_offset_ns, 0);
	clock_entry(b, CLOCK_ID_REALTIME, ns + (uint64_t)w->unix_offset_ns, 0);
	pb_close(b, snapshot);
}

static void run_track(struct trace_writer *w)
{
	struct pb_buffer *b = &w->packets.scratch;
	size_t packet = pb_open(b, TRACE_PACKET);

	pb_varint(b, PACKET_SEQUENCE_ID, FORMAT_OWN_SEQUENCE);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_STATE_CLEARED);
	size_t defaults = pb_open(b, PACKET_DEFAULTS);
	pb_varint(b, DEFAULTS_CLOCK_ID, CLOCK_ID_MONOTONIC);
	size_t event = pb_open(b, DEFAULTS_TRACK_EVENT);
	pb_varint(b, EVENT_DEFAULTS_TRACK_UUID, writer_uuid(w, UUID_RUN, 0));
	pb_close(b, event);
	pb_close(b, defaults);
	writer_clock_snapshot(w, w->start_ns, 0);
	pb_close(b, packet);

	packet = own_packet(b);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, writer_uuid(w, UUID_RUN, 0));
	pb_string(b, TRACK_NAME, FORMAT_CATEGORY, strlen(FORMAT_CATEGORY));
	pb_close(b, track);
	pb_close(b, packet);
}

/* The file's first packets; they go out uncompressed, so that the file says early what it is. */
int writer_run(struct trace_writer *w, const struct trace_writer_options *options)
{
	struct deflater *deflater = w->packets.deflater;

	w->packets.deflater = NULL;
	w->packets.scratch.size = 0;
	run_track(w);
	run_identity(w);
	packets_add(&w->packets);
	event_open(w, FORMAT_RUN, w->start_ns);
	event_uint(w, "format", FORMAT_VERSION);
	event_text(w, "version", BRICK_VERSION, sizeof BRICK_VERSION);
	event_uint(w, "start_unix_ns", options->start_unix_ns);
	event_uint(w, "start_ns", options->start_ns);
	if (options->host)
		event_text(w, "host", options->host, strlen(options->host));
	if (options->cpu)
		event_text(w, "cpu", options->cpu, strlen(options->cpu));
	event_command(w, options->command);
	event_close(w);
	packets_send(&w->packets);
	w->packets.deflater = deflater;
	if (deflater)
		deflate_start(deflater, w->packets.chunk);
	return w->packets.error;
}

int writer_clock(struct trace_writer *w)
{
	struct pb_buffer *b = &w->packets.scratch;

	b->size = 0;
	size_t packet = own_packet(b);
	writer_clock_snapshot(w, w->last_ns, 0);
	pb_close(b, packet);
	packets_add(&w->packets);
	event_open(w, FORMAT_CLOCK, w->last_ns);
	event_clock(w, &w->clock);
	return event_close(w);
}

int writer_sink_code(struct sink *sink, const struct sink_code *code)
{
	struct trace_writer *w = writer_of(sink);

	event_open(w, FORMAT_CODE, w->last_ns);
	event_uint(w, "hash", code->hash);
	if (code->name_bytes)
		event_text(w, "name", code->name, code->name_bytes);
	if (code->path_bytes)
		event_text(w, "path", code->path, code->path_bytes);
	if (code->cut)
		event_uint(w, "cut", 1);
	event_text(w, "source", code->source, code->source_bytes);
	return event_close(w);
}

int writer_sink_notes(struct sink *sink, int number, const char *notes, size_t bytes)
{
	struct trace_writer *w = writer_of(sink);

	event_open(w, FORMAT_NOTES, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_text(w, "text", notes, bytes);
	return event_close(w);
}

int writer_end(struct trace_writer *w)
{
	uint64_t pairs, open_frames;

	if (w->packets.error)
		return w->packets.error;
	writer_totals(w, &pairs, &open_frames);
	event_open(w, FORMAT_END, w->last_ns);
	event_uint(w, "pairs", pairs);
	event_uint(w, "open_frames", open_frames);
	event_uint(w, "bad_records", w->bad_records);
	return event_close(w);
}
