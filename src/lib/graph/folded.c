/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution graph as folded stacks: one line for each different stack of names, with the self
 * time of its nodes on their lane. Stacks stand in the order in which they first appear.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/scope.h"
#include "lib/graph/forest.h"
#include "lib/graph/graph_text.h"

/* Deeper frames count as the last of so many: nobody reads on, and lines stay short. */
enum { MAX_FRAMES = 1000 };

/* A stack: its last frame and the stack below it. */
struct stack {
	uint64_t ns;
	uint32_t below; /* BRICK__NONE: it is the first frame */
	uint32_t name;
};

struct stacks {
	struct hashmap index; /* below and name: stack */
	ARRAY(struct stack) list;
};

static int folded_find_or_add(struct stacks *stacks, uint32_t below, uint32_t name, uint32_t *out)
{
	uint64_t key = (uint64_t)below << 32 | name;

	*out = brick__map_get(&stacks->index, key);
	if (*out != BRICK__NONE)
		return 0;
	if (array_push(&stacks->list, (struct stack){0, below, name}))
		return -ENOMEM;
	*out = (uint32_t)stacks->list.count - 1;
	return hashmap_set(&stacks->index, key, *out);
}

static uint64_t folded_time_of(const struct brick__node *node)
{
	return node->flags & BRICK_NODE_HAS_TIME ? node->time_ns : 0;
}

/* Times less those of what is held on the same lane. NULL: no memory. */
static uint64_t *self_times(const struct brick_graph *graph, const struct brick__forest *forest)
{
	uint64_t *ns = malloc((graph->nodes.count + 1) * sizeof(*ns));

	if (!ns)
		return NULL;
	for (uint32_t v = 0; v < graph->nodes.count; v++)
		ns[v] = folded_time_of(&graph->nodes.items[v]);
	for (uint32_t v = 0; v < graph->nodes.count; v++) {
		uint32_t parent = forest->parent[v];
		if (parent == BRICK__NONE ||
			graph->nodes.items[parent].lane != graph->nodes.items[v].lane)
			continue;
		uint64_t held = folded_time_of(&graph->nodes.items[v]);
		ns[parent] -= held < ns[parent] ? held : ns[parent];
	}
	return ns;
}

/* The first frame of what stands on a lane with a name is that name, once. */
static int root_stack(
	const struct brick_graph *graph, struct stacks *stacks, uint32_t node, uint32_t *out)
{
	uint32_t name = brick__map_get(&graph->lane_names, graph->nodes.items[node].lane);

	*out = BRICK__NONE;
	if (name == BRICK__NONE || name == graph->nodes.items[node].name)
		return 0;
	return folded_find_or_add(stacks, BRICK__NONE, name, out);
}

/* Work of a device: its time is not the host's, so it stands below its own lane in the same way. */
static bool is_asynchronous(const struct brick_graph *graph, uint32_t node, uint32_t parent)
{
	const struct brick__node *n = &graph->nodes.items[node];

	return n->lane != graph->nodes.items[parent].lane &&
	       (n->kind == BRICK_NODE_KERNEL || n->kind == BRICK_NODE_TRANSFER) &&
	       brick__map_get(&graph->lane_names, n->lane) != BRICK__NONE;
}

/* The stack of the parent, with another lane as its first frame. */
static int move_stack(const struct brick_graph *graph, struct stacks *stacks, uint32_t node,
	uint32_t parent, uint32_t parent_stack, uint32_t *out)
{
	uint32_t names[MAX_FRAMES + 2], depth = 0;
	uint32_t lane = brick__map_get(&graph->lane_names, graph->nodes.items[parent].lane);
	int error = root_stack(graph, stacks, node, out);

	for (uint32_t at = parent_stack; at != BRICK__NONE && depth < MAX_FRAMES + 2;
		at = stacks->list.items[at].below)
		names[depth++] = stacks->list.items[at].name;
	if (depth && names[depth - 1] == lane)
		depth--;
	while (depth-- && error == 0)
		error = folded_find_or_add(stacks, *out, names[depth], out);
	return error;
}

static int folded_fold(const struct brick_graph *graph, const struct brick__forest *forest,
	struct stacks *stacks, uint32_t *stack_of, const uint64_t *self)
{
	uint32_t depth = 0;

	for (uint32_t v = brick__forest_next(forest, BRICK__NONE, &depth); v != BRICK__NONE;
		v = brick__forest_next(forest, v, &depth)) {
		uint32_t below, parent = forest->parent[v];
		int error = 0;
		if (parent == BRICK__NONE)
			error = root_stack(graph, stacks, v, &below);
		else if (is_asynchronous(graph, v, parent))
			error = move_stack(graph, stacks, v, parent, stack_of[parent], &below);
		else
			below = stack_of[parent];
		stack_of[v] = below;
		if (depth < MAX_FRAMES && error == 0)
			error = folded_find_or_add(
				stacks, below, graph->nodes.items[v].name, &stack_of[v]);
		if (error < 0)
			return error;
		stacks->list.items[stack_of[v]].ns += self[v];
	}
	return 0;
}

static int put_stacks(
	const struct brick_graph *graph, struct brick__sink *sink, const struct stacks *stacks)
{
	SCOPED uint32_t *frames = malloc((stacks->list.count + 1) * sizeof(*frames));

	if (!frames)
		return -ENOMEM;
	for (uint32_t i = 0; i < stacks->list.count; i++) {
		uint32_t depth = 0;
		if (!stacks->list.items[i].ns)
			continue;
		for (uint32_t at = i; at != BRICK__NONE; at = stacks->list.items[at].below)
			frames[depth++] = stacks->list.items[at].name;
		while (depth--) {
			static const char *const instead[] = {"\\x3b"};
			static const struct brick__escape escape = {";", instead, "\\x"};
			brick__put_text(
				sink, graph->names.entries.items[frames[depth]].text, &escape);
			brick__put(sink, depth ? ";" : " ");
		}
		brick__put_u64(sink, stacks->list.items[i].ns);
		brick__put(sink, "\n");
	}
	return 0;
}

int brick__graph_put_folded(struct brick_graph *graph, struct brick__sink *sink)
{
	struct brick__forest forest;
	struct stacks stacks = {0};
	int error = brick__forest_init(&forest, graph);

	if (error < 0)
		return error;
	SCOPED uint32_t *stack_of = malloc((graph->nodes.count + 1) * sizeof(*stack_of));
	SCOPED uint64_t *self = self_times(graph, &forest);
	error = stack_of && self ? folded_fold(graph, &forest, &stacks, stack_of, self) : -ENOMEM;
	if (error == 0)
		error = put_stacks(graph, sink, &stacks);
	array_fini(&stacks.list);
	hashmap_fini(&stacks.index);
	brick__forest_fini(&forest);
	return error;
}
