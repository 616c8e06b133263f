/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for every run, whatever file it was loaded from: indices lie in their arrays, samples
 * nest, time runs forward. For tests and the fuzzer. Header only.
 */
#pragma once

#include <stdlib.h>
#include <string.h>
#include "trace/run.h"

/* Each returns a sentence on what does not hold, NULL when all does. */
static inline const char *check_samples(const struct run *run, const struct run_lane *lane)
{
	uint64_t ends[256];
	uint32_t depth = 0;

	for (size_t i = 0; i < lane->sample_count; i++) {
		const struct run_sample *s = &lane->samples[i];
		if (s->site >= run->site_count)
			return "a sample without a site";
		if (s->end_ns < s->begin_ns)
			return "a sample ends before it begins";
		if (i && s->begin_ns < lane->samples[i - 1].begin_ns)
			return "samples are not in order";
		if (s->depth > depth)
			return "a sample has no parent";
		if (s->depth && s->end_ns > ends[s->depth - 1])
			return "a sample ends after its parent";
		if (s->depth < depth && s->begin_ns < ends[s->depth])
			return "a sample begins before the one beside it has ended";
		ends[s->depth] = s->end_ns;
		depth = s->depth + 1u;
		if (s->end_ns > lane->end_ns || s->begin_ns < lane->start_ns)
			return "a sample lies outside of its lane";
		if (s->source > BRICK_SOURCE_ESTIMATED)
			return "a sample's source does not exist";
	}
	return NULL;
}

static inline const char *check_names(const struct run *run)
{
	for (size_t i = 0; i < run->category_count; i++)
		if (!run->categories[i].name)
			return "a category without a name";
	for (size_t i = 0; i < run->brick_count; i++)
		if (!run->bricks[i].name || run->bricks[i].category >= run->category_count ||
			run_brick_find(run, run->bricks[i].name) != i)
			return "a brick without a name or category of its own";
	for (size_t i = 0; i < run->site_count; i++)
		if (run->sites[i].brick >= run->brick_count)
			return "a site without a brick";
	for (size_t i = 0; i < run->note_count; i++)
		if (!run->notes[i].key || !run->notes[i].value ||
			run->notes[i].process >= run->process_count)
			return "a note without a process";
	return NULL;
}

static inline const char *check_steps(const struct run *run)
{
	for (size_t i = 0; i < run->step_count; i++) {
		const struct run_step *s = &run->steps[i];
		if (s->lane >= run->lane_count || s->sample >= run->lanes[s->lane].sample_count)
			return "a step without a sample";
		if (i && s->begin_ns < run->steps[i - 1].begin_ns)
			return "steps are not in order";
	}
	for (size_t i = 0; i < run->point_count; i++)
		if (run->points[i].lane >= run->lane_count ||
			(run->points[i].brick != RUN_NONE &&
				run->points[i].brick >= run->brick_count))
			return "a point without a lane or brick";
	return NULL;
}

static inline int has_sample(const struct run *run, uint32_t lane, uint32_t sample)
{
	return lane < run->lane_count && sample < run->lanes[lane].sample_count;
}

static inline const char *check_command(const struct run *run, size_t i)
{
	const struct run_command *c = &run->commands[i], *before = c - 1;

	if (!has_sample(run, c->lane, c->sample))
		return "a command without a sample";
	if (run->lanes[c->lane].kind != BRICK_LANE_QUEUE)
		return "a command that is on no queue";
	if (i && (before->lane > c->lane ||
			 (before->lane == c->lane && before->sample >= c->sample)))
		return "commands are not in order";
	if (c->kernel >= run->kernel_count)
		return "a command without a kernel";
	if ((c->launch_lane == RUN_NONE) != (c->launch_sample == RUN_NONE))
		return "a launch by half";
	if (c->launch_lane != RUN_NONE && !has_sample(run, c->launch_lane, c->launch_sample))
		return "a launch without a sample";
	if (c->dependency_first > run->dependency_count ||
		c->dependency_count > run->dependency_count - c->dependency_first)
		return "a command comes after what is not there";
	if (c->launch_end_ns < c->launch_ns)
		return "a launch ends before it begins";
	return NULL;
}

static inline const char *check_commands(const struct run *run)
{
	const char *wrong = NULL;

	for (size_t i = 0; !wrong && i < run->command_count; i++)
		wrong = check_command(run, i);
	for (size_t i = 0; i < run->dependency_count; i++)
		if (run->dependencies[i] >= run->command_count)
			return "something comes after no command";
	for (size_t i = 0; i < run->wait_count; i++)
		if (!has_sample(run, run->waits[i].lane, run->waits[i].sample) ||
			run->waits[i].command >= run->command_count)
			return "a wait without a sample or command";
	for (size_t i = 0; i < run->kernel_count; i++)
		if (!run->kernels[i].name || run->kernels[i].kind > BRICK_KERNEL_OTHER)
			return "a kernel without a name or kind";
	for (size_t i = 0; i < run->code_count; i++)
		if (!run->codes[i].source)
			return "code without a source";
	for (size_t i = 0; i < run->tile_count; i++)
		if (!has_sample(run, run->tiles[i].lane, run->tiles[i].sample))
			return "a tile without a sample";
	return wrong;
}

static inline const char *check_digests(const struct run *run)
{
	for (size_t i = 0; i < run->digest_count; i++) {
		const struct run_digest *d = &run->digests[i];
		if (d->process >= run->process_count || d->brick >= run->brick_count)
			return "a digest without process or brick";
		if (!(d->digest.square_sum >= 0) || d->digest.dtype == BRICK_DTYPE_OTHER)
			return "a digest of nothing";
		for (int k = 0; k < BRICK_DIGEST_BUCKETS; k++)
			if (!(d->digest.sketch[k] - d->digest.sketch[k] == 0))
				return "a sketch that is not finite";
	}
	return NULL;
}

/* A caller stands before what it calls, so nothing leads round in a circle. */
static inline const char *check_stacks(const struct run *run)
{
	for (size_t i = 0; i < run->call_count; i++)
		if (run->calls[i].function >= run->function_count ||
			(run->calls[i].caller != RUN_NONE && run->calls[i].caller >= i))
			return "a call of no function, or of a later one";
	for (size_t i = 0; i < run->stack_count; i++) {
		const struct run_stack *s = &run->stacks[i];
		if (s->call >= run->call_count || s->thread >= run->stack_thread_count ||
			(s->lane != RUN_NONE && s->lane >= run->lane_count))
			return "a stack of nothing, or of no thread";
		if (i && run->stacks[i - 1].ns > s->ns)
			return "stacks are not in the order of time";
	}
	return NULL;
}

static inline const char *check_run(const struct run *run)
{
	const char *wrong = check_names(run);

	for (size_t i = 0; !wrong && i < run->lane_count; i++) {
		if (run->lanes[i].process >= run->process_count)
			return "a lane without a process";
		wrong = check_samples(run, &run->lanes[i]);
	}
	if (!wrong)
		wrong = check_commands(run);
	if (!wrong)
		wrong = check_digests(run);
	if (!wrong)
		wrong = check_stacks(run);
	return wrong ? wrong : check_steps(run);
}
