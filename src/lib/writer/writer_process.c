/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes and lanes on the run's own sequence: who they are, and their end. Later events replace
 * earlier ones of the same process. Values in ticks stay in ticks: the reader has the clocks.
 */
#include <string.h>
#include "lib/writer/writer_state.h"

void event_clock(struct trace_writer *w, const struct brick_clock *clock)
{
	size_t dict = event_dict(w, "clock");

#define FORMAT_X(field) event_uint(w, #field, clock->field);
	FORMAT_CLOCK_FIELDS(FORMAT_X)
#undef FORMAT_X
	event_end_nested(w, dict);
}

/* How many bytes of the command there are from a place in it on. */
static size_t left(const struct brick_session_header *header, const char *argument)
{
	size_t bytes = header->command_bytes, at = (size_t)(argument - header->command);

	return (bytes < sizeof header->command ? bytes : sizeof header->command) - at;
}

/* The arguments in header->command, each ended by its NUL; NULL: there are no more. */
static const char *next_argument(const struct brick_session_header *header, size_t *at)
{
	const char *argument = header->command + *at;
	size_t bytes = left(header, header->command);

	if (*at >= bytes)
		return NULL;
	*at += strnlen(argument, bytes - *at) + 1;
	return argument;
}

static void process_track(struct trace_writer *w, const struct writer_process *process,
	const struct brick_session_header *header)
{
	struct pb_buffer *b = &w->packets.scratch;
	char name[3 * sizeof header->executable];
	size_t size = tables_text(name, sizeof name, header->executable, sizeof header->executable);
	const char *base = memrchr(name, '/', size);

	base = base ? base + 1 : name;
	b->size = 0;
	size_t packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_SEQUENCE_ID, FORMAT_OWN_SEQUENCE);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, process->uuid);
	size_t described = pb_open(b, TRACK_PROCESS);
	pb_varint(b, PROCESS_PID, process->pid);
	pb_string(b, PROCESS_NAME, base, strlen(base));
	pb_varint(b, PROCESS_START_NS, header->start_ns + (uint64_t)w->boot_offset_ns);
	pb_close(b, described);
	pb_close(b, track);
	pb_close(b, packet);
}

/* Command lines are looked for here, not at the tracks. */
static void process_tree(struct trace_writer *w, const struct brick_session_header *header)
{
	struct pb_buffer *b = &w->packets.scratch;
	const char *argument;

	b->size = 0;
	size_t packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_TIMESTAMP, w->last_ns);
	pb_varint(b, PACKET_SEQUENCE_ID, FORMAT_OWN_SEQUENCE);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	size_t tree = pb_open(b, PACKET_PROCESS_TREE), entry = pb_open(b, PROCESS_TREE_PROCESSES);
	pb_varint(b, TREE_PROCESS_PID, header->pid);
	pb_varint(b, TREE_PROCESS_PARENT, header->parent);
	for (size_t at = 0; (argument = next_argument(header, &at));)
		writer_text(b, TREE_PROCESS_COMMAND, argument, left(header, argument));
	pb_close(b, entry);
	pb_close(b, tree);
	pb_close(b, packet);
}

void event_ledger(struct trace_writer *w, const struct brick_ledger *ledger)
{
	size_t dict = event_dict(w, "ledger");

#define FORMAT_X(field) event_uint(w, #field, ledger->field);
	FORMAT_LEDGER_FIELDS(FORMAT_X)
#undef FORMAT_X
	event_end_nested(w, dict);
}

static int process_event(
	struct trace_writer *w, int number, const struct brick_session_header *header)
{
	const struct writer_process *process = w->processes[number];
	const char *argument;
	size_t list;

	event_open(w, FORMAT_PROCESS, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_uint(w, "flow_base", process->flow_base);
	event_uint(w, "pid", header->pid);
	event_uint(w, "parent", header->parent);
	event_int(w, "rank", header->rank);
	event_int(w, "world", header->world);
	event_uints(w, header, mode, start_ticks, start_ns, start_unix_ns);
	event_text(w, "host", header->host, sizeof header->host);
	event_text(w, "executable", header->executable, sizeof header->executable);
	list = event_array(w, "command");
	for (size_t at = 0; (argument = next_argument(header, &at));)
		event_text(w, NULL, argument, left(header, argument));
	event_end_nested(w, list);
	event_uints(w, header, pair_cost, pair_cost_low, pair_cost_high, pair_cost_streamed,
		pair_cost_cold, pair_stream_ticks);
	event_ledger(w, &header->ledger);
	event_clock(w, &process->clock);
	return event_close(w);
}

int writer_process(struct trace_writer *w, int number, const struct brick_session_header *header)
{
	process_track(w, w->processes[number], header);
	packets_add(&w->packets);
	process_tree(w, header);
	packets_add(&w->packets);
	return process_event(w, number, header);
}

int writer_sink_process_state(
	struct sink *sink, int number, const struct brick_session_header *header)
{
	struct trace_writer *w = writer_of(sink);

	return process_event(w, number, header);
}

int writer_lane_event(struct trace_writer *w, const struct writer_lane *lane)
{
	event_open(w, FORMAT_LANE, w->last_ns);
	event_uint(w, "lane", lane->number);
	event_uint(w, "process", lane->process_number);
	event_uints(w, lane, sequence, kind, tid);
	event_text(w, "name", lane->name, sizeof lane->name);
	if (lane->kind != BRICK_LANE_THREAD) {
		event_text(w, "backend", lane->backend, sizeof lane->backend);
		event_uint(w, "queue_flags", lane->queue_flags);
	}
	if (lane->kind == BRICK_LANE_THREAD)
		event_uint(w, "off_cpu_sequence", FORMAT_OFF_CPU_SEQUENCE + lane->number);
	event_uint(w, "start_ticks", lane->start_ticks);
	return event_close(w);
}

int writer_sink_process_end(struct sink *sink, int number, uint64_t end_ticks, int closed)
{
	struct trace_writer *w = writer_of(sink);

	struct writer_process *process = w->processes[number];
	uint64_t ns = writer_ns(process, end_ticks);
	writer_release_all(w, process);
	if (ns > w->last_ns)
		w->last_ns = ns;
	for (uint32_t i = 0; i < w->lane_count && !process->ended; i++)
		if (w->lanes[i]->process == process)
			w->lanes[i]->open_frames += w->lanes[i]->records.depth;
	process->ended = 1;
	event_open(w, FORMAT_PROCESS_END, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_uint(w, "end_ticks", end_ticks);
	event_uint(w, "closed", closed ? 1 : 0);
	return event_close(w);
}
