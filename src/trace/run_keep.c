/* SPDX-License-Identifier: Apache-2.0 */
/* Moves kept items together, where they lie, and numbers them anew. */
#include "trace/run_keep.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/array.h"
#include "base/hashmap.h"
#include "base/scope.h"

/*
 * New numbers of samples by lane, and of commands; RUN_NONE: left out. NULL: the lane's numbers
 * stay.
 */
struct numbers {
	uint32_t **samples;
	uint32_t *commands;
};

static void numbers_fini(struct numbers *n, const struct run *run)
{
	for (size_t i = 0; n->samples && i < run->lane_count; i++)
		free(n->samples[i]);
	free(n->samples);
	free(n->commands);
}

static int numbers_init(struct numbers *n, const struct run *run, uint8_t *const *keep)
{
	n->samples = calloc(run->lane_count + 1, sizeof(*n->samples));
	n->commands = calloc(run->command_count + 1, sizeof(*n->commands));
	int rc = n->samples && n->commands ? 0 : -ENOMEM;
	for (size_t lane = 0; lane < run->lane_count && rc == 0; lane++) {
		size_t count = run->lanes[lane].sample_count;
		if (!keep[lane])
			continue;
		uint32_t *own = calloc(count + 1, sizeof(*own)), next = 0;
		rc = own ? 0 : -ENOMEM;
		for (size_t i = 0; own && i < count; i++)
			own[i] = keep[lane][i] ? next++ : RUN_NONE;
		n->samples[lane] = own;
	}
	if (rc < 0)
		numbers_fini(n, run);
	return rc;
}

static uint32_t run_keep_number_of(const struct numbers *n, uint32_t lane, uint32_t sample)
{
	return n->samples[lane] ? n->samples[lane][sample] : sample;
}

static size_t whole_pages(size_t samples)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = samples * sizeof(struct run_sample);
	return (bytes + page - 1) / page * page;
}

/* Unmap pages of samples in a file that are not needed any more. */
static void unmap_end(struct run_lane *lane, size_t count)
{
	size_t kept = whole_pages(count), bytes = whole_pages(lane->sample_count);
	if (bytes > kept)
		munmap((char *)lane->samples + kept, bytes - kept);
	if (!count)
		lane->samples = NULL;
	if (count < lane->spilled)
		lane->spilled = count;
}

int run_edit(struct run *run)
{
	for (size_t i = 0; i < run->lane_count; i++) {
		const struct run_lane *lane = &run->lanes[i];
		if (lane->spilled &&
			mprotect(lane->samples, whole_pages(lane->spilled), PROT_READ | PROT_WRITE))
			return -errno;
	}
	return 0;
}

/* depths: the new depth of samples that stood at each old depth. */
static void move_samples(struct run_lane *lane, const uint32_t *numbers)
{
	uint8_t depths[UINT8_MAX + 2] = {0};
	size_t count = 0;
	for (size_t i = 0; i < lane->sample_count; i++) {
		run_lane_passed(lane, i);
		struct run_sample sample = lane->samples[i];
		unsigned depth = sample.depth;
		int kept = numbers[i] != RUN_NONE;
		depths[depth + 1] = (uint8_t)(depths[depth] + (kept && depths[depth] < UINT8_MAX));
		sample.depth = depths[depth];
		if (kept)
			lane->samples[count++] = sample;
	}
	if (lane->spilled)
		unmap_end(lane, count);
	lane->sample_count = count;
}

/* Events name the steps anew; `steps` are their new numbers. */
static void move_sequence_events(struct run *run, const uint32_t *steps)
{
	size_t count = 0;
	for (size_t i = 0; i < run->sequence_event_count; i++) {
		struct run_sequence_event event = run->sequence_events[i];
		bool is_lost = event.step != RUN_NONE && steps[event.step] == RUN_NONE;
		if (event.step != RUN_NONE)
			event.step = steps[event.step];
		if (!is_lost)
			run->sequence_events[count++] = event;
	}
	run->sequence_event_count = count;
}

static void move_experts(struct run *run, const uint32_t *steps, bool between)
{
	size_t count = 0;
	for (size_t i = 0; i < run->expert_count; i++) {
		struct run_expert expert = run->experts[i];
		bool stays = between && expert.step == RUN_NONE;
		expert.step = expert.step == RUN_NONE ? RUN_NONE : steps[expert.step];
		if (stays || expert.step != RUN_NONE)
			run->experts[count++] = expert;
	}
	run->expert_count = count;
}

/* The last entry about each memory, of those that are left out. */
struct memory_left {
	ARRAY(struct memory_left_entry {
		struct run_memory memory;
		bool waits; /* no entry that is kept says the same or later */
	})
	list;
	ARRAY(uint32_t) waiting; /* indices in `list`, of which some wait no more */
	struct hashmap by_key;	 /* indices in `list` */
};

static void memory_left_fini(struct memory_left *left)
{
	array_fini(&left->list);
	array_fini(&left->waiting);
	hashmap_fini(&left->by_key);
}

static uint64_t memory_left_key(const struct run *run, const struct run_memory *m)
{
	return hash_add(hash_add(run->lanes[m->lane].process, m->gpu << 8 | m->kind),
		m->is_of_site ? m->site : RUN_NONE);
}

static int memory_left_set(struct memory_left *left, uint64_t key, const struct run_memory *m)
{
	const struct memory_left_entry entry = {*m, false};
	uint64_t at = hashmap_get(&left->by_key, key);

	if (at == HASHMAP_NONE) {
		at = left->list.count;
		if (array_push(&left->list, entry) || hashmap_set(&left->by_key, key, at))
			return -ENOMEM;
	}
	if (!left->list.items[at].waits && array_push(&left->waiting, (uint32_t)at))
		return -ENOMEM;
	left->list.items[at] = (struct memory_left_entry){*m, true};
	return 0;
}

/* The step begins with what is known of its process's memory. Returns the new count. */
static size_t memory_left_carry(
	struct memory_left *left, struct run *run, uint32_t step, size_t count)
{
	const struct run_step *s = &run->steps[step];
	size_t others = 0;

	for (size_t i = 0; i < left->waiting.count; i++) {
		struct memory_left_entry *entry = &left->list.items[left->waiting.items[i]];
		if (!entry->waits)
			continue;
		if (run->lanes[entry->memory.lane].process != run->lanes[s->lane].process) {
			left->waiting.items[others++] = left->waiting.items[i];
			continue;
		}
		struct run_memory *m = &run->memories[count++];
		*m = entry->memory;
		m->ns = s->begin_ns;
		m->lane = s->lane;
		m->step = step;
		m->peak_bytes = m->live_bytes;
		entry->waits = false;
	}
	left->waiting.count = others;
	return count;
}

/*
 * What is alive after a step that is left out is said again at the begin of the next step that is
 * kept. Entries lie in the place of those that are left out, of which there are no fewer.
 */
static int move_memory(struct run *run, const uint32_t *steps, bool between)
{
	SCOPED_BY(memory_left_fini) struct memory_left left = {0};
	size_t count = 0, next = 0;

	for (size_t i = 0; i < run->memory_count; i++) {
		struct run_memory memory = run->memories[i];
		for (; next < run->step_count && run->steps[next].begin_ns <= memory.ns; next++)
			count = memory_left_carry(&left, run, (uint32_t)next, count);
		uint64_t key = memory_left_key(run, &memory), at;
		bool stays = between && memory.step == RUN_NONE;
		memory.step = memory.step == RUN_NONE ? RUN_NONE : steps[memory.step];
		if (!stays && memory.step == RUN_NONE) {
			if (memory_left_set(&left, key, &memory))
				return -ENOMEM;
			continue;
		}
		at = hashmap_get(&left.by_key, key);
		if (at != HASHMAP_NONE)
			left.list.items[at].waits = false;
		run->memories[count++] = memory;
	}
	for (; next < run->step_count; next++)
		count = memory_left_carry(&left, run, (uint32_t)next, count);
	run->memory_count = count;
	return 0;
}

static int move_steps(struct run *run, const struct numbers *n, bool between)
{
	uint32_t *steps = calloc(run->step_count + 1, sizeof(*steps));
	size_t count = 0;
	if (!steps)
		return -ENOMEM;
	for (size_t i = 0; i < run->step_count; i++) {
		struct run_step step = run->steps[i];
		if (step.lane < run->lane_count && step.sample < run->lanes[step.lane].sample_count)
			step.sample = run_keep_number_of(n, step.lane, step.sample);
		steps[i] = step.sample != RUN_NONE ? (uint32_t)count : RUN_NONE;
		if (step.sample != RUN_NONE)
			run->steps[count++] = step;
	}
	run->step_count = count;
	move_sequence_events(run, steps);
	move_experts(run, steps, between);
	int error = move_memory(run, steps, between);
	free(steps);
	return error;
}

static void move_commands(struct run *run, const struct numbers *n)
{
	size_t count = 0;
	for (size_t i = 0; i < run->command_count; i++) {
		struct run_command *c = &run->commands[i];
		uint32_t sample = run_keep_number_of(n, c->lane, c->sample);
		n->commands[i] = sample == RUN_NONE ? RUN_NONE : (uint32_t)count;
		if (sample == RUN_NONE)
			continue;
		c->sample = sample;
		if (c->launch_lane != RUN_NONE)
			c->launch_sample = run_keep_number_of(n, c->launch_lane, c->launch_sample);
		if (c->launch_sample == RUN_NONE)
			c->launch_lane = RUN_NONE;
		run->commands[count++] = *c;
	}
	run->command_count = count;
}

static void move_dependencies(struct run *run, const struct numbers *n)
{
	for (size_t i = 0; i < run->command_count; i++) {
		struct run_command *c = &run->commands[i];
		uint32_t count = 0;
		for (uint32_t k = 0; k < c->dependency_count; k++) {
			uint32_t after = n->commands[run->dependencies[c->dependency_first + k]];
			if (after != RUN_NONE)
				run->dependencies[c->dependency_first + count++] = after;
		}
		c->dependency_count = count;
	}
}

static void move_waits(struct run *run, const struct numbers *n)
{
	size_t count = 0;
	for (size_t i = 0; i < run->wait_count; i++) {
		struct run_wait wait = run->waits[i];
		wait.sample = run_keep_number_of(n, wait.lane, wait.sample);
		wait.command = n->commands[wait.command];
		if (wait.sample != RUN_NONE && wait.command != RUN_NONE)
			run->waits[count++] = wait;
	}
	run->wait_count = count;
}

static void move_messages(struct run *run, const struct numbers *n)
{
	size_t count = 0;
	for (size_t i = 0; i < run->message_count; i++) {
		struct run_message message = run->messages[i];
		if (message.sample != RUN_NONE)
			message.sample = run_keep_number_of(n, message.lane, message.sample);
		if (message.sample != RUN_NONE)
			run->messages[count++] = message;
	}
	run->message_count = count;
}

static void move_tiles(struct run *run, const struct numbers *n)
{
	size_t count = 0;
	for (size_t i = 0; i < run->tile_count; i++) {
		struct run_tile tile = run->tiles[i];
		tile.sample = run_keep_number_of(n, tile.lane, tile.sample);
		if (tile.sample != RUN_NONE)
			run->tiles[count++] = tile;
	}
	run->tile_count = count;
}

int run_keep(struct run *run, uint8_t *const *keep, bool between)
{
	struct numbers numbers;
	int rc = numbers_init(&numbers, run, keep);
	if (rc < 0)
		return rc;
	rc = move_steps(run, &numbers, between);
	if (rc < 0) {
		numbers_fini(&numbers, run);
		return rc;
	}
	move_commands(run, &numbers);
	move_dependencies(run, &numbers);
	move_waits(run, &numbers);
	move_tiles(run, &numbers);
	move_messages(run, &numbers);
	for (size_t lane = 0; lane < run->lane_count; lane++)
		if (numbers.samples[lane])
			move_samples(&run->lanes[lane], numbers.samples[lane]);
	numbers_fini(&numbers, run);
	return 0;
}

int run_keep_whole_steps(struct run *run)
{
	SCOPED uint64_t *ends = calloc(run->lane_count + 1, sizeof(*ends));
	SCOPED uint8_t **keep = calloc(run->lane_count + 1, sizeof(*keep));
	/* when the first step of a process began that never ended */
	SCOPED uint64_t *cuts = malloc((run->process_count + 1) * sizeof(*cuts));
	bool has_cut = false;
	int error = ends && keep && cuts ? 0 : -ENOMEM;

	for (size_t i = 0; i < run->process_count && !error; i++)
		cuts[i] = UINT64_MAX;
	for (size_t i = 0; i < run->step_count && !error; i++) {
		const struct run_step *s = &run->steps[i];
		uint64_t *cut = &cuts[run->lanes[s->lane].process];
		if (s->open && s->begin_ns < *cut)
			*cut = s->begin_ns;
	}
	for (size_t i = 0; i < run->lane_count && !error; i++)
		ends[i] = run->lanes[i].kind == BRICK_LANE_QUEUE ? UINT64_MAX
								 : cuts[run->lanes[i].process];
	for (size_t i = 0; i < run->step_count && !error; i++) {
		const struct run_step *s = &run->steps[i];
		/* of a lane with a later step of its own only an open one is left out */
		if (!s->open && s->end_ns > ends[s->lane])
			ends[s->lane] = UINT64_MAX;
	}
	for (size_t i = 0; i < run->step_count && !error; i++)
		if (run->steps[i].open && run->steps[i].begin_ns < ends[run->steps[i].lane])
			ends[run->steps[i].lane] = run->steps[i].begin_ns;
	for (size_t i = 0; i < run->lane_count && !error; i++) {
		const struct run_lane *lane = &run->lanes[i];
		size_t count = run_sample_from(lane, ends[i]);
		if (count == lane->sample_count)
			continue;
		has_cut = true;
		keep[i] = calloc(lane->sample_count, 1);
		if (!keep[i])
			error = -ENOMEM;
		else
			memset(keep[i], 1, count);
	}
	if (!error && has_cut)
		error = run_edit(run);
	if (!error && has_cut)
		error = run_keep(run, keep, true);
	for (size_t i = 0; keep && i < run->lane_count; i++)
		free(keep[i]);
	return error;
}
