/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends the building of a run: ticks become ns, open samples end with their lane, histograms of
 * processes become the run's, and steps and links are filled in. The order matters: processes
 * before lanes (a lane may end with its process), lanes before steps and links (these need final
 * samples).
 */

#include "trace/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/members.h"
#include "format/format.h"

static const struct brick_clock *build_clock(const struct build *b, uint32_t process)
{
	return format_clock_of(&b->run->clock, &b->processes.items[process].clock);
}

static uint64_t at_ns(const struct brick_clock *clock, uint64_t ticks)
{
	return clock->mult ? brick_clock_ns(clock, ticks) : 0;
}

static uint64_t length_ns(const struct brick_clock *clock, uint64_t ticks)
{
	return clock->mult ? brick_clock_duration_ns(clock, ticks) : ticks;
}

static double cost_ns(const struct brick_clock *clock, uint64_t ticks_256)
{
	return clock->mult ? (double)ticks_256 / 256 * (double)clock->mult /
				     (double)(1ull << clock->shift)
			   : 0;
}

static void finish_process(struct build *b, uint32_t i)
{
	struct run_process *process = &b->run->processes[i];
	const struct build_process *state = &b->processes.items[i];
	const struct brick_clock *clock = build_clock(b, i);

	process->pair_cost_ns = cost_ns(clock, state->pair_cost);
	process->pair_cost_low_ns = cost_ns(clock, state->pair_cost_low);
	process->pair_cost_high_ns = cost_ns(clock, state->pair_cost_high);
	process->pair_cost_streamed_ns = cost_ns(clock, state->pair_cost_streamed);
	process->pair_cost_cold_ns = cost_ns(clock, state->pair_cost_cold);
	process->pair_stream_ns = 256 * cost_ns(clock, state->pair_stream_ticks);
	if (state->ended)
		process->end_ns = at_ns(clock, state->end_ticks);
	if (process->end_ns > b->last_ns)
		b->last_ns = process->end_ns;
}

/* Processes that no known launcher started know their ranks from MPI. */
static void finish_ranks(struct run *run)
{
	for (size_t i = 0; i < run->note_count; i++) {
		const struct run_note *note = &run->notes[i];
		struct run_process *process = &run->processes[note->process];
		int rank, world;
		if (process->rank < 0 && !strcmp(note->key, "mpi.rank") &&
			sscanf(note->value, "%9d of %9d", &rank, &world) == 2 && rank >= 0 &&
			rank < world) {
			process->rank = rank;
			process->world = world;
		}
	}
}

/* The end of a lane's recording: its thread ended, its process ended, or the file was written. */
static uint64_t lane_end(const struct build *b, uint32_t i)
{
	const struct run_lane *lane = &b->run->lanes[i];
	const struct build_lane *state = b->lanes.items[i];
	const struct run_process *process = &b->run->processes[lane->process];
	uint64_t end = state->end_ticks	 ? at_ns(build_clock(b, lane->process), state->end_ticks)
		       : process->end_ns ? process->end_ns
					 : b->run->end_ns;

	return end > state->last_ns ? end : state->last_ns;
}

static struct run_stat stat_in_ns(const struct brick_clock *clock, const struct build_stat *from)
{
	const struct brick_stat *stat = &from->own;
	struct run_stat in_ns = {
		.total_ns = length_ns(clock, stat->total),
		.nested_ns = length_ns(clock, stat->nested),
		.self_ns = length_ns(clock, stat->self),
		.wait_ns = length_ns(clock, stat->wait),
		.min_ns = length_ns(clock, stat->min),
		.max_ns = length_ns(clock, stat->max),
	};
	members_copy(&in_ns, stat, count, elements, bytes, bytes_out, flops, counted, cycles,
		instructions, cache_misses);
	members_copy(&in_ns, from, cycles_min, cycles_max);
	return in_ns;
}

static void finish_lane(struct build *b, uint32_t i)
{
	struct run_lane *lane = &b->run->lanes[i];
	struct build_lane *state = b->lanes.items[i];
	const struct brick_clock *clock = build_clock(b, lane->process);

	lane->end_ns = lane_end(b, i);
	/* Samples that are still open end where the lane does. */
	for (uint32_t k = 0; k < state->depth; k++)
		build_sample(state, state->stack[k])->end_ns = lane->end_ns;
	b->run->open_samples += state->depth;
	int error = sample_list_finish(&b->store, &state->samples, lane);
	if (error && !b->result)
		b->result = error;
	lane->start_ns = state->start_ticks ? at_ns(clock, state->start_ticks) : 0;
	if (lane->sample_count && (!lane->start_ns || lane->samples[0].begin_ns < lane->start_ns))
		lane->start_ns = lane->samples[0].begin_ns;
	if (lane->end_ns > b->last_ns)
		b->last_ns = lane->end_ns;
	lane->hook_ns = length_ns(clock, state->hook_ticks);
	size_t count = b->run->brick_count;
	if (!state->stats || !count)
		return;
	lane->stats = calloc(count, sizeof(*lane->stats));
	if (!lane->stats) {
		build_no_memory(b);
		return;
	}
	for (size_t k = 0; k < count; k++)
		if (k < state->stat_capacity && state->stats[k].own.count)
			lane->stats[k] = stat_in_ns(clock, &state->stats[k]);
		else
			lane->stats[k].min_ns = UINT64_MAX;
}

/* Adds a process's histogram to the run's. The first one is moved: *from is then NULL. */
static void merge_histogram(
	struct build *b, struct ticks_lengths **into, struct ticks_lengths **from)
{
	if (!*into) {
		*into = *from;
		*from = NULL;
		return;
	}
	LENGTHS_EACH (i, &(*from)->of_ticks) {
		uint64_t count = ticks_lengths_at(*from, i);
		if (count && !ticks_lengths_add(into, i, count))
			build_no_memory(b);
	}
}

static void finish_histograms(struct build *b)
{
	struct run *run = b->run;

	if (!run->brick_count)
		return;
	run->histograms = calloc(run->brick_count, sizeof(*run->histograms));
	if (!run->histograms) {
		build_no_memory(b);
		return;
	}
	for (size_t p = 0; p < run->process_count; p++) {
		struct build_process *process = &b->processes.items[p];
		for (size_t i = 0; i < process->histogram_capacity; i++)
			if (process->histograms[i])
				merge_histogram(b, &run->histograms[i], &process->histograms[i]);
	}
}

/*
 * Gives each lane the tid and name of its last owner. A lane with statistics has them already;
 * without statistics it has those of its first owner.
 */
static void finish_owners(struct build *b)
{
	struct run *run = b->run;

	for (size_t i = 0; i < run->point_count; i++) {
		const struct run_point *p = &run->points[i];
		struct run_lane *lane = &run->lanes[p->lane];
		if (p->kind != RUN_POINT_THREAD || lane->stats)
			continue;
		lane->tid = (uint64_t)p->value;
		free(lane->name);
		lane->name = NULL;
	}
	for (size_t i = 0; i < run->thread_name_count; i++) {
		const struct run_thread_name *name = &run->thread_names[i];
		struct run_lane *lane = &run->lanes[name->lane];
		if (lane->stats || name->tid != lane->tid)
			continue;
		free(lane->name);
		lane->name = build_text(b, name->name, strlen(name->name));
	}
}

void build_finish(struct build *b)
{
	struct run *run = b->run;

	if (!b->has_clock && run->process_count)
		run->clock = b->processes.items[0].clock;
	b->last_ns = run->end_ns;
	for (size_t i = 0; i < run->process_count; i++)
		finish_process(b, (uint32_t)i);
	finish_ranks(run);
	for (size_t i = 0; i < run->lane_count; i++)
		finish_lane(b, (uint32_t)i);
	if (b->result)
		return;
	if (!run->end_ns)
		run->end_ns = b->last_ns;
	finish_owners(b);
	/* Bricks of which only the name is known are of the default category. */
	for (size_t i = 0; i < b->run->brick_count; i++)
		if (b->run->bricks[i].category == RUN_NONE)
			b->run->bricks[i].category = build_category(b, "Other", 5);
	finish_histograms(b);
	if (build_steps_finish(run))
		build_no_memory(b);
	build_links_finish(b);
	for (size_t i = 0; i < b->run->digest_count; i++) {
		struct run_digest *d = &b->run->digests[i];
		d->ns = at_ns(build_clock(b, d->process), d->ns);
	}
	/* Arrivals of requests were told in ticks. */
	for (size_t i = 0; i < b->run->sequence_event_count; i++) {
		struct run_sequence_event *e = &b->run->sequence_events[i];
		if (e->event == BRICK_SEQUENCE_ARRIVED)
			e->number =
				at_ns(build_clock(b, b->run->lanes[e->lane].process), e->number);
	}
}
