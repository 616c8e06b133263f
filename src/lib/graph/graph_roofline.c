/* SPDX-License-Identifier: Apache-2.0 */
/* How far work is from the roof that a machine's peak and bandwidth are (graph_path.h). */
#include "brick/graph_path.h"

#include <errno.h>
#include <math.h>
#include "base/sized.h"

double brick_roofline_distance(double achieved, double peak, double intensity, double bandwidth)
{
	if (!(achieved >= 0) || !(peak > 0) || !(intensity > 0) || !(bandwidth > 0))
		return NAN;
	double slope = intensity * bandwidth;
	return 1 - achieved / (peak < slope ? peak : slope);
}

int brick_graph_roofline(struct brick_graph *graph, double peak, double bandwidth,
	struct brick_graph_distance *out, size_t capacity)
{
	enum { KNOWN = BRICK_NODE_HAS_TFLOPS | BRICK_NODE_HAS_INTENSITY };
	const uint32_t *kernels;
	int found = 0;

	if ((capacity && !sized_bytes(out)) || !(peak > 0) || !(bandwidth > 0))
		return -EINVAL;
	int count = brick_graph_of_kind(graph, BRICK_NODE_KERNEL, &kernels);
	for (int i = 0; i < count; i++) {
		struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;
		int error = brick_graph_node_get(graph, kernels[i], &node);
		if (error < 0)
			return error;
		if ((node.flags & KNOWN) != KNOWN)
			continue;
		const struct brick_graph_distance one = {.node = kernels[i],
			.distance = brick_roofline_distance(
				node.kernel.tflops * 1e12, peak, node.kernel.intensity, bandwidth)};
		if ((size_t)found < capacity) {
			struct brick_graph_distance *to = sized_at(out, (size_t)found);
			to->size = out->size;
			sized_write(to, sizeof(one), &one);
		}
		found++;
	}
	return found;
}
