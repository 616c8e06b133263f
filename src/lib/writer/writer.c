/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's life: from PATH.part to PATH, and who takes part in the run: processes with their
 * tables, lanes. Tables are copied in, because the memory that they come from is another
 * process's. Called by record/ and by tests.
 */
#include "lib/writer/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/clock_ns.h"
#include "base/time_namespace.h"
#include "lib/writer/writer_state.h"

enum { OFFSET_READINGS = 16 };

/*
 * BOOTTIME less MONOTONIC, by the narrowest of several readings between two others. Traces lie
 * beside one another by BOOTTIME, so it is that outside of time namespaces.
 */
static int64_t boot_offset_ns(void)
{
	uint64_t narrowest = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < OFFSET_READINGS; i++) {
		uint64_t before = monotonic_ns(), boot = clock_ns(CLOCK_BOOTTIME);
		uint64_t width = monotonic_ns() - before;
		if (width >= narrowest)
			continue;
		narrowest = width;
		offset = (int64_t)(boot - before - width / 2);
	}
	return offset - time_namespace_offset_ns(CLOCK_BOOTTIME);
}

/* SplitMix64: uuids of one file never collide, and hardly with those of another. */
uint64_t writer_uuid(const struct trace_writer *w, uint64_t kind, uint64_t index)
{
	uint64_t x = w->uuid_seed + (kind << 56) + index * 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	return x >> 1 | 1;
}

static void choose_clock(const struct trace_writer *w, struct writer_process *process)
{
	process->best = sink_clock_of(&w->clock, &process->clock);
}

static void free_process(struct writer_process *process)
{
	if (!process)
		return;
	tables_fini(&process->tables);
	free(process->sites);
	free(process->arrows);
	free(process->counter_uuids);
	free(process);
}

static void free_lane(struct writer_lane *lane)
{
	if (!lane)
		return;
	free(lane->site_templates);
	array_fini(&lane->former);
	array_fini(&lane->plain.entries);
	hashmap_fini(&lane->plain.by_brick);
	free(lane);
}

static void free_writer(struct trace_writer *w)
{
	for (uint32_t i = 0; i < w->process_count; i++)
		free_process(w->processes[i]);
	for (uint32_t i = 0; i < w->lane_count; i++)
		free_lane(w->lanes[i]);
	free(w->processes);
	free(w->lanes);
	packets_fini(&w->packets);
	free(w);
}

static const struct sink_type writer_type = {
	.clock = writer_sink_clock,
	.process = writer_sink_process,
	.process_state = writer_sink_process_state,
	.tables = writer_sink_tables,
	.code = writer_sink_code,
	.lane = writer_sink_lane,
	.records = writer_sink_records,
	.off_cpu = writer_sink_off_cpu,
	.lane_stats = writer_sink_lane_stats,
	.histograms = writer_sink_histograms,
	.notes = writer_sink_notes,
	.digest = writer_sink_digest,
	.account = writer_sink_account,
	.process_end = writer_sink_process_end,
	.flush = writer_sink_flush,
};

struct sink *trace_writer_sink(struct trace_writer *w)
{
	return &w->sink;
}

int trace_writer_create(struct trace_writer **out, const struct trace_writer_options *options)
{
	struct trace_writer *w = calloc(1, sizeof *w);

	if (!w)
		return -ENOMEM;
	w->sink = (struct sink){.type = &writer_type, .error = &w->packets.error};
	w->boot_offset_ns = boot_offset_ns();
	w->unix_offset_ns = (int64_t)(options->start_unix_ns - options->start_ns);
	w->uuid_seed = options->start_unix_ns ^ monotonic_ns() << 20;
	w->start_ns = w->last_ns = options->start_ns;
	w->packets.output = options->output;
	w->packets.output_context = options->output_context;
	int result = packets_init(&w->packets, options->path, options->compress);
	if (!result)
		result = writer_run(w, options);
	if (result) {
		trace_writer_abandon(w);
		return result;
	}
	*out = w;
	return 0;
}

int writer_sink_clock(struct sink *sink, const struct brick_clock *clock)
{
	struct trace_writer *w = writer_of(sink);

	if (!clock->mult || clock->shift > 63)
		return -EINVAL;
	writer_release_all(w, NULL);
	w->clock = *clock;
	for (uint32_t i = 0; i < w->process_count; i++)
		choose_clock(w, w->processes[i]);
	return writer_clock(w);
}

int writer_sink_process(struct sink *sink, const struct brick_session_header *header)
{
	struct trace_writer *w = writer_of(sink);

	struct writer_process *process = calloc(1, sizeof *process);
	struct writer_process **processes = array_grow(
		w->processes, &w->process_capacity, w->process_count + 1, sizeof *processes);
	if (processes)
		w->processes = processes;
	if (process)
		process->counter_uuids = calloc(BRICK_MAX_BRICKS, sizeof *process->counter_uuids);
	if (!process || !process->counter_uuids || !processes) {
		free_process(process);
		return packets_fail(&w->packets, -ENOMEM);
	}
	process->pid = header->pid;
	process->clock = header->clock;
	if (!process->clock.mult || process->clock.shift > 63)
		process->clock = (struct brick_clock){.mult = 1};
	choose_clock(w, process);
	process->uuid = writer_uuid(w, UUID_PROCESS, w->process_count);
	process->flow_base =
		writer_uuid(w, UUID_FLOW, w->process_count) >> FORMAT_FLOW_BITS << FORMAT_FLOW_BITS;
	int number = (int)w->process_count++;
	w->processes[number] = process;
	return writer_process(w, number, header) ? w->packets.error : number;
}

int writer_sink_tables(struct sink *sink, int number, const struct sink_tables *tables)
{
	struct trace_writer *w = writer_of(sink);

	int error = tables_add(&w->processes[number]->tables, tables);
	return error ? packets_fail(&w->packets, error) : 0;
}

int writer_sink_lane(struct sink *sink, int number, const struct brick_lane *state)
{
	struct trace_writer *w = writer_of(sink);

	struct writer_lane *lane = calloc(1, sizeof *lane);
	struct writer_lane **lanes =
		array_grow(w->lanes, &w->lane_capacity, w->lane_count + 1, sizeof *lanes);
	if (lanes)
		w->lanes = lanes;
	if (!lane || !lanes) {
		free(lane);
		return packets_fail(&w->packets, -ENOMEM);
	}
	lane->writer = w;
	lane->packets = &w->packets;
	lane->process = w->processes[number];
	lane->records = (struct records_lane){.target = &writer_records,
		.context = lane,
		.tables = &lane->process->tables,
		.bad = &w->bad_records};
	lane->process_number = (uint32_t)number;
	lane->number = w->lane_count;
	lane->sequence = FORMAT_LANE_SEQUENCE + w->lane_count;
	lane->kind = state->kind;
	lane->tid = lane->track_tid = state->tid;
	lane->start_ticks = state->start_ticks;
	lane->uuid = writer_uuid(w, UUID_LANE, w->lane_count);
	memcpy(lane->name, state->name, sizeof lane->name);
	memcpy(lane->backend, state->backend, sizeof lane->backend);
	lane->queue_flags = state->queue_flags;
	template_end(lane);
	w->lanes[lane->number] = lane;
	w->lane_count++;
	return writer_lane_event(w, lane) ? w->packets.error : (int)lane->number;
}

void writer_release(struct trace_writer *w, struct writer_lane *lane)
{
	if (!w->packets.error)
		records_release(&lane->records);
}

void writer_release_all(struct trace_writer *w, const struct writer_process *process)
{
	for (uint32_t i = 0; i < w->lane_count; i++)
		if (!process || w->lanes[i]->process == process)
			writer_release(w, w->lanes[i]);
}

int writer_sink_records(
	struct sink *sink, int number, const struct brick_record *records, size_t count)
{
	struct trace_writer *w = writer_of(sink);

	if (!count)
		return 0;
	struct writer_lane *lane = w->lanes[number];
	int error = lane_records(lane, records, count);
	if (lane->last_ns > w->last_ns)
		w->last_ns = lane->last_ns;
	return error;
}

int writer_sink_off_cpu(
	struct sink *sink, int number, const struct sink_off_cpu *intervals, size_t count)
{
	struct trace_writer *w = writer_of(sink);

	return lane_off_cpu(w->lanes[number], intervals, count);
}

int writer_sink_flush(struct sink *sink)
{
	struct trace_writer *w = writer_of(sink);

	writer_release_all(w, NULL);
	int error = packets_send(&w->packets);
	if (!error && w->packets.file)
		part_file_sync(w->packets.file);
	return error;
}

void trace_writer_sync_prepare(struct trace_writer *w)
{
	if (w->packets.file)
		part_file_sync_prepare(w->packets.file);
}

void writer_totals(const struct trace_writer *w, uint64_t *pairs, uint64_t *open_frames)
{
	*pairs = *open_frames = 0;
	for (uint32_t i = 0; i < w->lane_count; i++) {
		*pairs += w->lanes[i]->pairs;
		*open_frames += w->lanes[i]->open_frames;
	}
}

void trace_writer_counts(const struct trace_writer *w, uint64_t *bytes, uint64_t *pairs)
{
	uint64_t open_frames;

	*bytes = w->packets.bytes;
	writer_totals(w, pairs, &open_frames);
}

int trace_writer_finish(struct trace_writer *w)
{
	writer_release_all(w, NULL);
	if (!writer_end(w))
		packets_send(&w->packets);
	int result = packets_finish(&w->packets);
	free_writer(w);
	return result;
}

void trace_writer_abandon(struct trace_writer *w)
{
	if (!w)
		return;
	part_file_remove(w->packets.file);
	free_writer(w);
}

void trace_writer_leave(struct trace_writer *w)
{
	if (!w)
		return;
	writer_release_all(w, NULL);
	packets_send(&w->packets);
	part_file_leave(w->packets.file);
	free_writer(w);
}
