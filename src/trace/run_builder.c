/* SPDX-License-Identifier: Apache-2.0 */
/* The builder as a sink: its life, and who takes part in the run. */
#include "trace/run_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/members.h"
#include "lib/writer/format.h"
#include "trace/run_builder_state.h"

void run_set_text(struct run_builder *b, char **to, const char *from, size_t bytes)
{
	free(*to);
	*to = run_text_of(b, from, bytes);
}

static int on_clock(struct sink *sink, const struct brick_clock *clock)
{
	struct run_builder *b = run_builder_of(sink);

	if (!clock->mult || clock->shift > 63)
		return -EINVAL;
	for (size_t i = 0; i < b->build.run->lane_count; i++)
		records_release(&b->lanes[i]->records);
	b->build.run->clock = *clock;
	b->build.has_clock = 1;
	return b->build.result;
}

/* The arguments in header->command, each ended by its NUL. */
static void set_command(
	struct run_builder *b, char ***to, const struct brick_session_header *header)
{
	size_t bytes = header->command_bytes, count = 0;

	if (bytes > sizeof header->command)
		bytes = sizeof header->command;
	char **list = calloc(bytes + 1, sizeof *list);
	if (!list) {
		build_no_memory(&b->build);
		return;
	}
	for (size_t at = 0; at < bytes;) {
		size_t length = strnlen(header->command + at, bytes - at);
		list[count++] = run_text_of(b, header->command + at, length);
		at += length + 1;
	}
	char **kept = realloc(list, (count + 1) * sizeof *list);
	run_list_free(*to);
	*to = kept ? kept : list;
}

void run_set_ledger(struct brick_ledger *to, const struct brick_ledger *from)
{
#define FORMAT_X(field) to->field = from->field;
	FORMAT_LEDGER_FIELDS(FORMAT_X)
#undef FORMAT_X
}

static int on_process_state(
	struct sink *sink, int number, const struct brick_session_header *header)
{
	struct run_builder *b = run_builder_of(sink);

	struct run_process *process = &b->build.run->processes[number];
	struct build_process *state = &b->build.processes[number];
	members_copy(process, header, pid, parent, rank, world, mode, start_ns);
	run_set_text(b, &process->host, header->host, sizeof header->host);
	run_set_text(b, &process->executable, header->executable, sizeof header->executable);
	set_command(b, &process->command, header);
	run_set_ledger(&process->ledger, &header->ledger);
	members_copy(state, header, pair_cost, pair_cost_low, pair_cost_high, pair_cost_streamed,
		pair_cost_cold, pair_stream_ticks);
	return b->build.result;
}

static int on_process(struct sink *sink, const struct brick_session_header *header)
{
	struct run_builder *b = run_builder_of(sink);
	size_t number = b->build.run->process_count;

	if (!build_grow(&b->build, &b->processes, &b->process_capacity, number,
		    sizeof(struct builder_process *)))
		return b->build.result;
	struct builder_process *process = calloc(1, sizeof *process);
	struct build_process *state = process ? build_process(&b->build) : NULL;
	if (!state) {
		free(process);
		return build_no_memory(&b->build);
	}
	process->number = (uint32_t)number;
	b->processes[number] = process;
	state->clock = header->clock;
	if (!state->clock.mult || state->clock.shift > 63)
		state->clock = (struct brick_clock){.mult = 1};
	b->build.run->processes[number].clock_source = state->clock.source;
	int error = on_process_state(sink, (int)number, header);
	return error ? error : (int)number;
}

static int on_tables(struct sink *sink, int number, const struct sink_tables *tables)
{
	struct run_builder *b = run_builder_of(sink);

	return tables_add(&b->processes[number]->tables, tables) ? build_no_memory(&b->build) : 0;
}

static int on_lane(struct sink *sink, int number, const struct brick_lane *state)
{
	struct run_builder *b = run_builder_of(sink);
	size_t index = b->build.run->lane_count;

	if (!build_grow(
		    &b->build, &b->lanes, &b->lane_capacity, index, sizeof(struct builder_lane *)))
		return b->build.result;
	struct builder_lane *lane = calloc(1, sizeof *lane);
	if (lane)
		lane->lane = build_lane(&b->build, (uint32_t)number);
	if (!lane || !lane->lane) {
		free(lane);
		return build_no_memory(&b->build);
	}
	b->lanes[index] = lane;
	lane->builder = b;
	lane->process = b->processes[number];
	lane->records = (struct records_lane){.target = &run_records,
		.context = lane,
		.tables = &lane->process->tables,
		.bad = &b->bad_records};
	lane->tid = state->tid;
	lane->lane->start_ticks = state->start_ticks;
	struct run_lane *run_lane = &b->build.run->lanes[index];
	run_lane->kind = state->kind;
	run_lane->tid = run_lane->first_tid = state->tid;
	run_set_text(b, &run_lane->name, state->name, sizeof state->name);
	if (state->kind != BRICK_LANE_THREAD) {
		run_set_text(b, &run_lane->backend, state->backend, sizeof state->backend);
		run_lane->queue_flags = (uint32_t)state->queue_flags;
	}
	return b->build.result ? b->build.result : (int)index;
}

static int on_records(
	struct sink *sink, int number, const struct brick_record *records, size_t count)
{
	struct run_builder *b = run_builder_of(sink);

	return records_take(&b->lanes[number]->records, records, count);
}

static void release_of(struct run_builder *b, const struct builder_process *process)
{
	for (size_t i = 0; i < b->build.run->lane_count && !b->build.result; i++)
		if (!process || b->lanes[i]->process == process)
			records_release(&b->lanes[i]->records);
}

static int on_process_end(struct sink *sink, int number, uint64_t end_ticks, int closed)
{
	struct run_builder *b = run_builder_of(sink);

	release_of(b, b->processes[number]);
	b->build.processes[number].end_ticks = end_ticks;
	b->build.processes[number].ended = 1;
	b->build.run->processes[number].closed = closed != 0;
	return b->build.result;
}

static int on_flush(struct sink *sink)
{
	struct run_builder *b = run_builder_of(sink);

	release_of(b, NULL);
	return b->build.result;
}

static const struct sink_type builder_type = {
	.clock = on_clock,
	.process = on_process,
	.process_state = on_process_state,
	.tables = on_tables,
	.code = run_on_code,
	.lane = on_lane,
	.records = on_records,
	.off_cpu = run_on_off_cpu,
	.lane_stats = run_on_lane_stats,
	.histograms = run_on_histograms,
	.notes = run_on_notes,
	.digest = run_on_digest,
	.account = run_on_account,
	.process_end = on_process_end,
	.flush = on_flush,
};

static int set_options(struct run_builder *b, const struct trace_writer_options *options)
{
	struct run *run = b->build.run;
	size_t count = 0;

	run->start_ns = options->start_ns;
	run->start_unix_ns = options->start_unix_ns;
	if (options->host)
		run_set_text(b, &run->host, options->host, strlen(options->host));
	if (options->cpu)
		run_set_text(b, &run->cpu, options->cpu, strlen(options->cpu));
	while (options->command && options->command[count])
		count++;
	run->command = calloc(count + 1, sizeof *run->command);
	for (size_t i = 0; run->command && i < count; i++)
		run->command[i] = run_text_of(b, options->command[i], strlen(options->command[i]));
	return run->command ? b->build.result : build_no_memory(&b->build);
}

int run_builder_create(struct run_builder **out, const struct trace_writer_options *options)
{
	struct run_builder *b = calloc(1, sizeof *b);

	if (!b)
		return -ENOMEM;
	b->sink = (struct sink){.type = &builder_type, .error = &b->build.result};
	if (build_init(&b->build, options->path) || set_options(b, options)) {
		run_builder_abandon(b);
		return -ENOMEM;
	}
	*out = b;
	return 0;
}

struct sink *run_builder_sink(struct run_builder *b)
{
	return &b->sink;
}

static int destroy(struct run_builder *b, struct run **out)
{
	for (size_t i = 0; i < b->process_capacity && b->processes[i]; i++) {
		tables_fini(&b->processes[i]->tables);
		free(b->processes[i]->sites);
		free(b->processes[i]);
	}
	for (size_t i = 0; i < b->lane_capacity && b->lanes[i]; i++)
		free(b->lanes[i]);
	free(b->processes);
	free(b->lanes);
	int result = build_fini(&b->build, out);
	free(b);
	return result;
}

int run_builder_finish(struct run_builder *b, struct run **out)
{
	release_of(b, NULL);
	b->build.run->bad_records = b->bad_records;
	b->build.run->complete = 1;
	if (!b->build.result)
		build_finish(&b->build);
	return destroy(b, out);
}

void run_builder_abandon(struct run_builder *b)
{
	struct run *run;

	if (!b)
		return;
	if (!b->build.result)
		b->build.result = -ECANCELED;
	destroy(b, &run);
}
