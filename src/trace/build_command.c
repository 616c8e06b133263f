/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of queues, tiles, and links to commands. Slices speak of commands by their numbers,
 * which may stand on any lane and in any order: links are kept until all is known
 * (build_links.c). Nothing here costs a run without commands anything.
 */
#include "trace/build.h"

void build_link(
	struct build_lane *lane, uint32_t sample, enum build_link_kind kind, uint64_t number)
{
	struct build *b = lane->build;

	if (!number ||
		!build_grow(b, &b->links, &b->capacity.links, b->link_count, sizeof *b->links))
		return;
	b->links[b->link_count] =
		(struct build_link){number, b->link_count, lane->number, sample, kind};
	b->link_count++;
}

struct run_command *build_command(struct build_lane *lane, uint32_t sample)
{
	struct build *b = lane->build;
	struct run *run = b->run;

	if (lane->last_command && run->commands[lane->last_command - 1].sample == sample)
		return &run->commands[lane->last_command - 1];
	if (run->command_count >= RUN_NONE / 2 ||
		!build_grow(b, &run->commands, &b->capacity.commands, run->command_count,
			sizeof *run->commands))
		return NULL;
	struct run_command *command = &run->commands[run->command_count++];
	*command = (struct run_command){.lane = lane->number,
		.sample = sample,
		.kernel = RUN_NONE,
		.launch_lane = RUN_NONE,
		.launch_sample = RUN_NONE};
	lane->last_command = run->command_count;
	return command;
}

void build_tile(struct build_lane *lane, const struct run_tile *tile)
{
	struct build *b = lane->build;
	struct run *run = b->run;

	if (build_grow(b, &run->tiles, &b->capacity.tiles, run->tile_count, sizeof *run->tiles)) {
		run->tiles[run->tile_count] = *tile;
		run->tiles[run->tile_count++].lane = lane->number;
	}
}

uint64_t build_before(const struct run_sample *sample, uint64_t delta)
{
	uint64_t ns = sample->begin_ns - delta;

	return (int64_t)delta >= 0 ? (delta < sample->begin_ns ? ns : 0)
				   : (ns > sample->begin_ns ? ns : 0);
}
