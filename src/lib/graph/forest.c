/* SPDX-License-Identifier: Apache-2.0 */
/* The forest is walked without recursion. A node that no root leads to is inside of itself. */
#include "lib/graph/forest.h"

#include <errno.h>
#include "brick/error.h"

uint32_t *brick__graph_holders(const struct brick_graph *graph)
{
	uint32_t *holder = malloc((graph->nodes.count + 1) * sizeof(*holder));

	if (!holder)
		return NULL;
	for (uint32_t v = 0; v < graph->nodes.count; v++)
		holder[v] = BRICK__NONE;
	for (uint32_t i = 0; i < graph->edges.count; i++)
		if (brick__edge_holds(graph->edge_kinds.items[i]) &&
			holder[graph->edges.items[i].to] == BRICK__NONE)
			holder[graph->edges.items[i].to] = i;
	return holder;
}

int brick__forest_init(struct brick__forest *forest, const struct brick_graph *graph)
{
	size_t n = graph->nodes.count + 1;
	uint32_t reached = 0, depth = 0;

	*forest = (struct brick__forest){.parent = brick__graph_holders(graph),
		.child = malloc(n * sizeof(uint32_t)),
		.sibling = malloc(n * sizeof(uint32_t))};
	if (!forest->parent || !forest->child || !forest->sibling) {
		brick__forest_fini(forest);
		return -ENOMEM;
	}
	forest->root = BRICK__NONE;
	for (uint32_t v = 0; v < graph->nodes.count; v++) {
		uint32_t edge = forest->parent[v];
		forest->parent[v] =
			edge == BRICK__NONE ? BRICK__NONE : graph->edges.items[edge].from;
		forest->child[v] = BRICK__NONE;
	}
	/* From the last to the first, so that each comes to stand before its elder siblings. */
	for (uint32_t v = graph->nodes.count; v-- > 0;) {
		uint32_t parent = forest->parent[v];
		uint32_t *first = parent == BRICK__NONE ? &forest->root : &forest->child[parent];
		forest->sibling[v] = *first;
		*first = v;
	}
	for (uint32_t v = brick__forest_next(forest, BRICK__NONE, &depth); v != BRICK__NONE;
		v = brick__forest_next(forest, v, &depth))
		reached++;
	if (reached == graph->nodes.count)
		return 0;
	brick__forest_fini(forest);
	return BRICK_ECYCLE;
}

uint32_t brick__forest_next(const struct brick__forest *forest, uint32_t node, uint32_t *depth)
{
	if (node == BRICK__NONE) {
		*depth = 0;
		return forest->root;
	}
	if (forest->child[node] != BRICK__NONE) {
		++*depth;
		return forest->child[node];
	}
	while (forest->sibling[node] == BRICK__NONE && forest->parent[node] != BRICK__NONE) {
		node = forest->parent[node];
		--*depth;
	}
	return forest->sibling[node];
}

void brick__forest_fini(struct brick__forest *forest)
{
	free(forest->parent);
	free(forest->child);
	free(forest->sibling);
	*forest = (struct brick__forest){.root = BRICK__NONE};
}
