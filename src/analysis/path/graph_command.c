/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes for commands of devices: kernels and transfers with what is known of them, held by the call
 * that launched them, and edges to what had to wait for them. Part of making a graph of a run.
 */

#include "analysis/path/graph_state.h"

static void set_kernel(struct brick_graph_node *node, const struct run_kernel *kernel,
	const struct run_command *command, uint64_t time_ns)
{
	node->kernel.code = kernel->code;
	for (int i = 0; i < 3; i++) {
		node->kernel.grid[i] = kernel->grid[i];
		node->kernel.block[i] = kernel->block[i];
	}
	node->kernel.shared_bytes = kernel->shared_bytes;
	if (command->bytes && command->flops) {
		node->kernel.intensity = (double)command->flops / (double)command->bytes;
		node->flags |= BRICK_NODE_HAS_INTENSITY;
	}
	if (command->flops && time_ns) {
		node->kernel.tflops = (double)command->flops / (double)time_ns / 1e3;
		node->flags |= BRICK_NODE_HAS_TFLOPS;
	}
}

static int is_transfer(const struct run_kernel *kernel, uint32_t *direction)
{
	switch (kernel->kind) {
	case BRICK_KERNEL_H2D:
		*direction = BRICK_TRANSFER_H2D;
		return 1;
	case BRICK_KERNEL_D2H:
		*direction = BRICK_TRANSFER_D2H;
		return 1;
	case BRICK_KERNEL_D2D:
		*direction = BRICK_TRANSFER_D2D;
		return 1;
	default:
		return 0;
	}
}

static struct brick_graph_node node_of(
	const struct run *run, const struct run_command *command, uint64_t time_ns)
{
	const struct run_kernel *kernel = &run->kernels[command->kernel];
	const struct run_sample *sample = &run->lanes[command->lane].samples[command->sample];
	const struct run_site *site = &run->sites[sample->site];
	struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_KERNEL,
		.name = *kernel->name ? kernel->name : run->bricks[site->brick].name,
		.lane = command->lane};
	uint32_t direction;

	if (is_transfer(kernel, &direction)) {
		node.kind = BRICK_NODE_TRANSFER;
		node.transfer.direction = direction;
	} else {
		set_kernel(&node, kernel, command, time_ns);
	}
	if (command->bytes) {
		node.bytes = command->bytes;
		node.flags |= BRICK_NODE_HAS_BYTES;
	}
	if (site->flags & BRICK_SITE_HAS_ELEMENTS) {
		node.elements = site->elements;
		node.flags |= BRICK_NODE_HAS_ELEMENTS;
	}
	if (site->layer >= 0) {
		node.layer = site->layer;
		node.flags |= BRICK_NODE_HAS_LAYER;
	}
	return node;
}

uint32_t graph_enter_command(struct graph_builder *b, const struct run_command *command)
{
	const struct run_sample *sample = &b->run->lanes[command->lane].samples[command->sample];
	const struct graph_sample *call =
		command->launch_lane == RUN_NONE
			? NULL
			: graph_sample_at(b, command->launch_lane, command->launch_sample);

	if (b->error || !call || call->node == RUN_NONE)
		return RUN_NONE;
	if (graph_check(b, brick_graph_push(b->graph, call->node)) == RUN_NONE)
		return RUN_NONE;
	const struct brick_graph_node node =
		node_of(b->run, command, sample->end_ns - sample->begin_ns);
	return graph_check(b, brick_graph_enter(b->graph, &node));
}

static void link_afters(struct graph_builder *b, const struct run_command *command)
{
	const struct graph_sample *to = graph_sample_at(b, command->lane, command->sample);

	for (uint32_t i = 0; to && i < command->dependency_count && !b->error; i++) {
		const struct run_command *before =
			&b->run->commands[b->run->dependencies[command->dependency_first + i]];
		const struct graph_sample *from = graph_sample_at(b, before->lane, before->sample);
		const struct run_sample *x = &b->run->lanes[before->lane].samples[before->sample];
		const struct run_sample *y = &b->run->lanes[command->lane].samples[command->sample];
		/* what times contradict would make a cycle */
		if (from && from->node != RUN_NONE && to->node != RUN_NONE &&
			x->end_ns <= y->begin_ns && from->node != to->node)
			graph_check(b, brick_graph_connect(b->graph, from->node, to->node,
					       BRICK_EDGE_DEPENDS_ON, 1));
	}
}

void graph_link_commands(struct graph_builder *b)
{
	const struct run *run = b->run;

	for (size_t i = 0; i < b->schedule->spans.count && run->command_count; i++) {
		uint32_t lane = b->schedule->spans.items[i].lane;
		const struct graph_lane *l = &b->lanes[i];
		if (run->lanes[lane].kind != BRICK_LANE_QUEUE || !l->count)
			continue;
		for (size_t c = run_command_from(run, lane, l->first);
			c < run->command_count && run->commands[c].lane == lane &&
			run->commands[c].sample < l->first + l->count;
			c++)
			link_afters(b, &run->commands[c]);
	}
}
