/* SPDX-License-Identifier: Apache-2.0 */
/* An execution graph, by hand: a layer, its brick and the kernel of that, as a tree. */
#include <brick/graph.h>
#include <stdio.h>

static int put(void *out, const char *text, size_t bytes)
{
	return fwrite(text, 1, bytes, out) == bytes ? 0 : -1;
}

int main(void)
{
	/* begin */
	struct brick_graph *graph;

	brick_graph_create(&graph);
	brick_graph_enter_layer(graph, 0);
	brick_graph_enter_brick(graph, "RmsNorm", 50000, 4096);
	brick_graph_add_kernel(graph, "rmsnorm_kernel", 16, 256, 1024);
	brick_graph_pop(graph);
	brick_graph_pop(graph);
	brick_graph_write(graph, BRICK_GRAPH_TREE, put, stdout);
	brick_graph_destroy(graph);
	/* end */
	return 0;
}
