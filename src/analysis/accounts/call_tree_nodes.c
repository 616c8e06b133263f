/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children are few and come in the same order again and again, so that the search for one starts
 * behind the one found last. Called by call_tree.c.
 */
#include "analysis/accounts/call_tree_nodes.h"

#include <stdlib.h>

#include "analysis/accounts/unknown.h"
#include "base/array.h"

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

uint32_t call_tree_child(struct call_tree *tree, uint32_t parent, struct call_node node)
{
	uint32_t hint = tree->nodes[parent].hint;
	uint32_t from = hint == RUN_NONE ? RUN_NONE : tree->nodes[hint].next;
	uint32_t found = hint != RUN_NONE && is_same(&tree->nodes[hint], &node)
				 ? hint
				 : search(tree, from, RUN_NONE, &node);
	if (found == RUN_NONE)
		found = search(tree, tree->nodes[parent].first, from, &node);
	if (found == RUN_NONE)
		found = call_tree_add(tree, parent, node);
	if (found != RUN_NONE)
		tree->nodes[parent].hint = found;
	return found;
}

const char *call_kind_name(enum call_kind kind)
{
	static const char *const names[CALL_KINDS] = {"root", "layer", "brick", "operation", "wait",
		"kernel", "lane", "phase", "left out"};
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

void call_tree_add_known(uint64_t *sum, uint64_t value, int known)
{
	if (known)
		*sum = (*sum == ANALYSIS_UNKNOWN ? 0 : *sum) + value;
}

/* Not timed itself: a layer, the root, or a brick that turned out to hold other steps, too. */
static int is_sum(const struct call_node *node)
{
	return node->kind == CALL_LAYER ||
	       (node->kind == CALL_BRICK && !node->count && !node->open);
}

void call_tree_sum_up(struct call_tree *tree)
{
	/* What is below a node has a higher number. */
	for (size_t i = tree->count; i-- > 1;) {
		struct call_node *node = &tree->nodes[i], *above = &tree->nodes[node->parent];
		if (node->kind != CALL_OPERATION)
			above->off_ns += node->off_ns;
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
	free(tree);
}
