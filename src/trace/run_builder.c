/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder as a sink. Records, which keep the rules of trace_records.h, become samples, commands
 * and points; entries of a process's tables become the run's own, each when it is first used. It
 * comes to what a recording would: what docs/FORMAT.md lets a file say, and no more.
 */
#include "trace/run_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/members.h"
#include "brick/registry.h"
#include "lib/writer/format.h"
#include "lib/writer/trace_records.h"
#include "trace/build_finish.h"

enum {
	MAX_FIELD = 256,      /* more than any field of the tables has */
	MAX_SOURCE = 16 << 20 /* of one program, as a recording keeps it */
};

/* A process's tables, and what of them is in the run: index + 1, 0: not yet. */
struct builder_process {
	uint32_t number;
	struct tables tables;
	uint32_t bricks[BRICK_MAX_BRICKS];
	uint32_t kernels[BRICK_MAX_KERNELS];
	uint32_t *sites; /* executed as their own brick */
	size_t site_capacity;
};

struct builder_lane {
	struct run_builder *builder;
	struct builder_process *process;
	struct build_lane *lane;
	struct records_lane records;
	uint64_t tid;
	char name[BRICK_NAME_BYTES]; /* of which some has been read */
};

struct run_builder {
	struct sink sink; /* first */
	struct build build;
	uint64_t bad_records;
	ARRAY(struct builder_process *) processes; /* as many as the run has */
	ARRAY(struct builder_lane *) lanes;	   /* as many as the run has */
};

static inline struct run_builder *builder_of(struct sink *sink)
{
	return (struct run_builder *)sink;
}

static char *text_of(struct run_builder *b, const char *from, size_t bytes)
{
	size_t length = strnlen(from, bytes);
	char *text = malloc(length + 1);

	if (text)
		tables_text(text, length + 1, from, length);
	else
		build_no_memory(&b->build);
	return text;
}

static uint32_t brick_of(struct run_builder *b, struct builder_process *process, uint32_t id)
{
	const struct brick_session_brick *entry = &process->tables.bricks[id];
	const struct brick_session_category *category = tables_category(&process->tables, id);
	char name[MAX_FIELD];

	if (!process->bricks[id]) {
		size_t size = tables_text(name, sizeof(name), entry->name, sizeof(entry->name));
		process->bricks[id] = build_brick(&b->build, name, size) + 1;
	}
	if (!process->bricks[id])
		return RUN_NONE;
	struct run_brick *brick = &b->build.run->bricks[process->bricks[id] - 1];
	if (brick->category == RUN_NONE && category) {
		size_t size =
			tables_text(name, sizeof(name), category->name, sizeof(category->name));
		brick->category = build_category(&b->build, name, size);
	}
	return process->bricks[id] - 1;
}

static uint32_t new_site(
	struct run_builder *b, const struct brick_session_site *entry, uint32_t brick)
{
	char operation[MAX_FIELD], label[MAX_FIELD];
	uint32_t known = entry->flags &
			 (BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS |
				 BRICK_SITE_UNKNOWN_OPERATION | BRICK_SITE_AT_MOST);
	struct run_site site = {.brick = brick, .layer = entry->layer, .flags = known};

	if (known & BRICK_SITE_HAS_ELEMENTS)
		site.elements = entry->elements;
	if (known & BRICK_SITE_HAS_BYTES)
		site.bytes = entry->bytes;
	if (known & BRICK_SITE_HAS_FLOPS)
		site.flops = entry->flops;
	if (tables_text(operation, sizeof(operation), entry->operation, sizeof(entry->operation)))
		site.operation = operation;
	if (tables_text(label, sizeof(label), entry->label, sizeof(entry->label)))
		site.label = label;
	return build_site(&b->build, &site);
}

static int grow_sites(struct run_builder *b, struct builder_process *process)
{
	size_t count = process->tables.site_count;
	uint32_t *sites = realloc(process->sites, count * sizeof(*sites));

	if (!sites)
		return build_no_memory(&b->build);
	memset(sites + process->site_capacity, 0,
		(count - process->site_capacity) * sizeof(*sites));
	process->sites = sites;
	process->site_capacity = count;
	return 0;
}

static uint32_t site_of(
	struct run_builder *b, struct builder_process *process, uint32_t id, uint32_t brick)
{
	const struct brick_session_site *entry = &process->tables.sites[id];
	uint32_t index = brick_of(b, process, brick);

	if (index == RUN_NONE || (id >= process->site_capacity && grow_sites(b, process)))
		return RUN_NONE;
	if (entry->brick != brick)
		return new_site(b, entry, index);
	if (!process->sites[id])
		process->sites[id] = new_site(b, entry, index) + 1;
	return process->sites[id] - 1;
}

static uint32_t kernel_of(struct run_builder *b, struct builder_process *process, uint32_t id)
{
	const struct brick_session_kernel *entry = &process->tables.kernels[id];
	char name[MAX_FIELD], backend[MAX_FIELD];
	struct run_kernel kernel = {.name = name,
		.kind = entry->kind < FORMAT_KERNEL_KIND_COUNT ? entry->kind : BRICK_KERNEL_OTHER,
		.registers = entry->registers,
		.shared_bytes = entry->shared_bytes,
		.code = entry->code};

	if (process->kernels[id])
		return process->kernels[id] - 1;
	tables_text(name, sizeof(name), entry->name, sizeof(entry->name));
	if (tables_text(backend, sizeof(backend), entry->backend, sizeof(entry->backend)))
		kernel.backend = backend;
	if (entry->grid[0])
		memcpy(kernel.grid, entry->grid, sizeof(kernel.grid));
	if (entry->block[0])
		memcpy(kernel.block, entry->block, sizeof(kernel.block));
	process->kernels[id] = build_kernel(&b->build, &kernel) + 1;
	return process->kernels[id] - 1;
}

static const struct brick_clock *clock_of(
	const struct run_builder *b, const struct builder_process *process)
{
	return sink_clock_of(
		&b->build.run->clock, &b->build.processes.items[process->number].clock);
}

static uint64_t ns_of(const struct builder_lane *lane, uint64_t ticks)
{
	return brick_clock_ns(clock_of(lane->builder, lane->process), ticks);
}

static uint64_t length_of(const struct builder_lane *lane, uint64_t ticks)
{
	return brick_clock_duration_ns(clock_of(lane->builder, lane->process), ticks);
}

/* Time of a lane never runs back, whatever the clock's calibrations do. */
static void go_to(struct builder_lane *lane, uint64_t ticks)
{
	uint64_t ns = ns_of(lane, ticks);

	if (ns > lane->lane->now)
		lane->lane->now = ns;
}

/* An error that ends the reading, or 0. */
static int result_of(const struct builder_lane *lane)
{
	return lane->builder->build.result;
}

static uint32_t site_at_begin(
	struct builder_lane *lane, const struct brick_record *r, uint32_t brick)
{
	struct run_site site = {.brick = brick, .layer = r->layer};

	if (r->kind == BRICK_RECORD_SAMPLE && r->flags & BRICK_FLAG_SITE)
		return site_of(lane->builder, lane->process, r->site, r->brick);
	if (record_is_step(r)) {
		site.flags = BRICK_SITE_HAS_ELEMENTS;
		site.elements = record_tokens(r);
		site.output_tokens = record_output_tokens(r);
	}
	return build_plain_site(&lane->builder->build, &site);
}

/* 0: it could not be used. */
static bool begin(struct builder_lane *lane, const struct brick_record *r)
{
	uint32_t brick = brick_of(lane->builder, lane->process, r->brick);
	uint32_t site = brick != RUN_NONE ? site_at_begin(lane, r, brick) : RUN_NONE;

	go_to(lane, r->begin);
	if (site == RUN_NONE) {
		lane->lane->too_deep++;
		return false;
	}
	const struct build_slice slice = {
		.brick = brick, .site = site, .source = r->source, .step = record_is_step(r)};
	return build_slice(lane->lane, &slice);
}

/* The sample that ends, or NULL: it could not be used. */
static struct run_sample *end(struct builder_lane *lane)
{
	const struct build_slice slice = {.is_end = true};

	return build_slice(lane->lane, &slice) ? build_sample(lane->lane, lane->lane->ended) : NULL;
}

static void set_count(struct run_site *site, uint64_t *member, uint32_t flag, uint64_t value)
{
	if (value) {
		*member = value;
		site->flags |= flag;
	}
}

/* An end may say more of what was executed than its begin could. */
static void refine(struct builder_lane *lane, struct run_sample *sample,
	const struct brick_record *r, const struct brick_record *work)
{
	struct build *b = &lane->builder->build;
	struct run_site site = b->run->sites[sample->site];

	if (r && r->flags & BRICK_FLAG_ELEMENTS && !(r->flags & BRICK_FLAG_SITE)) {
		site.elements = r->elements;
		site.flags |= BRICK_SITE_HAS_ELEMENTS;
	}
	if (work && work->kind) {
		site.flags &= ~(uint32_t)BRICK_SITE_AT_MOST;
		set_count(&site, &site.bytes, BRICK_SITE_HAS_BYTES, work->begin);
		set_count(&site, &site.flops, BRICK_SITE_HAS_FLOPS, work->elements);
	}
	uint32_t index =
		site.operation || site.label ? build_site(b, &site) : build_plain_site(b, &site);
	if (index != RUN_NONE)
		sample->site = index;
}

static void end_with(
	struct builder_lane *lane, const struct brick_record *r, const struct record_args *args)
{
	struct run_sample *sample = end(lane);
	const struct brick_record *work = args && args->work.kind ? &args->work : NULL;

	if (!sample)
		return;
	if (r->flags & BRICK_FLAG_CLAMPED)
		sample->flags |= RUN_SAMPLE_CLAMPED;
	if (r->flags & BRICK_FLAG_UNWOUND)
		sample->flags |= RUN_SAMPLE_UNWOUND;
	if (r->flags & BRICK_FLAG_SITE)
		sample->inner_ns = build_saturate(length_of(lane, r->inner));
	if (r->kind == BRICK_RECORD_CLOSE && r->flags & BRICK_FLAG_SITE) {
		uint32_t site = site_of(lane->builder, lane->process, r->site, r->brick);
		if (site != RUN_NONE)
			sample->site = site;
	} else if (work || r->flags & BRICK_FLAG_ELEMENTS) {
		refine(lane, sample, r, work);
	}
}

/* The numbers of the commands that a slice launched, or is; those that a recording can name. */
static uint32_t flows_of(const struct record_args *args, uint64_t *flows)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i <= args->flow_count; i++) {
		uint64_t number = i < args->flow_count ? args->flows[i]
				  : args->launch.kind  ? args->launch.elements
						       : 0;
		if (number && !(number >> FORMAT_FLOW_BITS))
			flows[count++] = number;
	}
	return count;
}

static uint64_t time_of(
	const struct builder_lane *lane, const struct run_sample *sample, uint64_t ticks)
{
	return ticks ? build_before(sample, sample->begin_ns - ns_of(lane, ticks)) : 0;
}

static void set_times(struct builder_lane *lane, const struct run_sample *sample,
	struct run_command *command, const struct record_args *args)
{
	const struct brick_record *launch = &args->launch, *times = &args->times;

	if (launch->kind && launch->begin) {
		uint64_t length = length_of(lane, launch->ticks);
		command->launch_ns = time_of(lane, sample, launch->begin);
		command->launch_end_ns = command->launch_ns;
		if (command->launch_ns && length < UINT64_MAX - command->launch_ns)
			command->launch_end_ns += length;
	}
	if (times->kind && times->begin)
		command->queued_ns = time_of(lane, sample, times->begin);
	if (times->kind && times->elements)
		command->submitted_ns = time_of(lane, sample, times->elements);
}

static void set_command(struct builder_lane *lane, uint32_t sample, const struct record_args *args)
{
	uint64_t flows[RECORD_LINKS + 1];
	uint32_t flow_count = flows_of(args, flows);
	uint32_t kernel = record_kernel(&lane->process->tables, args);
	bool is_timed = (args->launch.kind && args->launch.begin) ||
			(args->times.kind && (args->times.begin || args->times.elements));

	if (lane->builder->build.run->lanes[lane->lane->number].kind != BRICK_LANE_QUEUE) {
		for (uint32_t i = 0; i < flow_count; i++)
			build_link(lane->lane, sample, BUILD_LINK_LAUNCHED, flows[i]);
		return;
	}
	if (!flow_count && !kernel && !is_timed)
		return;
	struct run_command *command = build_command(lane->lane, sample);
	if (!command)
		return;
	if (kernel)
		command->kernel = kernel_of(lane->builder, lane->process, kernel);
	if (!command->number && flow_count)
		command->number = flows[0];
	set_times(lane, build_sample(lane->lane, sample), command, args);
}

static void set_tile(struct builder_lane *lane, uint32_t sample, const struct brick_record *tile)
{
	const struct run_tile made = {.sample = sample,
		.level = (uint32_t)tile->elements,
		.row = (uint32_t)(tile->begin >> 32),
		.column = (uint32_t)tile->begin};

	if (tile->elements <= UINT8_MAX)
		build_tile(lane->lane, &made);
}

/* Add dependencies and tiles to the slice that ended last. */
static void take_args(struct builder_lane *lane, const struct record_args *args)
{
	uint32_t sample = lane->lane->ended;

	if (sample == RUN_NONE)
		return;
	for (uint32_t i = 0; i < args->dependency_count; i++)
		build_link(lane->lane, sample, BUILD_LINK_AFTER, args->dependencies[i]);
	if (args->tile.kind)
		set_tile(lane, sample, &args->tile);
}

/* The same, and what the slice launched or was. Times alone do not make a command. */
static void take_slice_args(struct builder_lane *lane, const struct record_args *args)
{
	if (!args || lane->lane->ended == RUN_NONE)
		return;
	if (args->launch.kind || args->flow_count)
		set_command(lane, lane->lane->ended, args);
	take_args(lane, args);
}

/* The wait right behind the sample that has just ended belongs to it. */
static void add_wait(struct builder_lane *lane, struct run_sample *sample, uint64_t end_ticks)
{
	uint64_t begin_ns = lane->lane->now;

	brick_of(lane->builder, lane->process, BRICK_BARRIER_WAIT);
	go_to(lane, end_ticks);
	build_seen(lane->lane);
	sample->wait_ns = build_saturate(lane->lane->now - begin_ns);
}

static int on_sample(void *context, const struct brick_record *r, const struct record_args *args)
{
	struct builder_lane *lane = context;
	uint64_t end_ticks = r->begin + r->ticks;

	if (!begin(lane, r))
		return result_of(lane);
	go_to(lane, end_ticks);
	end_with(lane, r, args);
	take_slice_args(lane, args);
	if (r->wait && BRICK_BARRIER_WAIT < lane->process->tables.brick_count)
		add_wait(lane, build_sample(lane->lane, lane->lane->ended), end_ticks + r->wait);
	return result_of(lane);
}

static int on_open(void *context, const struct brick_record *r)
{
	begin(context, r);
	return result_of(context);
}

static int on_close(void *context, const struct brick_record *r, const struct record_args *args)
{
	struct builder_lane *lane = context;

	go_to(lane, r->begin);
	end_with(lane, r, args);
	take_slice_args(lane, args);
	return result_of(lane);
}

static int on_wait(void *context, const struct brick_record *r)
{
	struct builder_lane *lane = context;

	if (!begin(lane, r))
		return result_of(lane);
	go_to(lane, r->begin + r->elements);
	end(lane);
	return result_of(lane);
}

static int on_instant(void *context, const struct brick_record *r)
{
	struct builder_lane *lane = context;
	uint32_t brick = RUN_NONE;
	double value;
	uint64_t length;

	go_to(lane, r->begin);
	build_seen(lane->lane);
	if (r->kind != BRICK_RECORD_THREAD && r->kind != BRICK_RECORD_NAME &&
		r->kind != BRICK_RECORD_DROP)
		brick = brick_of(lane->builder, lane->process, r->brick);
	switch (r->kind) {
	case BRICK_RECORD_THREAD:
		if (r->elements != lane->tid)
			build_point(lane->lane, RUN_POINT_THREAD, RUN_NONE, (double)r->elements);
		lane->tid = r->elements;
		break;
	case BRICK_RECORD_NAME:
		brick_name_read(r, lane->name);
		build_thread_name(lane->lane, lane->tid, lane->name, strlen(lane->name));
		break;
	case BRICK_RECORD_DROP:
		build_point(lane->lane, RUN_POINT_DROPPED, RUN_NONE, (double)r->elements);
		break;
	case BRICK_RECORD_INSTANT:
		build_point(lane->lane, RUN_POINT_INSTANT, brick, 0);
		break;
	case BRICK_RECORD_REPORTED:
		length = (uint64_t)r->wait << 32 | r->ticks;
		if (length <= INT64_MAX)
			build_point(lane->lane, RUN_POINT_REPORTED, brick, (double)length);
		break;
	default:
		memcpy(&value, &r->elements, sizeof(value));
		build_point(lane->lane, RUN_POINT_COUNTER, brick, value);
		break;
	}
	return result_of(lane);
}

static int on_late(void *context, const struct record_args *args)
{
	struct builder_lane *lane = context;

	if (lane->lane->ended != RUN_NONE && args->work.kind)
		refine(lane, build_sample(lane->lane, lane->lane->ended), NULL, &args->work);
	if (lane->lane->ended != RUN_NONE)
		set_command(lane, lane->lane->ended, args);
	take_args(lane, args);
	return result_of(lane);
}

static int on_unwind(void *context, uint32_t depth, enum records_unwind why)
{
	struct builder_lane *lane = context;

	go_to(lane, lane->records.last_ticks);
	for (uint32_t i = depth; i < lane->records.depth; i++) {
		struct run_sample *sample = end(lane);
		if (sample)
			sample->flags |= why == RECORDS_OPEN ? RUN_SAMPLE_OPEN : RUN_SAMPLE_UNWOUND;
		lane->builder->build.run->open_samples += sample && why == RECORDS_OPEN;
	}
	return result_of(lane);
}

static const struct records_target record_calls = {
	.sample = on_sample,
	.open = on_open,
	.close = on_close,
	.wait = on_wait,
	.instant = on_instant,
	.late = on_late,
	.unwind = on_unwind,
};

static void set_text(struct run_builder *b, char **to, const char *from, size_t bytes)
{
	free(*to);
	*to = text_of(b, from, bytes);
}

static int on_clock(struct sink *sink, const struct brick_clock *clock)
{
	struct run_builder *b = builder_of(sink);

	if (!clock->mult || clock->shift > 63)
		return -EINVAL;
	for (size_t i = 0; i < b->lanes.count; i++)
		records_release(&b->lanes.items[i]->records);
	b->build.run->clock = *clock;
	b->build.has_clock = true;
	return b->build.result;
}

/* The arguments in header->command, each ended by its NUL. */
static void set_arguments(
	struct run_builder *b, char ***to, const struct brick_session_header *header)
{
	size_t bytes = header->command_bytes, count = 0;

	if (bytes > sizeof(header->command))
		bytes = sizeof(header->command);
	char **list = calloc(bytes + 1, sizeof(*list));
	if (!list) {
		build_no_memory(&b->build);
		return;
	}
	for (size_t at = 0; at < bytes;) {
		size_t length = strnlen(header->command + at, bytes - at);
		list[count++] = text_of(b, header->command + at, length);
		at += length + 1;
	}
	char **kept = realloc(list, (count + 1) * sizeof(*list));
	run_list_free(*to);
	*to = kept ? kept : list;
}

static void set_ledger(struct brick_ledger *to, const struct brick_ledger *from)
{
#define FORMAT_X(field) to->field = from->field;
	FORMAT_LEDGER_FIELDS(FORMAT_X)
#undef FORMAT_X
}

static int on_process_state(
	struct sink *sink, int number, const struct brick_session_header *header)
{
	struct run_builder *b = builder_of(sink);

	struct run_process *process = &b->build.run->processes[number];
	struct build_process *state = &b->build.processes.items[number];
	members_copy(process, header, pid, parent, rank, world, mode, start_ns);
	set_text(b, &process->host, header->host, sizeof(header->host));
	set_text(b, &process->executable, header->executable, sizeof(header->executable));
	set_arguments(b, &process->command, header);
	set_ledger(&process->ledger, &header->ledger);
	members_copy(state, header, pair_cost, pair_cost_low, pair_cost_high, pair_cost_streamed,
		pair_cost_cold, pair_stream_ticks);
	return b->build.result;
}

static int on_process(struct sink *sink, const struct brick_session_header *header)
{
	struct run_builder *b = builder_of(sink);
	size_t number = b->build.run->process_count;

	struct builder_process *process = calloc(1, sizeof(*process));
	struct build_process *state = process ? build_process(&b->build) : NULL;
	if (!state || build_push(&b->build, &b->processes, process)) {
		free(process);
		return build_no_memory(&b->build);
	}
	process->number = (uint32_t)number;
	state->clock = header->clock;
	if (!state->clock.mult || state->clock.shift > 63)
		state->clock = (struct brick_clock){.mult = 1};
	b->build.run->processes[number].clock_source = state->clock.source;
	int error = on_process_state(sink, (int)number, header);
	return error ? error : (int)number;
}

static int on_tables(struct sink *sink, int number, const struct sink_tables *tables)
{
	struct run_builder *b = builder_of(sink);

	return tables_add(&b->processes.items[number]->tables, tables) ? build_no_memory(&b->build)
								       : 0;
}

static int on_lane(struct sink *sink, int number, const struct brick_lane *state)
{
	struct run_builder *b = builder_of(sink);
	size_t index = b->build.run->lane_count;

	struct builder_lane *lane = calloc(1, sizeof(*lane));
	if (lane)
		lane->lane = build_lane(&b->build, (uint32_t)number);
	if (!lane || !lane->lane || build_push(&b->build, &b->lanes, lane)) {
		free(lane);
		return build_no_memory(&b->build);
	}
	lane->builder = b;
	lane->process = b->processes.items[number];
	lane->records = (struct records_lane){.target = &record_calls,
		.context = lane,
		.tables = &lane->process->tables,
		.bad = &b->bad_records};
	lane->tid = state->tid;
	lane->lane->start_ticks = state->start_ticks;
	struct run_lane *run_lane = &b->build.run->lanes[index];
	run_lane->kind = state->kind;
	run_lane->tid = run_lane->first_tid = state->tid;
	set_text(b, &run_lane->name, state->name, sizeof(state->name));
	if (state->kind != BRICK_LANE_THREAD) {
		set_text(b, &run_lane->backend, state->backend, sizeof(state->backend));
		run_lane->queue_flags = (uint32_t)state->queue_flags;
	}
	return b->build.result ? b->build.result : (int)index;
}

static int on_records(
	struct sink *sink, int number, const struct brick_record *records, size_t count)
{
	struct run_builder *b = builder_of(sink);

	return records_take(&b->lanes.items[number]->records, records, count);
}

static void release_of(struct run_builder *b, const struct builder_process *process)
{
	for (size_t i = 0; i < b->lanes.count && !b->build.result; i++)
		if (!process || b->lanes.items[i]->process == process)
			records_release(&b->lanes.items[i]->records);
}

static int on_process_end(struct sink *sink, int number, uint64_t end_ticks, int closed)
{
	struct run_builder *b = builder_of(sink);

	release_of(b, b->processes.items[number]);
	b->build.processes.items[number].end_ticks = end_ticks;
	b->build.processes.items[number].ended = true;
	b->build.run->processes[number].closed = closed != 0;
	return b->build.result;
}

static int on_flush(struct sink *sink)
{
	struct run_builder *b = builder_of(sink);

	release_of(b, NULL);
	return b->build.result;
}

static int on_code(struct sink *sink, const struct sink_code *code)
{
	struct run_builder *b = builder_of(sink);

	struct run_code made = {.hash = code->hash,
		.source = text_of(b, code->source,
			code->source_bytes < MAX_SOURCE ? code->source_bytes : MAX_SOURCE)};
	if (code->name_bytes)
		made.name = text_of(b, code->name, code->name_bytes);
	if (code->path_bytes)
		made.path = text_of(b, code->path, code->path_bytes);
	build_code(&b->build, &made);
	return b->build.result;
}

static int set_stat(struct run_builder *b, struct builder_lane *lane, uint32_t id,
	const struct brick_stat *from)
{
	uint32_t brick = brick_of(b, lane->process, id);
	struct brick_stat *to = brick != RUN_NONE ? build_stat(&b->build, lane->lane, brick) : NULL;

	if (!to)
		return b->build.result;
	*to = (struct brick_stat){0};
#define FORMAT_X(field) to->field = from->field;
	FORMAT_STAT_FIELDS(FORMAT_X)
#undef FORMAT_X
	return 0;
}

static int on_off_cpu(
	struct sink *sink, int number, const struct sink_off_cpu *intervals, size_t count)
{
	struct run_builder *b = builder_of(sink);

	for (size_t i = 0; i < count && !b->build.result; i++) {
		const struct sink_off_cpu *o = &intervals[i];
		struct build_lane *lane = b->lanes.items[number]->lane;
		const struct run_lane *run_lane = &b->build.run->lanes[number];
		size_t n = run_lane->off_cpu_count;
		uint64_t free_ns = n ? run_lane->off_cpu[n - 1].end_ns : 0;
		build_off_cpu(lane, o->begin_ns > free_ns ? o->begin_ns : free_ns, o->end_ns,
			o->preempted != 0);
	}
	return b->build.result;
}

static int on_lane_stats(struct sink *sink, int number, const struct brick_lane *state)
{
	struct run_builder *b = builder_of(sink);

	struct builder_lane *lane = b->lanes.items[number];
	struct run_lane *run_lane = &b->build.run->lanes[number];
	int error = records_release(&lane->records);
	run_lane->tid = state->tid;
	set_text(b, &run_lane->name, state->name, sizeof(state->name));
	run_lane->hook_calls = state->hook_calls;
	run_lane->hook_timed = state->hook_timed;
	set_ledger(&run_lane->ledger, &state->ledger);
	lane->lane->hook_ticks = state->hook_ticks;
	lane->lane->end_ticks = state->end_ticks;
	for (uint32_t i = 0; i < lane->process->tables.brick_count && !error; i++) {
		struct brick_stat stat = state->stats[i];
		if (stat.count)
			error = set_stat(b, lane, i, &stat);
	}
	build_stat(&b->build, lane->lane, 0);
	return b->build.result;
}

static int on_histograms(struct sink *sink, int number, uint32_t brick_count,
	const struct ticks_histogram *const *histograms)
{
	struct run_builder *b = builder_of(sink);

	struct builder_process *process = b->processes.items[number];
	for (uint32_t i = 0; i < brick_count && i < process->tables.brick_count; i++) {
		uint32_t brick = histograms[i] ? brick_of(b, process, i) : RUN_NONE;
		struct ticks_histogram *to =
			brick == RUN_NONE ? NULL
					  : build_histogram(&b->build,
						    &b->build.processes.items[number], brick);
		if (to)
			*to = *histograms[i];
	}
	return b->build.result;
}

static int on_notes(struct sink *sink, int number, const char *notes, size_t bytes)
{
	struct run_builder *b = builder_of(sink);
	SCOPED char *text = text_of(b, notes, bytes);

	if (!text)
		return b->build.result;
	build_notes(&b->build, (uint32_t)number, text, strlen(text));
	return b->build.result;
}

static int on_digest(struct sink *sink, int number, const struct brick_session_digest *d)
{
	struct run_builder *b = builder_of(sink);

	const struct tables *tables = &b->processes.items[number]->tables;
	if (d->brick >= tables->brick_count)
		return -EINVAL;
	if (!build_digest_possible(&d->digest))
		return 0;
	const struct brick_session_site *site =
		d->site && d->site < tables->site_count ? &tables->sites[d->site] : NULL;
	struct run_digest digest = {.process = (uint32_t)number,
		.brick = brick_of(b, b->processes.items[number], d->brick),
		.layer = d->layer,
		.decode = (d->flags & BRICK_SESSION_DIGEST_DECODE) != 0,
		.step = d->step,
		.tokens = d->tokens,
		.ns = d->ticks,
		.output = d->output,
		.digest = d->digest};
	memcpy(digest.inputs, d->inputs, sizeof(digest.inputs));
	if (digest.brick == RUN_NONE)
		return b->build.result;
	if (site && site->operation[0])
		digest.operation = text_of(b, site->operation, sizeof(site->operation));
	const char *label = site && site->label[0] ? site->label : d->label;
	if (label[0])
		digest.label = text_of(b, label, sizeof(d->label));
	build_digest(&b->build, &digest);
	return b->build.result;
}

static int on_account(struct sink *sink, const struct sink_account *account)
{
	struct run_builder *b = builder_of(sink);
	struct run *run = b->build.run;

	members_copy(run, account, end_ns, consumer_cpu_ns, program_cpu_ns, lost_processes, cpus,
		usable_cpus, exit_code);
	if (account->clock_residual_ns > run->clock.residual_ns)
		run->clock.residual_ns = account->clock_residual_ns;
	run->off_cpu = account->off_cpu;
	run->machine = account->machine;
	return 0;
}

static const struct sink_type builder_type = {
	.clock = on_clock,
	.process = on_process,
	.process_state = on_process_state,
	.tables = on_tables,
	.code = on_code,
	.lane = on_lane,
	.records = on_records,
	.off_cpu = on_off_cpu,
	.lane_stats = on_lane_stats,
	.histograms = on_histograms,
	.notes = on_notes,
	.digest = on_digest,
	.account = on_account,
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
		set_text(b, &run->host, options->host, strlen(options->host));
	if (options->cpu)
		set_text(b, &run->cpu, options->cpu, strlen(options->cpu));
	while (options->command && options->command[count])
		count++;
	run->command = calloc(count + 1, sizeof(*run->command));
	for (size_t i = 0; run->command && i < count; i++)
		run->command[i] = text_of(b, options->command[i], strlen(options->command[i]));
	return run->command ? b->build.result : build_no_memory(&b->build);
}

int run_builder_create(struct run_builder **out, const struct trace_writer_options *options)
{
	struct run_builder *b = calloc(1, sizeof(*b));

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
	for (size_t i = 0; i < b->processes.count; i++) {
		tables_fini(&b->processes.items[i]->tables);
		free(b->processes.items[i]->sites);
		free(b->processes.items[i]);
	}
	for (size_t i = 0; i < b->lanes.count; i++)
		free(b->lanes.items[i]);
	array_fini(&b->processes);
	array_fini(&b->lanes);
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
