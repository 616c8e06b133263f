/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the tree in one walk over all lanes; a sample's node stands below that of its holder. */
#include "analysis/accounts/stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/accounts/launches.h"
#include "analysis/walk/walk.h"

struct builder {
	struct call_tree *tree;
	const struct step_index *index;
	bool layers;
	uint32_t lane;
	uint32_t at[UINT8_MAX + 3]; /* node of the frame at each depth; 0: the lane's */
	bool failed;
};

/* Without memory the parent stands in for the child. */
static uint32_t stacks_child(struct builder *b, uint32_t parent, struct call_node node)
{
	uint32_t found = call_tree_child(b->tree, parent, node);
	b->failed |= found == RUN_NONE;
	return found == RUN_NONE ? parent : found;
}

static uint32_t stacks_step_of(const struct builder *b, const struct walk_frame *frame)
{
	if (b->tree->run->lanes[b->lane].kind == BRICK_LANE_QUEUE)
		return launches_step(b->tree->run, b->index, b->lane, frame->index);
	return frame->step;
}

/*
 * The node above a frame: of the frame around it, if both are of the same step; else the node of
 * the step's phase, or of the lane.
 */
static uint32_t stacks_parent_of(struct builder *b, const struct walk_frame *frame, unsigned depth)
{
	uint32_t step = stacks_step_of(b, frame);
	if (depth > 1 && stacks_step_of(b, frame - 1) == step)
		return b->at[depth - 1];
	if (step == RUN_NONE)
		return b->at[0];
	struct call_node phase = call_node_of(CALL_PHASE, -1);
	phase.site = b->tree->run->steps[step].phase;
	return stacks_child(b, b->at[0], phase);
}

static uint32_t kernel_node(struct builder *b, uint32_t parent, const struct walk_frame *frame)
{
	const struct run_command *command = launches_command(b->tree->run, b->lane, frame->index);
	struct call_node node = call_node_of(CALL_KERNEL, b->tree->nodes[parent].layer);
	if (!command)
		return parent;
	node.kernel = command->kernel;
	return stacks_child(b, parent, node);
}

static bool is_step(const struct builder *b, const struct walk_frame *frame)
{
	return frame->is_step || b->index->kinds[frame->brick] == BRICK_KIND_STEP;
}

static void stacks_on_begin(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct builder *b = context;
	const struct run *run = b->tree->run;
	const struct run_site *site = &run->sites[frame->sample->site];
	uint32_t parent = stacks_parent_of(b, frame, depth);
	b->at[depth] = parent;
	if (site->left_out || is_step(b, frame))
		return;
	if (b->layers && site->layer >= 0 && b->tree->nodes[parent].layer != site->layer)
		parent = stacks_child(b, parent, call_node_of(CALL_LAYER, site->layer));
	struct call_node node = call_node_of(CALL_BRICK, b->tree->nodes[parent].layer);
	node.brick = frame->brick;
	b->at[depth] = stacks_child(b, parent, node);
	if (run->lanes[b->lane].kind == BRICK_LANE_QUEUE)
		b->at[depth] = kernel_node(b, b->at[depth], frame);
}

static void stacks_add(struct builder *b, uint32_t node, uint64_t ns, uint64_t count)
{
	if (b->failed)
		return;
	b->tree->nodes[node].self_ns += ns;
	b->tree->nodes[node].count += count;
}

static void add_below(struct builder *b, uint32_t parent, enum call_kind kind, uint64_t ns)
{
	if (ns)
		stacks_add(b,
			stacks_child(b, parent, call_node_of(kind, b->tree->nodes[parent].layer)),
			ns, 1);
}

/* The node above the waits of a node: waits of a brick are its siblings. */
static uint32_t beside(const struct builder *b, uint32_t node)
{
	const struct call_node *n = &b->tree->nodes[node];
	return n->kind == CALL_BRICK ? n->parent : node;
}

static void stacks_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct builder *b = context;
	uint32_t node = b->at[depth];
	uint64_t waits_ns = frame->inner_ns + frame->wait_ns;
	if (b->tree->run->sites[frame->sample->site].left_out && !is_step(b, frame)) {
		add_below(b, node, CALL_LEFT_OUT, frame->self_ns + waits_ns);
		return;
	}
	stacks_add(b, node, frame->self_ns, !(frame->sample->flags & RUN_SAMPLE_OPEN));
	add_below(b, beside(b, node), CALL_WAIT, waits_ns);
}

static int stacks_on_lane(void *context, uint32_t lane)
{
	struct builder *b = context;
	struct call_node node = call_node_of(CALL_LANE, -1);
	if (!b->tree->run->lanes[lane].sample_count)
		return 0;
	node.site = b->lane = lane;
	b->at[0] = stacks_child(b, 0, node);
	return 1;
}

static const struct walk_ops stacks_ops = {
	.begin_lane = stacks_on_lane, .begin = stacks_on_begin, .end = stacks_on_end};

int stacks_create(
	struct call_tree **out, const struct run *run, const struct step_index *index, bool layers)
{
	struct call_tree *tree = calloc(1, sizeof(*tree));
	struct builder b = {.tree = tree, .index = index, .layers = layers};
	struct walk walk;
	int rc = -ENOMEM;
	if (tree) {
		tree->run = run;
		tree->step = tree->lane = RUN_NONE;
		rc = call_tree_add(tree, RUN_NONE, call_node_of(CALL_ROOT, -1)) == RUN_NONE
			     ? -ENOMEM
			     : 0;
	}
	if (rc == 0) {
		walk_init(&walk, run, index);
		walk_join(&walk, &stacks_ops, &b);
		rc = walk_run(&walk);
	}
	if (rc == 0 && b.failed)
		rc = -ENOMEM;
	if (rc < 0) {
		call_tree_destroy(tree);
		return rc;
	}
	call_tree_sum(tree);
	*out = tree;
	return 0;
}
