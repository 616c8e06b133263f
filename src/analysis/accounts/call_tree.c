/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds call trees from a walk: each frame finds the node of its path when it begins, and adds its
 * time to the node when it ends.
 */
#include "analysis/accounts/call_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/accounts/launches.h"
#include "analysis/statistics/unknown.h"
#include "analysis/walk/walk.h"
#include "analysis/steps/training_times.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/number.h"

uint32_t call_tree_add(struct call_tree *tree, uint32_t parent, struct call_node node)
{
	struct call_node *nodes =
		array_grow(tree->nodes, &tree->capacity, tree->count + 1, sizeof(*nodes));

	if (!nodes)
		return RUN_NONE;
	tree->nodes = nodes;
	uint32_t number = (uint32_t)tree->count++;
	node.parent = parent;
	node.first = node.last = node.next = node.hint = RUN_NONE;
	node.elements = node.bytes = node.flops = ANALYSIS_UNKNOWN;
	tree->nodes[number] = node;
	if (parent == RUN_NONE)
		return number;
	struct call_node *above = &tree->nodes[parent];
	if (above->last == RUN_NONE)
		above->first = number;
	else
		tree->nodes[above->last].next = number;
	above->last = number;
	return number;
}

static bool call_tree_is_same(const struct call_node *a, const struct call_node *b)
{
	return a->kind == b->kind && a->brick == b->brick && a->site == b->site &&
	       a->layer == b->layer && a->kernel == b->kernel;
}

static uint64_t call_tree_hash_of(uint32_t parent, const struct call_node *node)
{
	uint64_t hash = hash_add(parent, (uint64_t)node->kind << 32 | node->brick);

	hash = hash_add(hash, (uint64_t)node->site << 32 | node->kernel);
	return hash_add(hash, (uint32_t)node->layer);
}

static uint32_t call_tree_search(
	const struct call_tree *tree, uint32_t parent, const struct call_node *node, uint64_t hash)
{
	struct hash_probe probe = hash_probe(hash);

	for (uint32_t i; (i = hash_index_next(&tree->index, &probe)) != HASH_INDEX_NONE;)
		if (tree->nodes[i].parent == parent && call_tree_is_same(&tree->nodes[i], node))
			return i;
	return RUN_NONE;
}

/* Children mostly come in the same order: the child that was found last, or the next, is likely. */
uint32_t call_tree_child(struct call_tree *tree, uint32_t parent, struct call_node node)
{
	uint32_t hint = tree->nodes[parent].hint;

	for (int tries = 0; tries < 2 && hint != RUN_NONE; tries++, hint = tree->nodes[hint].next)
		if (call_tree_is_same(&tree->nodes[hint], &node))
			return tree->nodes[parent].hint = hint;
	uint64_t hash = call_tree_hash_of(parent, &node);
	uint32_t found = call_tree_search(tree, parent, &node, hash);
	if (found == RUN_NONE && !hash_index_reserve(&tree->index)) {
		found = call_tree_add(tree, parent, node);
		if (found != RUN_NONE)
			hash_index_add(&tree->index, hash, found);
	}
	if (found != RUN_NONE)
		tree->nodes[parent].hint = found;
	return found;
}

/* A node has a lower number than all nodes below it, so this goes up from the leaves. */
void call_tree_sum(struct call_tree *tree)
{
	for (size_t i = tree->count; i-- > 0;) {
		struct call_node *node = &tree->nodes[i];
		node->time_ns += node->self_ns;
		if (i)
			tree->nodes[node->parent].time_ns += node->time_ns;
	}
}

const char *call_kind_name(enum call_kind kind)
{
	static const char *const names[CALL_KINDS] = {"root", "layer", "brick", "operation", "wait",
		"kernel", "lane", "phase", "thread", "function", "left out", "preempted",
		"blocked"};
	return names[kind];
}

struct call_node call_node_of(enum call_kind kind, int32_t layer)
{
	return (struct call_node){.kind = kind,
		.brick = RUN_NONE,
		.site = RUN_NONE,
		.kernel = RUN_NONE,
		.layer = layer};
}

/* Adds to an amount, which is ANALYSIS_UNKNOWN until the first known value. */
static void add_known(uint64_t *sum, uint64_t value, int known)
{
	if (known)
		*sum = (*sum == ANALYSIS_UNKNOWN ? 0 : *sum) + value;
}

/* True for nodes without executions of their own: layers, and such bricks in this tree. */
static bool is_sum(const struct call_node *node)
{
	return node->kind == CALL_LAYER ||
	       (node->kind == CALL_BRICK && !node->count && !node->open);
}

/* Adds the times of children to nodes without executions of their own, and to the root. */
static void call_tree_sum_up(struct call_tree *tree)
{
	/* children have higher numbers than their parents */
	for (size_t i = tree->count; i-- > 1;) {
		struct call_node *node = &tree->nodes[i], *above = &tree->nodes[node->parent];
		if (node->kind != CALL_OPERATION)
			above->off_ns += node->off_ns;
		above->device_count += node->device_count;
		above->device_ns += node->device_ns;
		above->device_estimated += node->device_estimated;
		if (!is_sum(above) || node->kind == CALL_KERNEL)
			continue;
		above->time_ns += node->time_ns;
		if (node->kind == CALL_BRICK && above->kind == CALL_LAYER)
			above->count += node->count;
	}
	struct call_node *root = &tree->nodes[0];
	uint64_t below_ns = 0;
	for (uint32_t i = root->first; i != RUN_NONE; i = tree->nodes[i].next)
		if (tree->nodes[i].kind != CALL_KERNEL)
			below_ns += tree->nodes[i].time_ns;
	root->time_ns = below_ns + root->self_ns;
}

void call_tree_destroy(struct call_tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	hash_index_fini(&tree->index);
	free(tree);
}

struct builder {
	struct call_tree *tree;
	const struct launches *launches;
	uint32_t lane;
	const struct step_index *index;
	const uint8_t *phases;		/* of commands, where devices train; else NULL */
	uint32_t at[UINT8_MAX + 2];	/* node of the frame at each depth; 0 is the root's */
	uint64_t off_ns[UINT8_MAX + 2]; /* by depth: off the CPU in nested frames and their waits */
	bool failed;
};

/* Without memory the parent stands in for the child. */
static uint32_t call_tree_child_node(struct builder *b, uint32_t parent, struct call_node node)
{
	uint32_t found = call_tree_child(b->tree, parent, node);
	b->failed |= found == RUN_NONE;
	return found == RUN_NONE ? parent : found;
}

/* The node for samples of a layer: the layer's own, below the node that holds it. */
static uint32_t layer_node(struct builder *b, uint32_t parent, int32_t layer)
{
	const struct call_node *above = &b->tree->nodes[parent];
	if (layer < 0 || above->layer == layer)
		return parent;
	return call_tree_child_node(b, parent, call_node_of(CALL_LAYER, layer));
}

static bool call_tree_is_part(const struct call_tree *tree, const struct walk_frame *frame)
{
	return !tree->steps || frame->scope == WALK_IN_STEP || frame->scope == WALK_AFTER;
}

static uint32_t brick_node(struct builder *b, uint32_t parent, uint32_t brick)
{
	struct call_node node = call_node_of(CALL_BRICK, b->tree->nodes[parent].layer);
	node.brick = brick;
	return call_tree_child_node(b, parent, node);
}

static uint64_t off_ns(struct run_off_times off)
{
	return off.preempted_ns + off.blocked_ns;
}

/* all_off_ns: time off the CPU in the frame and in all that is nested in it. */
static void call_tree_add_execution(struct call_node *node, const struct walk_frame *frame,
	const struct run_site *site, struct walk_shares shares, uint64_t all_off_ns)
{
	node->time_ns +=
		number_minus(frame->counted.length_ns - frame->counted.inner_ns, all_off_ns);
	node->self_ns += shares.own_ns;
	node->off_ns += off_ns(shares.own_off);
	if (frame->sample->flags & RUN_SAMPLE_OPEN) {
		node->open++;
		return;
	}
	node->count++;
	add_known(&node->elements, site->elements, site->flags & BRICK_SITE_HAS_ELEMENTS);
	add_known(&node->bytes, site->bytes, site->flags & BRICK_SITE_HAS_BYTES);
	add_known(&node->flops, site->flops, site->flags & BRICK_SITE_HAS_FLOPS);
}

static void add_operation(struct builder *b, uint32_t brick, const struct walk_frame *frame,
	struct walk_shares shares, uint64_t all_off_ns)
{
	struct call_tree *tree = b->tree;
	const struct run_site *site = &tree->run->sites[frame->sample->site];
	if (!site->operation && !site->label)
		return;
	struct call_node operation = call_node_of(CALL_OPERATION, tree->nodes[brick].layer);
	operation.brick = frame->brick;
	operation.site = frame->sample->site;
	uint32_t node = call_tree_child_node(b, brick, operation);
	if (!b->failed)
		call_tree_add_execution(&tree->nodes[node], frame, site, shares, all_off_ns);
}

/* Adds time off the CPU to the root's children CALL_PREEMPTED and CALL_BLOCKED. */
static void call_tree_add_off(struct builder *b, struct run_off_times off)
{
	const struct {
		enum call_kind kind;
		uint64_t ns;
	} parts[] = {{CALL_PREEMPTED, off.preempted_ns}, {CALL_BLOCKED, off.blocked_ns}};

	for (size_t i = 0; i < 2; i++) {
		if (!parts[i].ns)
			continue;
		uint32_t number = call_tree_child_node(b, 0, call_node_of(parts[i].kind, -1));
		b->tree->nodes[number].time_ns += parts[i].ns;
		b->tree->nodes[number].self_ns += parts[i].ns;
	}
}

static void call_tree_add_waits(struct builder *b, uint32_t beside, const struct walk_frame *frame,
	struct walk_shares shares)
{
	struct call_tree *tree = b->tree;
	if (!(frame->counted.inner_ns + frame->counted.wait_ns))
		return;
	uint32_t wait =
		call_tree_child_node(b, beside, call_node_of(CALL_WAIT, tree->nodes[beside].layer));
	if (b->failed)
		return;
	tree->nodes[wait].count += (frame->inner_ns != 0) + (frame->wait_ns != 0);
	tree->nodes[wait].time_ns += shares.wait_ns;
	tree->nodes[wait].self_ns += shares.wait_ns;
	tree->nodes[wait].off_ns += off_ns(shares.wait_off);
}

/* The length of a command, less the commands that its queue ran inside of it. */
static uint64_t call_tree_own_ns(const struct run *run, const struct run_command *command)
{
	const struct run_lane *lane = &run->lanes[command->lane];
	const struct run_sample *sample = &lane->samples[command->sample];
	uint64_t ns = sample->end_ns - sample->begin_ns;

	for (size_t i = command->sample + 1;
		i < lane->sample_count && lane->samples[i].depth > sample->depth; i++)
		if (lane->samples[i].depth == sample->depth + 1)
			ns -= lane->samples[i].end_ns - lane->samples[i].begin_ns;
	return ns;
}

/* A command of a device below the node that launched it. */
static void call_tree_add_command(
	struct builder *b, uint32_t above, const struct run_command *command)
{
	struct call_tree *tree = b->tree;
	const struct run *run = tree->run;
	const struct run_sample *sample = run_command_sample(run, command);
	struct call_node kernel = call_node_of(CALL_KERNEL, tree->nodes[above].layer);
	kernel.kernel = command->kernel;
	uint32_t number = call_tree_child_node(b, above, kernel);
	if (b->failed)
		return;
	const struct run_site *site = &run->sites[sample->site];
	struct call_node *node = &tree->nodes[number];
	node->count++;
	node->time_ns += sample->end_ns - sample->begin_ns;
	node->self_ns = node->time_ns;
	node->device_count++;
	node->device_ns += call_tree_own_ns(run, command);
	node->device_estimated += run_sample_is_estimated(sample);
	add_known(&node->elements, site->elements, site->flags & BRICK_SITE_HAS_ELEMENTS);
	add_known(&node->bytes, command->bytes, command->bytes != 0);
	add_known(&node->flops, command->flops, command->flops != 0);
}

static bool call_tree_is_called(const struct builder *b, unsigned depth, const char *name)
{
	const struct call_node *node = &b->tree->nodes[b->at[depth]];

	return depth && node->kind == CALL_BRICK &&
	       !strcmp(b->tree->run->bricks[node->brick].name, name);
}

static bool is_in_phase(const struct builder *b, unsigned depth)
{
	const struct call_node *node = &b->tree->nodes[b->at[depth]];

	for (int k = 0; depth && node->kind == CALL_BRICK && k < TRAINING_PHASES; k++)
		if (node->brick == training_brick(b->tree->run, (enum training_phase)k))
			return true;
	return false;
}

/* A phase of training may submit what another one recorded: the command's own, beside it. */
static uint32_t call_tree_phase_of(
	struct builder *b, unsigned depth, const struct run_command *command)
{
	const struct run *run = b->tree->run;
	uint8_t phase = b->phases ? b->phases[command - run->commands] : TRAINING_PHASES;

	if (phase == TRAINING_PHASES || !is_in_phase(b, depth))
		return b->at[depth];
	uint32_t own = training_brick(run, (enum training_phase)phase);
	return own == RUN_NONE ? b->at[depth] : brick_node(b, b->at[depth - 1], own);
}

/* Engines submit what many nodes recorded at once: each command stands below its node's brick. */
static uint32_t home_of(struct builder *b, unsigned depth, const struct run_command *command)
{
	const struct run *run = b->tree->run;
	const struct call_node *nodes = b->tree->nodes;
	uint32_t above = b->at[depth];
	uint32_t site = run_command_sample(run, command)->site;
	uint32_t brick = run->sites[site].brick; /* perhaps the kernel's own: nobody's */
	for (unsigned d = depth; d; d--)
		if (nodes[b->at[d]].brick == brick)
			return above;
	if (command->kernel == RUN_NONE || launches_is_unnamed(run, brick))
		return above;
	while (call_tree_is_called(b, depth, "RecordCommands"))
		depth--;
	above = call_tree_phase_of(b, depth, command);
	above = layer_node(b, above, run->sites[site].layer);
	return b->failed ? above : brick_node(b, above, brick);
}

/*
 * An engine call's commands belong to the brick around the call, and a brick's commands to itself.
 */
static void add_launched(struct builder *b, const struct walk_frame *frame, unsigned depth)
{
	const struct run *run = b->tree->run;
	const char *category = run->categories[run->bricks[frame->brick].category].name;
	bool is_call = !strcmp(category, brick_category_name(BRICK_CATEGORY_ENGINE));
	uint32_t count;
	const uint32_t *list = launches_of(b->launches, b->lane, frame->index, &count);
	for (uint32_t i = 0; i < count && !b->failed; i++) {
		const struct run_command *command = &run->commands[list[i]];
		uint32_t home = home_of(b, is_call ? depth - 1 : depth, command);
		if (!b->failed)
			call_tree_add_command(b, home, command);
	}
	if (run->lanes[b->lane].kind != BRICK_LANE_QUEUE)
		return;
	const struct run_command *own = launches_command(run, b->lane, frame->index);
	if (own)
		call_tree_add_command(b, b->at[depth], own);
}

/* Bricks that were selected inside of a left-out one stand beside it. */
static void call_tree_add_left_out(
	struct builder *b, const struct walk_frame *frame, uint32_t beside)
{
	struct call_tree *tree = b->tree;
	const struct walk_times *counted = &frame->counted;
	uint64_t ns = counted->self_ns + counted->inner_ns + counted->wait_ns;
	uint32_t number = call_tree_child_node(
		b, beside, call_node_of(CALL_LEFT_OUT, tree->nodes[beside].layer));
	if (b->failed)
		return;
	tree->nodes[number].time_ns += ns;
	tree->nodes[number].self_ns += ns;
}

/* Off the CPU in the frame and all inside of it; hands that and its waits' on to the holder. */
static uint64_t call_tree_take_off(struct builder *b, struct walk_shares shares, unsigned depth)
{
	uint64_t ns = off_ns(shares.own_off) + b->off_ns[depth];

	b->off_ns[depth] = 0;
	b->off_ns[depth - 1] += ns + off_ns(shares.wait_off);
	call_tree_add_off(b, shares.own_off);
	call_tree_add_off(b, shares.wait_off);
	return ns;
}

static void end_frame(struct builder *b, const struct walk_frame *frame, unsigned depth)
{
	struct call_tree *tree = b->tree;
	const struct run_site *site = &tree->run->sites[frame->sample->site];
	if (!call_tree_is_part(tree, frame) || b->failed)
		return;
	bool is_root = tree->steps && frame->is_step;
	if (site->left_out && !is_root) {
		call_tree_add_left_out(b, frame, b->at[depth]);
		return;
	}
	struct walk_shares shares = walk_shares(b->index, frame);
	uint64_t all_off_ns = call_tree_take_off(b, shares, depth);
	if (is_root) {
		uint64_t gap_ns = b->index->tails[frame->step].gap_ns;
		call_tree_add_execution(&tree->nodes[0], frame, site, shares, all_off_ns);
		tree->nodes[0].time_ns += gap_ns;
		tree->nodes[0].self_ns += gap_ns;
		call_tree_add_waits(b, 0, frame, shares);
		return;
	}
	uint32_t node = b->at[depth];
	call_tree_add_execution(&tree->nodes[node], frame, site, shares, all_off_ns);
	add_operation(b, node, frame, shares, all_off_ns);
	if (tree->run->command_count)
		add_launched(b, frame, depth);
	call_tree_add_waits(b, tree->nodes[node].parent, frame, shares);
}

/* Trees that one walk builds. */
struct growing {
	const struct run *run;
	const struct step_index *index;
	uint8_t *phases; /* of commands, where devices train; else NULL */
	struct builder *builders;
	size_t count;
	const uint32_t *steps; /* [step_count]: of all trees; NULL: one tree of a lane */
	size_t step_count;
	uint32_t *of_step; /* [run->step_count]: number of the step's builder + 1; NULL: a lane */
	struct launches launches;
};

/* True for the lane `own` and for all threads of its process, which may work for it. */
static bool works_for(const struct run *run, uint32_t lane, uint32_t own)
{
	return lane == own || (run->lanes[lane].kind == BRICK_LANE_THREAD &&
				      run->lanes[lane].process == run->lanes[own].process);
}

static int call_tree_on_lane(void *context, uint32_t lane)
{
	struct growing *g = context;
	for (size_t i = 0; i < g->count; i++)
		g->builders[i].lane = lane;
	if (!g->steps)
		return lane == g->builders[0].tree->lane;
	for (size_t i = 0; i < g->step_count; i++)
		if (works_for(g->run, lane, g->run->steps[g->steps[i]].lane))
			return 1;
	return 0;
}

/* A frame that holds steps belongs to none of them, although a step may have been open at its
 * begin. */
static struct builder *builder_of(const struct growing *g, const struct walk_frame *frame)
{
	if (!g->steps)
		return &g->builders[0];
	if (frame->step == RUN_NONE || !g->of_step[frame->step])
		return NULL;
	return &g->builders[g->of_step[frame->step] - 1];
}

static void call_tree_on_begin(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct builder *b = builder_of(context, frame);
	if (!b)
		return;
	if (builder_of(context, frame - 1) != b) /* nothing of this step is around it */
		b->at[depth - 1] = 0;
	struct call_tree *tree = b->tree;
	b->at[depth] = b->at[depth - 1];
	b->off_ns[depth] = 0;
	if (!call_tree_is_part(tree, frame) || (tree->steps && frame->is_step) ||
		tree->run->sites[frame->sample->site].left_out)
		return;
	int32_t layer = tree->run->sites[frame->sample->site].layer;
	uint32_t parent = layer_node(b, b->at[depth - 1], layer);
	b->at[depth] = brick_node(b, parent, frame->brick);
}

static void call_tree_on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct builder *b = builder_of(context, frame);
	if (b)
		end_frame(b, frame, depth);
}

/* Commands of steps whose launch nobody saw stand below their brick. */
static void add_unlaunched(const struct growing *g)
{
	const struct run *run = g->run;
	for (size_t i = 0; i < run->command_count; i++) {
		const struct run_command *command = &run->commands[i];
		uint32_t number = run_command_sample(run, command)->site;
		const struct run_site *site = &run->sites[number];
		if (site->left_out || command->launch_lane != RUN_NONE)
			continue;
		uint32_t step = step_index_of_command(g->index, run, command);
		if (step == RUN_NONE || !g->of_step[step])
			continue;
		struct builder *b = &g->builders[g->of_step[step] - 1];
		uint32_t home = brick_node(b, layer_node(b, 0, site->layer), site->brick);
		if (!b->failed)
			call_tree_add_command(b, home, command);
	}
}

static const struct walk_ops call_tree_ops = {
	.begin_lane = call_tree_on_lane, .begin = call_tree_on_begin, .end = call_tree_on_end};

static int plant(struct growing *g, uint32_t lane, uint32_t step)
{
	struct builder *b = &g->builders[g->count];
	struct call_tree *tree = calloc(1, sizeof(*tree));
	if (!tree)
		return -ENOMEM;
	*b = (struct builder){
		.tree = tree, .launches = &g->launches, .index = g->index, .phases = g->phases};
	tree->run = g->run;
	tree->lane = lane;
	tree->step = step;
	g->count++;
	return call_tree_add(tree, RUN_NONE, call_node_of(CALL_ROOT, -1)) == RUN_NONE ? -ENOMEM : 0;
}

/* Each step gets a tree, or all of them the first one's. */
static int plant_steps(struct growing *g, bool together)
{
	int rc = 0;
	for (size_t i = 0; i < g->step_count && rc == 0; i++) {
		uint32_t step = g->steps[i];
		if (!g->count || !together)
			rc = plant(g, g->run->steps[step].lane, step);
		if (rc < 0)
			break;
		struct call_tree *tree = g->builders[g->count - 1].tree;
		uint32_t threads = step_index_threads_beside(g->run, &g->run->steps[step]);
		tree->threads = threads > tree->threads ? threads : tree->threads;
		tree->steps++;
		g->of_step[step] = (uint32_t)g->count;
	}
	return rc;
}

static int call_tree_grow(struct growing *g)
{
	struct walk walk;
	walk_init(&walk, g->run, g->index);
	walk_join(&walk, &call_tree_ops, g);
	int rc = walk_run(&walk);
	if (rc == 0 && g->steps)
		add_unlaunched(g);
	for (size_t i = 0; i < g->count && rc == 0; i++) {
		rc = g->builders[i].failed ? -ENOMEM : 0;
		if (rc == 0)
			call_tree_sum_up(g->builders[i].tree);
	}
	return rc;
}

static int call_tree_build(
	struct growing *g, struct call_tree **trees, uint32_t lane, bool together)
{
	int rc = launches_init(&g->launches, g->run);
	if (rc == 0)
		rc = training_phases_of_commands(&g->phases, g->run, g->index);
	g->builders = calloc(g->step_count + 1, sizeof(*g->builders));
	g->of_step = calloc(g->run->step_count + 1, sizeof(*g->of_step));
	if (!g->builders || !g->of_step)
		rc = -ENOMEM;
	if (rc == 0)
		rc = g->steps ? plant_steps(g, together) : plant(g, lane, RUN_NONE);
	if (rc == 0)
		rc = call_tree_grow(g);
	for (size_t i = 0; i < g->count; i++) {
		if (rc == 0)
			trees[i] = g->builders[i].tree;
		else
			call_tree_destroy(g->builders[i].tree);
	}
	launches_fini(&g->launches);
	free(g->phases);
	free(g->builders);
	free(g->of_step);
	return rc;
}

int call_trees_of_steps(struct call_tree **trees, const struct run *run,
	const struct step_index *index, const uint32_t *steps, size_t count)
{
	struct growing g = {.run = run, .index = index, .steps = steps, .step_count = count};
	return call_tree_build(&g, trees, RUN_NONE, false);
}

int call_tree_of_steps(struct call_tree **out, const struct run *run,
	const struct step_index *index, const uint32_t *steps, size_t count)
{
	struct growing g = {.run = run, .index = index, .steps = steps, .step_count = count};
	return call_tree_build(&g, out, RUN_NONE, true);
}

int call_tree_of_lane(struct call_tree **out, const struct run *run, const struct step_index *index,
	uint32_t lane)
{
	struct growing g = {.run = run, .index = index};
	return call_tree_build(&g, out, lane, false);
}
