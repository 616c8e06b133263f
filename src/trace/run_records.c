/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a lane, which keep the rules (records.c), become samples, commands and points. It
 * comes to what a recording would: what docs/FORMAT.md lets a file say, and no more.
 */
#include <string.h>
#include "brick/registry.h"
#include "lib/writer/format.h"
#include "trace/run_builder_state.h"

static const struct brick_clock *run_records_clock(
	const struct run_builder *b, const struct builder_process *process)
{
	return sink_clock_of(&b->build.run->clock, &b->build.processes[process->number].clock);
}

static uint64_t ns_of(const struct builder_lane *lane, uint64_t ticks)
{
	return brick_clock_ns(run_records_clock(lane->builder, lane->process), ticks);
}

static uint64_t length_of(const struct builder_lane *lane, uint64_t ticks)
{
	return brick_clock_duration_ns(run_records_clock(lane->builder, lane->process), ticks);
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
		return run_site_of(lane->builder, lane->process, r->site, r->brick);
	if (record_is_step(r)) {
		site.flags = BRICK_SITE_HAS_ELEMENTS;
		site.elements = record_tokens(r);
		site.output_tokens = record_output_tokens(r);
	}
	return build_plain_site(&lane->builder->build, &site);
}

/* 0: it could not be used. */
static int begin(struct builder_lane *lane, const struct brick_record *r)
{
	uint32_t brick = run_brick_of(lane->builder, lane->process, r->brick);
	uint32_t site = brick != RUN_NONE ? site_at_begin(lane, r, brick) : RUN_NONE;

	go_to(lane, r->begin);
	if (site == RUN_NONE) {
		lane->lane->too_deep++;
		return 0;
	}
	const struct build_slice slice = {
		.brick = brick, .site = site, .source = r->source, .step = record_is_step(r) != 0};
	return build_slice(lane->lane, &slice);
}

/* The sample that ends, or NULL: it could not be used. */
static struct run_sample *end(struct builder_lane *lane)
{
	const struct build_slice slice = {.is_end = 1};

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
		uint32_t site = run_site_of(lane->builder, lane->process, r->site, r->brick);
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
	int is_timed = (args->launch.kind && args->launch.begin) ||
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
		command->kernel = run_kernel_of(lane->builder, lane->process, kernel);
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

/* What else is known of the slice that ended last. */
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

/* The same while it is known what the slice launched, or was: times alone do not make a command. */
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

	run_brick_of(lane->builder, lane->process, BRICK_BARRIER_WAIT);
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

	go_to(lane, r->begin);
	build_seen(lane->lane);
	if (r->kind != BRICK_RECORD_THREAD && r->kind != BRICK_RECORD_NAME &&
		r->kind != BRICK_RECORD_DROP)
		brick = run_brick_of(lane->builder, lane->process, r->brick);
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
		if (length_of(lane, r->elements) <= INT64_MAX)
			build_point(lane->lane, RUN_POINT_REPORTED, brick,
				(double)length_of(lane, r->elements));
		break;
	default:
		memcpy(&value, &r->elements, sizeof value);
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

const struct records_target run_records = {
	.sample = on_sample,
	.open = on_open,
	.close = on_close,
	.wait = on_wait,
	.instant = on_instant,
	.late = on_late,
	.unwind = on_unwind,
};
