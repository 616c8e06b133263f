/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution graph as a tree of lines: what holds what, in the order in which it was added. What
 * is deeper than anybody reads is left out, and said to be.
 */
#include <string.h>
#include "lib/graph/write.h"

enum { MAX_LEVELS = 100 };

static void put_plain(struct brick__sink *sink, const char *text)
{
	static const struct brick__escape escape = {"", NULL, "\\x"};

	brick__put_text(sink, text, &escape);
}

static void put_triple(struct brick__sink *sink, const uint32_t *triple)
{
	for (int i = 0; i < 3; i++) {
		brick__put(sink, i ? "," : "(");
		brick__put_u64(sink, triple[i]);
	}
	brick__put(sink, ")");
}

static void put_kernel(struct brick__sink *sink, const struct brick_graph_kernel *kernel)
{
	if (kernel->grid[0] && kernel->block[0]) {
		brick__put(sink, "  <<<");
		put_triple(sink, kernel->grid);
		brick__put(sink, ",");
		put_triple(sink, kernel->block);
		brick__put(sink, ">>>");
	}
	if (!kernel->grid[0] && !kernel->shared_bytes)
		return; /* nothing is known of the launch */
	brick__put(sink, " smem=");
	brick__put_u64(sink, kernel->shared_bytes);
	brick__put(sink, "B");
}

static void put_transfer(struct brick__sink *sink, const struct brick_graph_transfer *transfer)
{
	if (transfer->direction != BRICK_TRANSFER_UNKNOWN) {
		brick__put(sink, "  ");
		brick__put(sink, brick__directions[transfer->direction]);
	}
	if (!transfer->source || !transfer->target)
		return;
	brick__put(sink, " ");
	put_plain(sink, transfer->source);
	brick__put(sink, " \xe2\x86\x92 ");
	put_plain(sink, transfer->target);
}

static void put_task(struct brick__sink *sink, const struct brick_graph_node *node)
{
	brick__put(sink, "  polls=");
	brick__put_u64(sink, node->task.polls);
	brick__put(sink, " yields=");
	brick__put_u64(sink, node->task.yields);
	if (node->task.polls) {
		brick__put(sink, " efficiency=");
		brick__put_u64(sink, (uint64_t)(100 * brick_graph_task_efficiency(node) + 0.5));
		brick__put(sink, "%");
	}
}

static void put_details(struct brick__sink *sink, const struct brick_graph_node *node)
{
	switch (node->kind) {
	case BRICK_NODE_KERNEL:
		put_kernel(sink, &node->kernel);
		break;
	case BRICK_NODE_TRANSFER:
		put_transfer(sink, &node->transfer);
		break;
	case BRICK_NODE_FUNCTION:
		if (!node->function.file)
			break;
		brick__put(sink, "  ");
		put_plain(sink, node->function.file);
		brick__put(sink, ":");
		brick__put_u64(sink, node->function.line);
		break;
	case BRICK_NODE_TASK:
		put_task(sink, node);
		break;
	}
}

void brick__graph_put_line(const struct brick_graph *graph, struct brick__sink *sink, uint32_t id)
{
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;

	brick_graph_node_get(graph, id, &node);
	put_plain(sink, node.name);
	if (node.label) {
		brick__put(sink, " ");
		put_plain(sink, node.label);
	}
	if (node.flags & BRICK_NODE_HAS_TIME) {
		brick__put(sink, "  ");
		brick__put_time(sink, node.time_ns);
	}
	if (node.flags & BRICK_NODE_HAS_ELEMENTS) {
		brick__put(sink, " (");
		brick__put_u64(sink, node.elements);
		brick__put(sink, " elem)");
	}
	put_details(sink, &node);
	if (node.flags & BRICK_NODE_HAS_BYTES) {
		brick__put(sink, " ");
		brick__put_u64(sink, node.bytes);
		brick__put(sink, "B");
	}
}

/* open[d]: whether the branch at depth d goes on below the line that is being written. */
static void put_branches(struct brick__sink *sink, const uint8_t *open, uint32_t depth)
{
	for (uint32_t d = 1; d < depth; d++)
		brick__put(sink, open[d] ? "\xe2\x94\x82   " : "    ");
	if (depth)
		brick__put(sink, open[depth] ? "\xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80 "
					     : "\xe2\x94\x94\xe2\x94\x80\xe2\x94\x80 ");
}

int brick__graph_put_tree(struct brick_graph *graph, struct brick__sink *sink)
{
	struct brick__forest forest;
	uint8_t open[MAX_LEVELS + 2] = {0};
	uint32_t depth = 0;
	int error = brick__forest_init(&forest, graph);

	if (error < 0)
		return error;
	for (uint32_t v = brick__forest_next(&forest, BRICK__NONE, &depth); v != BRICK__NONE;
		v = brick__forest_next(&forest, v, &depth)) {
		if (depth > MAX_LEVELS)
			continue;
		open[depth] = forest.sibling[v] != BRICK__NONE;
		put_branches(sink, open, depth);
		brick__graph_put_line(graph, sink, v);
		brick__put(sink, "\n");
		if (depth == MAX_LEVELS && forest.child[v] != BRICK__NONE) {
			open[depth + 1] = 0;
			put_branches(sink, open, depth + 1);
			brick__put(sink, "\xe2\x80\xa6\n");
		}
	}
	brick__forest_fini(&forest);
	return 0;
}
