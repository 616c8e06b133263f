/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the run says of itself on its own sequence: who recorded what where, clocks, processes,
 * lanes, exact statistics, histograms, notes, the account. Later events replace earlier ones of the
 * same process, lane and brick. Values in ticks stay in ticks: the reader has the clocks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "brick/version.h"
#include "trace/writer_state.h"

enum { STATISTICS_PER_EVENT = 64 };

/* An argv as a list. */
static void event_command(struct trace_writer *w, const char *const *command)
{
	size_t list = event_array(w, "command");

	for (; command && *command; command++)
		event_text(w, NULL, *command, strlen(*command));
	event_end_nested(w, list);
}

static void run_track(struct trace_writer *w)
{
	struct pb_buffer *b = &w->scratch;
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

	packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_SEQUENCE_ID, FORMAT_OWN_SEQUENCE);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	size_t track = pb_open(b, PACKET_TRACK_DESCRIPTOR);
	pb_varint(b, TRACK_UUID, writer_uuid(w, UUID_RUN, 0));
	pb_string(b, TRACK_NAME, FORMAT_CATEGORY, strlen(FORMAT_CATEGORY));
	pb_close(b, track);
	pb_close(b, packet);
}

/* The file's first packets; they go out uncompressed, so that the file says early what it is. */
int writer_run(struct trace_writer *w, const struct trace_writer_options *options)
{
	struct deflater *deflater = w->deflater;

	w->deflater = NULL;
	w->scratch.size = 0;
	run_track(w);
	writer_packet_out(w);
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
	writer_chunk_out(w);
	w->deflater = deflater;
	if (deflater)
		deflate_start(deflater, w->chunk);
	return w->error;
}

static void event_clock(struct trace_writer *w, const struct brick_clock *clock)
{
	size_t dict = event_dict(w, "clock");

#define FORMAT_X(field) event_uint(w, #field, clock->field);
	FORMAT_CLOCK_FIELDS(FORMAT_X)
#undef FORMAT_X
	event_end_nested(w, dict);
}

int writer_clock(struct trace_writer *w)
{
	struct pb_buffer *b = &w->scratch;

	b->size = 0;
	size_t packet = pb_open(b, TRACE_PACKET);
	pb_varint(b, PACKET_SEQUENCE_ID, FORMAT_OWN_SEQUENCE);
	pb_varint(b, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
	writer_clock_snapshot(w, w->last_ns, 0);
	pb_close(b, packet);
	writer_packet_out(w);
	event_open(w, FORMAT_CLOCK, w->last_ns);
	event_clock(w, &w->clock);
	return event_close(w);
}

static void process_track(struct trace_writer *w, const struct writer_process *process,
	const struct brick_session_header *header)
{
	struct pb_buffer *b = &w->scratch;
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
	pb_close(b, described);
	pb_close(b, track);
	pb_close(b, packet);
}

static void event_ledger(struct trace_writer *w, const struct brick_ledger *ledger)
{
	size_t dict = event_dict(w, "ledger");

#define FORMAT_X(field) event_uint(w, #field, ledger->field);
	FORMAT_LEDGER_FIELDS(FORMAT_X)
#undef FORMAT_X
	event_end_nested(w, dict);
}

/* The arguments in header->command, each ended by its NUL. */
static void event_process_command(struct trace_writer *w, const struct brick_session_header *header)
{
	size_t bytes = header->command_bytes, list = event_array(w, "command");

	if (bytes > sizeof header->command)
		bytes = sizeof header->command;
	for (size_t at = 0; at < bytes;) {
		size_t length = strnlen(header->command + at, bytes - at);
		event_text(w, NULL, header->command + at, length);
		at += length + 1;
	}
	event_end_nested(w, list);
}

static int process_event(
	struct trace_writer *w, int number, const struct brick_session_header *header)
{
	const struct writer_process *process = w->processes[number];

	event_open(w, FORMAT_PROCESS, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_uint(w, "flow_base", process->flow_base);
	event_uint(w, "pid", header->pid);
	event_uint(w, "parent", header->parent);
	event_int(w, "rank", header->rank);
	event_int(w, "world", header->world);
	event_uint(w, "mode", header->mode);
	event_uint(w, "start_ticks", header->start_ticks);
	event_uint(w, "start_ns", header->start_ns);
	event_uint(w, "start_unix_ns", header->start_unix_ns);
	event_text(w, "host", header->host, sizeof header->host);
	event_text(w, "executable", header->executable, sizeof header->executable);
	event_process_command(w, header);
	event_uint(w, "pair_cost", header->pair_cost);
	event_uint(w, "pair_cost_low", header->pair_cost_low);
	event_uint(w, "pair_cost_high", header->pair_cost_high);
	event_ledger(w, &header->ledger);
	event_clock(w, &process->clock);
	return event_close(w);
}

int writer_process(struct trace_writer *w, int number, const struct brick_session_header *header)
{
	process_track(w, w->processes[number], header);
	writer_packet_out(w);
	return process_event(w, number, header);
}

int writer_sink_process_state(
	struct sink *sink, int number, const struct brick_session_header *header)
{
	struct trace_writer *w = writer_of(sink);

	if (w->error)
		return w->error;
	if (number < 0 || (uint32_t)number >= w->process_count)
		return -EINVAL;
	return process_event(w, number, header);
}

int writer_lane_event(struct trace_writer *w, const struct writer_lane *lane)
{
	event_open(w, FORMAT_LANE, w->last_ns);
	event_uint(w, "lane", lane->number);
	event_uint(w, "process", lane->process_number);
	event_uint(w, "sequence", lane->sequence);
	event_uint(w, "kind", lane->kind);
	event_uint(w, "tid", lane->tid);
	event_text(w, "name", lane->name, sizeof lane->name);
	if (lane->kind != BRICK_LANE_THREAD) {
		event_text(w, "backend", lane->backend, sizeof lane->backend);
		event_uint(w, "queue_flags", lane->queue_flags);
	}
	event_uint(w, "start_ticks", lane->start_ticks);
	return event_close(w);
}

/* One brick's entry; what is 0 is left out. */
static void event_stat(struct trace_writer *w, const struct writer_process *process,
	const struct brick_session_brick *brick, const struct brick_stat *stat)
{
	size_t dict = event_dict(w, NULL);

	event_text(w, "brick", brick->name, sizeof brick->name);
	if (brick->category < process->tables.category_count) {
		const char *category = process->tables.categories[brick->category].name;
		event_text(w, "category", category, sizeof process->tables.categories->name);
	}
#define FORMAT_X(field)  \
	if (stat->field) \
		event_uint(w, #field, stat->field);
	FORMAT_STAT_FIELDS(FORMAT_X)
#undef FORMAT_X
	event_end_nested(w, dict);
}

/* The bricks [from, count) that ran, up to a number per event; returns where it stopped. */
static uint32_t statistics_event(struct trace_writer *w, const struct writer_lane *lane,
	const struct brick_lane *state, uint32_t from)
{
	uint32_t left = STATISTICS_PER_EVENT, i = from;

	event_open(w, FORMAT_STATISTICS, w->last_ns);
	event_uint(w, "lane", lane->number);
	event_uint(w, "tid", state->tid);
	event_text(w, "name", state->name, sizeof state->name);
	event_uint(w, "owners", state->owners);
	event_uint(w, "start_ticks", state->start_ticks);
	event_uint(w, "end_ticks", state->end_ticks);
	event_uint(w, "live_ticks", state->live_ticks);
	event_uint(w, "hook_calls", state->hook_calls);
	event_uint(w, "hook_timed", state->hook_timed);
	event_uint(w, "hook_ticks", state->hook_ticks);
	event_ledger(w, &state->ledger);
	size_t list = event_array(w, "bricks");
	for (; i < lane->process->tables.brick_count && left; i++) {
		struct brick_stat stat = state->stats[i];
		if (!stat.count)
			continue;
		event_stat(w, lane->process, &lane->process->tables.bricks[i], &stat);
		left--;
	}
	event_end_nested(w, list);
	event_close(w);
	return i;
}

int writer_sink_lane_stats(struct sink *sink, int number, const struct brick_lane *state)
{
	struct trace_writer *w = writer_of(sink);

	if (w->error)
		return w->error;
	if (number < 0 || (uint32_t)number >= w->lane_count)
		return -EINVAL;
	struct writer_lane *lane = w->lanes[number];
	uint32_t next = 0;
	writer_release(w, lane);
	do
		next = statistics_event(w, lane, state, next);
	while (!w->error && next < lane->process->tables.brick_count);
	return w->error;
}

/* Buckets that are not empty, as text: "index:count" with blanks between. */
static int histogram_event(
	struct trace_writer *w, int number, uint32_t brick, const uint64_t *buckets)
{
	const struct brick_session_brick *entry = &w->processes[number]->tables.bricks[brick];
	char *text = malloc(BRICK_HISTOGRAM_BUCKETS * 28u);
	size_t size = 0;

	if (!text)
		return writer_fail(w, -ENOMEM);
	text[0] = 0;
	for (uint32_t i = 0; i < BRICK_HISTOGRAM_BUCKETS; i++)
		if (buckets[i])
			size += (size_t)sprintf(text + size, "%s%u:%llu", size ? " " : "", i,
				(unsigned long long)buckets[i]);
	event_open(w, FORMAT_HISTOGRAM, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_text(w, "brick", entry->name, sizeof entry->name);
	event_text(w, "buckets", text, size);
	free(text);
	return event_close(w);
}

int writer_sink_histograms(
	struct sink *sink, int number, uint32_t brick_count, const uint64_t *const *histograms)
{
	struct trace_writer *w = writer_of(sink);

	if (w->error)
		return w->error;
	if (number < 0 || (uint32_t)number >= w->process_count)
		return -EINVAL;
	if (brick_count > w->processes[number]->tables.brick_count)
		brick_count = w->processes[number]->tables.brick_count;
	for (uint32_t i = 0; i < brick_count && !w->error; i++)
		if (histograms[i])
			histogram_event(w, number, i, histograms[i]);
	return w->error;
}

int writer_sink_code(struct sink *sink, const struct sink_code *code)
{
	struct trace_writer *w = writer_of(sink);

	if (w->error)
		return w->error;
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

	if (w->error)
		return w->error;
	if (number < 0 || (uint32_t)number >= w->process_count)
		return -EINVAL;
	event_open(w, FORMAT_NOTES, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_text(w, "text", notes, bytes);
	return event_close(w);
}

int writer_sink_account(struct sink *sink, const struct sink_account *account)
{
	struct trace_writer *w = writer_of(sink);

	if (w->error)
		return w->error;
	if (account->end_ns > w->last_ns)
		w->last_ns = account->end_ns;
	event_open(w, FORMAT_ACCOUNT, w->last_ns);
	event_uint(w, "end_ns", account->end_ns);
	event_uint(w, "consumer_cpu_ns", account->consumer_cpu_ns);
	event_uint(w, "program_cpu_ns", account->program_cpu_ns);
	event_uint(w, "lost_processes", account->lost_processes);
	event_uint(w, "refused_records", account->refused_records);
	event_uint(w, "cpus", account->cpus);
	event_int(w, "exit_code", account->exit_code);
	event_uint(w, "residual_ns", account->clock_residual_ns);
	event_uint(w, "bad_records", w->bad_records);
	return event_close(w);
}

int writer_sink_process_end(struct sink *sink, int number, uint64_t end_ticks, int closed)
{
	struct trace_writer *w = writer_of(sink);

	if (w->error)
		return w->error;
	if (number < 0 || (uint32_t)number >= w->process_count)
		return -EINVAL;
	struct writer_process *process = w->processes[number];
	uint64_t ns = writer_ns(w, process, end_ticks);
	writer_release_all(w, process);
	if (ns > w->last_ns)
		w->last_ns = ns;
	for (uint32_t i = 0; i < w->lane_count && !process->ended; i++)
		if (w->lanes[i]->process == process)
			w->open_frames += w->lanes[i]->records.depth;
	process->ended = 1;
	event_open(w, FORMAT_PROCESS_END, w->last_ns);
	event_uint(w, "process", (uint64_t)number);
	event_uint(w, "end_ticks", end_ticks);
	event_uint(w, "closed", closed ? 1 : 0);
	return event_close(w);
}

int writer_end(struct trace_writer *w)
{
	if (w->error)
		return w->error;
	event_open(w, FORMAT_END, w->last_ns);
	event_uint(w, "pairs", w->pairs);
	event_uint(w, "open_frames", w->open_frames);
	event_uint(w, "bad_records", w->bad_records);
	return event_close(w);
}
