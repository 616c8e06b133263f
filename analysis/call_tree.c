/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a call tree from a walk: every frame finds the node of its path, and adds to it when it
 * ends. Children are few and come in the same order again and again, so that the search for one
 * starts behind the one found last. Called by `brick tree`.
 */
#include "analysis/call_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/launches.h"
#include "analysis/unknown.h"
#include "analysis/walk.h"

struct builder {
	struct call_tree *tree;
	const struct launches *launches;
	uint32_t lane;
	const struct step_index *index;
	uint32_t at[UINT8_MAX + 2]; /* node of the frame at each depth; 0 is the root's */
	int failed;
};

static uint32_t add_node(struct call_tree *tree, uint32_t parent, struct call_node node)
{
	if (tree->count == tree->capacity) {
		size_t capacity = tree->capacity ? 2 * tree->capacity : 64;
		struct call_node *nodes = realloc(tree->nodes, capacity * sizeof(*nodes));
		if (!nodes)
			return RUN_NONE;
		tree->nodes = nodes;
		tree->capacity = capacity;
	}
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

static int is_same(const struct call_node *a, const struct call_node *b)
{
	return a->kind == b->kind && a->brick == b->brick && a->site == b->site &&
	       a->layer == b->layer && a->kernel == b->kernel;
}

static uint32_t search(
	const struct call_tree *tree, uint32_t from, uint32_t end, const struct call_node *node)
{
	for (uint32_t i = from; i != end; i = tree->nodes[i].next)
		if (is_same(&tree->nodes[i], node))
			return i;
	return RUN_NONE;
}

/* The child like `node`, made if there is none. */
static uint32_t child(struct builder *b, uint32_t parent, struct call_node node)
{
	struct call_tree *tree = b->tree;
	uint32_t hint = tree->nodes[parent].hint;
	uint32_t from = hint == RUN_NONE ? RUN_NONE : tree->nodes[hint].next;
	uint32_t found = hint != RUN_NONE && is_same(&tree->nodes[hint], &node)
				 ? hint
				 : search(tree, from, RUN_NONE, &node);
	if (found == RUN_NONE)
		found = search(tree, tree->nodes[parent].first, from, &node);
	if (found == RUN_NONE)
		found = add_node(tree, parent, node);
	if (found == RUN_NONE) {
		b->failed = 1;
		return parent;
	}
	tree->nodes[parent].hint = found;
	return found;
}

static struct call_node node_of(enum call_kind kind, int32_t layer)
{
	return (struct call_node){.kind = kind,
		.brick = RUN_NONE,
		.site = RUN_NONE,
		.kernel = RUN_NONE,
		.layer = layer};
}

/* The node that holds those of a layer: a layer's own below what holds the layer. */
static uint32_t layer_node(struct builder *b, uint32_t parent, int32_t layer)
{
	const struct call_node *above = &b->tree->nodes[parent];
	if (layer < 0 || above->layer == layer)
		return parent;
	return child(b, parent, node_of(CALL_LAYER, layer));
}

static int is_part(const struct call_tree *tree, const struct walk_frame *frame)
{
	if (tree->step == RUN_NONE)
		return 1;
	return frame->step == tree->step &&
	       (frame->scope == WALK_IN_STEP || frame->scope == WALK_AFTER);
}

static uint32_t brick_node(struct builder *b, uint32_t parent, uint32_t brick)
{
	struct call_node node = node_of(CALL_BRICK, b->tree->nodes[parent].layer);
	node.brick = brick;
	return child(b, parent, node);
}

static void on_begin(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct builder *b = context;
	struct call_tree *tree = b->tree;
	b->at[depth] = b->at[depth - 1];
	if (!is_part(tree, frame) || (tree->step != RUN_NONE && frame->is_step))
		return;
	int32_t layer = tree->run->sites[frame->sample->site].layer;
	uint32_t parent = layer_node(b, b->at[depth - 1], layer);
	b->at[depth] = brick_node(b, parent, frame->brick);
}

static void add_known(uint64_t *sum, uint64_t value, int known)
{
	if (known)
		*sum = (*sum == ANALYSIS_UNKNOWN ? 0 : *sum) + value;
}

static void add_execution(
	struct call_node *node, const struct walk_frame *frame, const struct run_site *site)
{
	node->time_ns += frame->counted.length_ns - frame->counted.inner_ns;
	node->self_ns += frame->counted.self_ns;
	if (frame->sample->flags & RUN_SAMPLE_OPEN) {
		node->open++;
		return;
	}
	node->count++;
	add_known(&node->elements, site->elements, site->flags & BRICK_SITE_HAS_ELEMENTS);
	add_known(&node->bytes, site->bytes, site->flags & BRICK_SITE_HAS_BYTES);
	add_known(&node->flops, site->flops, site->flags & BRICK_SITE_HAS_FLOPS);
}

static void add_operation(struct builder *b, uint32_t brick, const struct walk_frame *frame)
{
	struct call_tree *tree = b->tree;
	const struct run_site *site = &tree->run->sites[frame->sample->site];
	if (!site->operation && !site->label)
		return;
	struct call_node operation = node_of(CALL_OPERATION, tree->nodes[brick].layer);
	operation.brick = frame->brick;
	operation.site = frame->sample->site;
	uint32_t node = child(b, brick, operation);
	if (!b->failed)
		add_execution(&tree->nodes[node], frame, site);
}

static void add_wait(struct builder *b, uint32_t beside, uint64_t ns, uint64_t count)
{
	struct call_tree *tree = b->tree;
	if (!ns)
		return;
	uint32_t wait = child(b, beside, node_of(CALL_WAIT, tree->nodes[beside].layer));
	if (b->failed)
		return;
	tree->nodes[wait].count += count;
	tree->nodes[wait].time_ns += ns;
	tree->nodes[wait].self_ns += ns;
}

/* A command of a device below the node that launched it. */
static void add_command(struct builder *b, uint32_t above, const struct run_command *command)
{
	struct call_tree *tree = b->tree;
	const struct run *run = tree->run;
	const struct run_sample *sample = &run->lanes[command->lane].samples[command->sample];
	struct call_node kernel = node_of(CALL_KERNEL, tree->nodes[above].layer);
	kernel.kernel = command->kernel;
	uint32_t number = child(b, above, kernel);
	if (b->failed)
		return;
	const struct run_site *site = &run->sites[sample->site];
	struct call_node *node = &tree->nodes[number];
	node->count++;
	node->time_ns += sample->end_ns - sample->begin_ns;
	node->self_ns = node->time_ns;
	add_known(&node->elements, site->elements, site->flags & BRICK_SITE_HAS_ELEMENTS);
	add_known(&node->bytes, command->bytes, command->bytes != 0);
	add_known(&node->flops, command->flops, command->flops != 0);
}

/* What a call launched belongs to the brick around the call; what a brick launched, to itself. */
static void add_launched(struct builder *b, const struct walk_frame *frame, unsigned depth)
{
	const struct run *run = b->tree->run;
	const char *category = run->categories[run->bricks[frame->brick].category].name;
	bool is_call = !strcmp(category, brick_category_name(BRICK_CATEGORY_ENGINE));
	uint32_t count;
	const uint32_t *list = launches_of(b->launches, b->lane, frame->index, &count);
	for (uint32_t i = 0; i < count; i++)
		add_command(b, b->at[is_call ? depth - 1 : depth], &run->commands[list[i]]);
	if (run->lanes[b->lane].kind != BRICK_LANE_QUEUE)
		return;
	const struct run_command *own = launches_command(run, b->lane, frame->index);
	if (own)
		add_command(b, b->at[depth], own);
}

static void on_end(void *context, const struct walk_frame *frame, unsigned depth)
{
	struct builder *b = context;
	struct call_tree *tree = b->tree;
	uint64_t waits = (frame->inner_ns != 0) + (frame->wait_ns != 0);
	if (!is_part(tree, frame) || b->failed)
		return;
	if (tree->step != RUN_NONE && frame->is_step) {
		add_execution(&tree->nodes[0], frame, &tree->run->sites[frame->sample->site]);
		add_wait(b, 0, frame->counted.inner_ns + frame->counted.wait_ns, waits);
		return;
	}
	uint32_t node = b->at[depth];
	add_execution(&tree->nodes[node], frame, &tree->run->sites[frame->sample->site]);
	add_operation(b, node, frame);
	if (tree->run->command_count)
		add_launched(b, frame, depth);
	uint64_t waits_ns = frame->counted.inner_ns + frame->counted.wait_ns;
	add_wait(b, tree->nodes[node].parent, waits_ns, waits);
}

/* Not timed itself: a layer, the root, or a brick that turned out to hold other steps, too. */
static int is_sum(const struct call_node *node)
{
	return node->kind == CALL_LAYER ||
	       (node->kind == CALL_BRICK && !node->count && !node->open);
}

static void sum_up(struct call_tree *tree)
{
	/* What is below a node has a higher number. */
	for (size_t i = tree->count; i-- > 1;) {
		struct call_node *node = &tree->nodes[i], *above = &tree->nodes[node->parent];
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

static uint32_t count_threads(const struct run *run, const struct run_step *step)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < run->lane_count; i++) {
		const struct run_lane *lane = &run->lanes[i];
		if (i == step->lane || lane->process != run->lanes[step->lane].process ||
			lane->kind != BRICK_LANE_THREAD)
			continue;
		size_t first = run_sample_from(lane, step->begin_ns);
		bool begins =
			first < lane->sample_count && lane->samples[first].begin_ns < step->end_ns;
		bool goes_on = first && lane->samples[first - 1].end_ns > step->begin_ns;
		n += begins || goes_on;
	}
	return n;
}

/* Commands of the step whose launch nobody saw stand below their brick. */
static void add_unlaunched(struct builder *b)
{
	struct call_tree *tree = b->tree;
	const struct run *run = tree->run;
	const struct run_step *step = &run->steps[tree->step];
	for (size_t i = 0; i < run->command_count && !b->failed; i++) {
		const struct run_command *command = &run->commands[i];
		const struct run_sample *sample =
			&run->lanes[command->lane].samples[command->sample];
		const struct run_site *site = &run->sites[sample->site];
		uint64_t ns = command->launch_ns ? command->launch_ns : sample->begin_ns;
		if (command->launch_lane != RUN_NONE || ns < step->begin_ns || ns >= step->end_ns ||
			run->lanes[command->lane].process != run->lanes[step->lane].process)
			continue;
		add_command(b, brick_node(b, layer_node(b, 0, site->layer), site->brick), command);
	}
}

static int build(struct call_tree **out, const struct run *run, const struct step_index *index,
	uint32_t lane, uint32_t step)
{
	struct call_tree *tree = calloc(1, sizeof(*tree));
	if (!tree)
		return -ENOMEM;
	tree->run = run;
	tree->lane = lane;
	tree->step = step;
	struct launches launches;
	struct builder b = {.tree = tree, .launches = &launches, .index = index};
	if (launches_init(&launches, run) < 0 ||
		add_node(tree, RUN_NONE, node_of(CALL_ROOT, -1)) == RUN_NONE) {
		launches_fini(&launches);
		call_tree_destroy(tree);
		return -ENOMEM;
	}
	const struct walk_visitor visitor = {.begin = on_begin, .end = on_end, .context = &b};
	for (uint32_t i = 0; i < run->lane_count; i++) {
		b.lane = i;
		if (i == lane || (step != RUN_NONE && run->lanes[i].kind == BRICK_LANE_THREAD &&
					 run->lanes[i].process == run->lanes[lane].process))
			walk_lane(run, index, i, &visitor);
	}
	if (step != RUN_NONE)
		add_unlaunched(&b);
	launches_fini(&launches);
	if (b.failed) {
		call_tree_destroy(tree);
		return -ENOMEM;
	}
	sum_up(tree);
	*out = tree;
	return 0;
}

int call_tree_of_step(struct call_tree **out, const struct run *run, const struct step_index *index,
	uint32_t step)
{
	int rc = build(out, run, index, run->steps[step].lane, step);
	if (rc == 0)
		(*out)->threads = count_threads(run, &run->steps[step]);
	return rc;
}

int call_tree_of_lane(struct call_tree **out, const struct run *run, const struct step_index *index,
	uint32_t lane)
{
	return build(out, run, index, lane, RUN_NONE);
}

void call_tree_destroy(struct call_tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	free(tree);
}
