/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The execution graph by itself (libbrick-graph): two branches of a layer with their times, the
 * critical path through them, and what half of one brick's time would buy.
 */
#include <inttypes.h>
#include <stdio.h>
#include "brick/graph_path.h"

static int add(struct brick_graph *graph, const char *name, uint64_t time_ns)
{
	struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_BRICK,
		.name = name,
		.flags = BRICK_NODE_HAS_TIME,
		.time_ns = time_ns};

	return brick_graph_add(graph, &node);
}

/* Attention, and beside it a norm; the projection needs both. 0 or the first error. */
static int build(struct brick_graph *graph)
{
	int attention = add(graph, "AttentionScore", 700);
	int norm = attention < 0 ? attention : add(graph, "RmsNorm", 200);
	int last = norm < 0 ? norm : add(graph, "OutputProjection", 300);

	if (last < 0)
		return last;
	int error = brick_graph_connect(
		graph, (uint32_t)attention, (uint32_t)last, BRICK_EDGE_DEPENDS_ON, 1);
	return error < 0 ? error
			 : brick_graph_connect(
				   graph, (uint32_t)norm, (uint32_t)last, BRICK_EDGE_DEPENDS_ON, 1);
}

int main(void)
{
	struct brick_graph *graph = NULL;
	struct brick_graph_path path = BRICK_GRAPH_PATH_INIT;
	uint64_t faster_ns = 0;
	int error = brick_graph_create(&graph);

	if (error >= 0)
		error = build(graph);
	if (error >= 0)
		error = brick_graph_critical_path(graph, &path);
	if (error >= 0)
		error = brick_graph_what_if(graph, "AttentionScore", 0.5, &faster_ns);
	if (error >= 0)
		printf("critical path: %zu nodes, %" PRIu64
		       " ns; with half of AttentionScore: %" PRIu64 " ns\n",
			path.count, path.length_ns, faster_ns);
	brick_graph_destroy(graph);
	return error < 0;
}
