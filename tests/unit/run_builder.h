/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A struct run built by hand, for tests of what reads runs. Everything grows as it is added;
 * run_fini() frees all of it. One test at a time.
 */
#pragma once

#include <stdlib.h>
#include <string.h>
#include "brick/probe.h"
#include "brick/registry.h"
#include "trace/run.h"

#define BUILDER_UNUSED __attribute__((unused))

/* Room for one more: doubles at powers of two. */
#define BUILDER_GROW(array, count)                                                                \
	do {                                                                                      \
		if (((count) & ((count)-1)) == 0)                                                 \
			(array) =                                                                 \
				realloc((array), ((count) ? 2 * (count) : 1) * sizeof(*(array))); \
		if (!(array))                                                                     \
			abort();                                                                  \
	} while (0)

static inline char *builder_copy(const char *s)
{
	return s ? strdup(s) : NULL;
}

static BUILDER_UNUSED uint32_t builder_category(struct run *run, const char *name)
{
	for (uint32_t i = 0; i < run->category_count; i++)
		if (!strcmp(run->categories[i].name, name))
			return i;
	BUILDER_GROW(run->categories, run->category_count);
	run->categories[run->category_count].name = builder_copy(name);
	return (uint32_t)run->category_count++;
}

static BUILDER_UNUSED uint32_t builder_brick(
	struct run *run, const char *name, const char *category)
{
	for (uint32_t i = 0; i < run->brick_count; i++)
		if (!strcmp(run->bricks[i].name, name))
			return i;
	uint32_t c = builder_category(run, category);
	int id = brick_lookup(name);
	BUILDER_GROW(run->bricks, run->brick_count);
	run->bricks[run->brick_count] = (struct run_brick){
		builder_copy(name), c, id >= 0 && id < BRICK_FIRST_DYNAMIC ? id : -1};
	return (uint32_t)run->brick_count++;
}

/* A well-known or built-in brick by its id. */
static BUILDER_UNUSED uint32_t builder_known(struct run *run, int id)
{
	return builder_brick(run, brick_name(id), brick_category_name(brick_category_of(id)));
}

static BUILDER_UNUSED uint32_t builder_site(
	struct run *run, uint32_t brick, int32_t layer, const char *operation, const char *label)
{
	BUILDER_GROW(run->sites, run->site_count);
	run->sites[run->site_count] = (struct run_site){.brick = brick,
		.layer = layer,
		.operation = builder_copy(operation),
		.label = builder_copy(label)};
	return (uint32_t)run->site_count++;
}

static BUILDER_UNUSED uint32_t builder_process(struct run *run, uint32_t pid)
{
	BUILDER_GROW(run->processes, run->process_count);
	run->processes[run->process_count] =
		(struct run_process){.pid = pid, .rank = -1, .world = -1, .closed = 1};
	return (uint32_t)run->process_count++;
}

static BUILDER_UNUSED uint32_t builder_lane(struct run *run, uint32_t process, uint64_t tid)
{
	BUILDER_GROW(run->lanes, run->lane_count);
	run->lanes[run->lane_count] = (struct run_lane){.process = process,
		.kind = BRICK_LANE_THREAD,
		.tid = tid,
		.name = builder_copy("t")};
	return (uint32_t)run->lane_count++;
}

/* From then on the lane is another thread's. */
static BUILDER_UNUSED void builder_owner(struct run *run, uint32_t lane, uint64_t ns, uint64_t tid)
{
	BUILDER_GROW(run->points, run->point_count);
	run->points[run->point_count++] = (struct run_point){.ns = ns,
		.lane = lane,
		.kind = RUN_POINT_THREAD,
		.brick = RUN_NONE,
		.value = (double)tid};
}

/* Append a sample: call it in the order of begins, what holds others before them. */
static BUILDER_UNUSED struct run_sample *builder_sample(struct run *run, uint32_t lane,
	uint32_t site, uint64_t begin_ns, uint64_t end_ns, unsigned depth)
{
	struct run_lane *l = &run->lanes[lane];
	BUILDER_GROW(l->samples, l->sample_count);
	l->samples[l->sample_count] = (struct run_sample){.begin_ns = begin_ns,
		.end_ns = end_ns,
		.site = site,
		.depth = (uint8_t)depth,
		.source = BRICK_SOURCE_TSC};
	return &l->samples[l->sample_count++];
}

/* Declare the lane's last sample a step: call it in the order of begins over all lanes. */
static BUILDER_UNUSED uint32_t builder_step(struct run *run, uint32_t lane, uint64_t tokens)
{
	const struct run_lane *l = &run->lanes[lane];
	const struct run_sample *sample = &l->samples[l->sample_count - 1];
	const struct run_brick *brick = &run->bricks[run->sites[sample->site].brick];
	BUILDER_GROW(run->steps, run->step_count);
	run->steps[run->step_count] = (struct run_step){.lane = lane,
		.sample = (uint32_t)(l->sample_count - 1),
		.phase = brick->well_known == BRICK_DECODE	 ? BRICK_PHASE_DECODE
			 : brick->well_known == BRICK_MIXED	 ? BRICK_PHASE_MIXED
			 : brick->well_known == BRICK_WARM_UP	 ? BRICK_PHASE_WARM_UP
			 : brick->well_known == BRICK_OTHER_STEP ? BRICK_PHASE_OTHER
								 : BRICK_PHASE_PREFILL,
		.tokens = tokens,
		.open = sample->flags & RUN_SAMPLE_OPEN,
		.begin_ns = sample->begin_ns,
		.end_ns = sample->end_ns};
	return (uint32_t)run->step_count++;
}

static BUILDER_UNUSED void builder_note(struct run *run, const char *key, const char *value)
{
	BUILDER_GROW(run->notes, run->note_count);
	run->notes[run->note_count++] =
		(struct run_note){0, builder_copy(key), builder_copy(value)};
}

static BUILDER_UNUSED uint32_t builder_queue(struct run *run, uint32_t process, uint64_t number)
{
	uint32_t lane = builder_lane(run, process, number);
	run->lanes[lane].kind = BRICK_LANE_QUEUE;
	run->lanes[lane].backend = builder_copy("null");
	return lane;
}

/* groups 0: its shape is not known, as that of transfers. */
static BUILDER_UNUSED uint32_t builder_kernel(
	struct run *run, const char *name, uint32_t kind, uint32_t groups)
{
	BUILDER_GROW(run->kernels, run->kernel_count);
	run->kernels[run->kernel_count] = (struct run_kernel){.name = builder_copy(name),
		.backend = builder_copy("null"),
		.kind = kind,
		.grid = {groups, groups != 0, groups != 0},
		.block = {groups ? 64 : 0, groups != 0, groups != 0}};
	return (uint32_t)run->kernel_count++;
}

/*
 * Declare the lane's last sample a command that the last sample of launch_lane launched (RUN_NONE:
 * not known): call it lane by lane, in the order of samples. after: a command, or RUN_NONE.
 */
static BUILDER_UNUSED uint32_t builder_command(struct run *run, uint32_t lane, uint32_t kernel,
	uint32_t launch_lane, uint32_t launch_sample, uint32_t after)
{
	BUILDER_GROW(run->commands, run->command_count);
	struct run_command *c = &run->commands[run->command_count];
	*c = (struct run_command){.lane = lane,
		.sample = (uint32_t)(run->lanes[lane].sample_count - 1),
		.kernel = kernel,
		.launch_lane = launch_lane,
		.launch_sample = launch_lane == RUN_NONE ? RUN_NONE : launch_sample,
		.number = run->command_count + 1};
	if (launch_lane != RUN_NONE) {
		const struct run_sample *call = &run->lanes[launch_lane].samples[launch_sample];
		c->launch_ns = call->begin_ns;
		c->launch_end_ns = call->end_ns;
	}
	if (after != RUN_NONE) {
		BUILDER_GROW(run->dependencies, run->dependency_count);
		c->dependency_first = (uint32_t)run->dependency_count;
		c->dependency_count = 1;
		run->dependencies[run->dependency_count++] = after;
	}
	return (uint32_t)run->command_count++;
}

/* A sample of a thread waited for a command. */
static BUILDER_UNUSED void builder_waits(
	struct run *run, uint32_t lane, uint32_t sample, uint32_t command)
{
	BUILDER_GROW(run->waits, run->wait_count);
	run->waits[run->wait_count++] = (struct run_wait){lane, sample, command, 0};
}

/* Of no step, position or end yet. The pointer is good until the next one is made. */
static BUILDER_UNUSED struct run_sequence_event *builder_sequence_event(
	struct run *run, uint64_t ns, enum brick_sequence_event kind, int32_t sequence)
{
	BUILDER_GROW(run->sequence_events, run->sequence_event_count);
	struct run_sequence_event *e = &run->sequence_events[run->sequence_event_count++];
	*e = (struct run_sequence_event){.ns = ns,
		.step = RUN_NONE,
		.event = (uint8_t)kind,
		.sequence = sequence,
		.position = -1,
		.end = -1};
	return e;
}
