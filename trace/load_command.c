/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What track events say of samples beyond their sites: commands of queues, the calls that launched
 * them and the waits for them, tiles; and the source of programs. Slices speak of commands by their
 * numbers, which may stand on any lane and in any order: links are kept until all packets have been
 * read (load_links.c). Nothing here costs a recording without commands anything.
 */
#include <stdlib.h>
#include <string.h>
#include "trace/load_state.h"

static void add_link(struct load *l, uint32_t lane, uint32_t sample, uint32_t kind, uint64_t number)
{
	if (!number || !load_grow(l, &l->links, &l->room.links, l->link_count, sizeof *l->links))
		return;
	l->links[l->link_count] = (struct load_link){number, l->link_count, lane, sample, kind};
	l->link_count++;
}

static void add_afters(struct load *l, uint32_t lane, uint32_t sample, struct pb_reader list)
{
	struct load_annotation item;

	while (load_next(&list, ANNOTATION_ARRAY, &item) > 0)
		add_link(l, lane, sample, LOAD_LINK_AFTER, item.value);
}

static uint32_t kernel_of(
	const struct load *l, const struct load_sequence *s, const struct load_event *e)
{
	uint32_t at = LOAD_HAS(e, KERNEL) ? load_iid_get(&s->values, e->value[FORMAT_A_KERNEL])
					  : RUN_NONE;

	return at != RUN_NONE && l->values[at].kind == LOAD_VALUE_KERNEL ? l->values[at].index
									 : RUN_NONE;
}

/* The command of a sample, new if need be; NULL: failed. */
static struct run_command *command_of(struct load *l, uint32_t lane, uint32_t sample)
{
	struct run *run = l->run;
	struct load_lane *state = &l->lanes[lane];

	if (state->last_command && run->commands[state->last_command - 1].sample == sample)
		return &run->commands[state->last_command - 1];
	if (run->command_count >= RUN_NONE / 2 ||
		!load_grow(l, &run->commands, &l->room.commands, run->command_count,
			sizeof *run->commands))
		return NULL;
	struct run_command *command = &run->commands[run->command_count++];
	*command = (struct run_command){.lane = lane,
		.sample = sample,
		.kernel = RUN_NONE,
		.launch_lane = RUN_NONE,
		.launch_sample = RUN_NONE};
	state->last_command = run->command_count;
	return command;
}

/* A time so much before the begin of the sample; 0 when it makes no sense. */
static uint64_t before(const struct run_sample *sample, uint64_t delta)
{
	uint64_t ns = sample->begin_ns - delta;

	return (int64_t)delta >= 0 ? (delta < sample->begin_ns ? ns : 0)
				   : (ns > sample->begin_ns ? ns : 0);
}

static uint64_t flow_number(const struct load *l, uint32_t lane, uint64_t flow)
{
	uint64_t number = flow - l->processes[l->run->lanes[lane].process].flow_base;

	return number >> FORMAT_FLOW_BITS ? 0 : number;
}

static void read_command(const struct load *l, const struct load_sequence *s,
	const struct run_sample *sample, struct run_command *command, const struct load_event *e)
{
	uint32_t kernel = kernel_of(l, s, e);

	if (kernel != RUN_NONE)
		command->kernel = kernel;
	if (e->flow_count && !command->number)
		command->number = flow_number(l, s->lane, e->flows[0]);
	if (LOAD_HAS(e, LAUNCHED))
		command->launch_ns = command->launch_end_ns =
			before(sample, e->value[FORMAT_A_LAUNCHED]);
	if (LOAD_HAS(e, CALL) && command->launch_ns &&
		e->value[FORMAT_A_CALL] < UINT64_MAX - command->launch_ns)
		command->launch_end_ns = command->launch_ns + e->value[FORMAT_A_CALL];
	if (LOAD_HAS(e, QUEUED))
		command->queued_ns = before(sample, e->value[FORMAT_A_QUEUED]);
	if (LOAD_HAS(e, SUBMITTED))
		command->submitted_ns = before(sample, e->value[FORMAT_A_SUBMITTED]);
}

static void read_tile(struct load *l, uint32_t lane, uint32_t sample, const struct load_event *e)
{
	struct run *run = l->run;

	if (e->value[FORMAT_A_LEVEL] > UINT8_MAX || e->value[FORMAT_A_ROW] > UINT32_MAX ||
		e->value[FORMAT_A_COLUMN] > UINT32_MAX ||
		!load_grow(l, &run->tiles, &l->room.tiles, run->tile_count, sizeof *run->tiles))
		return;
	run->tiles[run->tile_count++] = (struct run_tile){.lane = lane,
		.sample = sample,
		.level = (uint32_t)e->value[FORMAT_A_LEVEL],
		.row = (uint32_t)e->value[FORMAT_A_ROW],
		.column = (uint32_t)e->value[FORMAT_A_COLUMN]};
}

void load_more(struct load *l, struct load_sequence *s, uint32_t sample, const struct load_event *e)
{
	const struct run_lane *lane = &l->run->lanes[s->lane];
	int is_command = LOAD_HAS(e, KERNEL) || LOAD_HAS(e, LAUNCHED) || LOAD_HAS(e, QUEUED) ||
			 LOAD_HAS(e, SUBMITTED) || e->flow_count;

	if (lane->kind == BRICK_LANE_QUEUE && is_command) {
		struct run_command *command = command_of(l, s->lane, sample);
		if (command)
			read_command(l, s, &lane->samples[sample], command, e);
	} else if (lane->kind != BRICK_LANE_QUEUE) {
		for (uint32_t i = 0; i < e->flow_count; i++)
			add_link(l, s->lane, sample, LOAD_LINK_LAUNCHED,
				flow_number(l, s->lane, e->flows[i]));
	}
	if (LOAD_HAS(e, AFTER))
		add_afters(l, s->lane, sample, e->after);
	if (LOAD_HAS(e, ROW) && LOAD_HAS(e, COLUMN) && LOAD_HAS(e, LEVEL))
		read_tile(l, s->lane, sample, e);
}

static char *source_text(struct load *l, struct pb_reader event)
{
	struct load_annotation a;

	if (!load_find(event, EVENT_ANNOTATIONS, "source", &a) || !a.text.at)
		return NULL;
	size_t bytes = pb_size(a.text) < LOAD_MAX_SOURCE ? pb_size(a.text) : LOAD_MAX_SOURCE;
	char *copy = strndup((const char *)a.text.at, bytes);
	if (!copy)
		load_no_memory(l);
	return copy;
}

int load_code_event(struct load *l, struct pb_reader event)
{
	struct run_code code = {
		.hash = load_uint(event, "hash", 0), .source = source_text(l, event)};

	if (!code.source)
		return 0;
	load_text_of(l, event, "name", &code.name);
	load_text_of(l, event, "path", &code.path);
	return load_code(l, &code);
}
