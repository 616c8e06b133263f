/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What track events say of samples beyond their sites: commands of queues, the calls that launched
 * them and the waits for them, tiles.
 */
#include "trace/load_annotation.h"
#include "trace/load_event.h"

static void add_dependencies(struct build_lane *lane, uint32_t sample, struct pb_reader list)
{
	struct load_annotation item;

	while (load_next(&list, ANNOTATION_ARRAY, &item) > 0)
		build_link(lane, sample, BUILD_LINK_AFTER, item.value);
}

static uint32_t kernel_of(
	const struct load *l, const struct load_sequence *s, const struct load_event *e)
{
	uint32_t at = LOAD_HAS(e, KERNEL) ? load_iid_get(&s->values, e->value[FORMAT_A_KERNEL])
					  : RUN_NONE;

	return at != RUN_NONE && l->values[at].kind == LOAD_VALUE_KERNEL ? l->values[at].index
									 : RUN_NONE;
}

static uint64_t flow_number(const struct build_lane *lane, const struct load *l, uint64_t flow)
{
	uint32_t process = l->build.run->lanes[lane->number].process;
	uint64_t number = flow - l->flow_bases[process];

	return number >> FORMAT_FLOW_BITS ? 0 : number;
}

static void read_command(const struct load *l, const struct load_sequence *s,
	const struct run_sample *sample, struct run_command *command, const struct load_event *e)
{
	uint32_t kernel = kernel_of(l, s, e);

	if (kernel != RUN_NONE)
		command->kernel = kernel;
	if (e->flow_count && !command->number)
		command->number = flow_number(s->lane, l, e->flows[0]);
	if (LOAD_HAS(e, LAUNCHED))
		command->launch_ns = command->launch_end_ns =
			build_before(sample, e->value[FORMAT_A_LAUNCHED]);
	if (LOAD_HAS(e, CALL) && command->launch_ns &&
		e->value[FORMAT_A_CALL] < UINT64_MAX - command->launch_ns)
		command->launch_end_ns = command->launch_ns + e->value[FORMAT_A_CALL];
	if (LOAD_HAS(e, QUEUED))
		command->queued_ns = build_before(sample, e->value[FORMAT_A_QUEUED]);
	if (LOAD_HAS(e, SUBMITTED))
		command->submitted_ns = build_before(sample, e->value[FORMAT_A_SUBMITTED]);
}

static void read_tile(struct build_lane *lane, uint32_t sample, const struct load_event *e)
{
	const struct run_tile tile = {.sample = sample,
		.level = (uint32_t)e->value[FORMAT_A_LEVEL],
		.row = (uint32_t)e->value[FORMAT_A_ROW],
		.column = (uint32_t)e->value[FORMAT_A_COLUMN]};

	if (e->value[FORMAT_A_LEVEL] <= UINT8_MAX && e->value[FORMAT_A_ROW] <= UINT32_MAX &&
		e->value[FORMAT_A_COLUMN] <= UINT32_MAX)
		build_tile(lane, &tile);
}

void load_args(struct load *l, struct load_sequence *s, uint32_t sample, const struct load_event *e)
{
	struct build_lane *lane = s->lane;
	int is_queue = l->build.run->lanes[lane->number].kind == BRICK_LANE_QUEUE;
	int is_command = LOAD_HAS(e, KERNEL) || LOAD_HAS(e, LAUNCHED) || LOAD_HAS(e, QUEUED) ||
			 LOAD_HAS(e, SUBMITTED) || e->flow_count;

	if (is_queue && is_command) {
		struct run_command *command = build_command(lane, sample);
		if (command)
			read_command(l, s, build_sample(lane, sample), command, e);
	} else if (!is_queue) {
		for (uint32_t i = 0; i < e->flow_count; i++)
			build_link(lane, sample, BUILD_LINK_LAUNCHED,
				flow_number(lane, l, e->flows[i]));
	}
	if (LOAD_HAS(e, AFTER))
		add_dependencies(lane, sample, e->after);
	if (LOAD_HAS(e, ROW) && LOAD_HAS(e, COLUMN) && LOAD_HAS(e, LEVEL))
		read_tile(lane, sample, e);
}
