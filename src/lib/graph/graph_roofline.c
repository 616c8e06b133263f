/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far work is from the roof that a machine's peak and bandwidth are, and nominal peaks
 * (graph_path.h). A GPU's name in the table is the end of the name that its driver gives it, so
 * that "RTX 4080 SUPER" or "RTX 4090 Laptop GPU" are none of "RTX 4080" and "RTX 4090".
 */
#include "brick/graph_path.h"

#include <errno.h>
#include <math.h>
#include <string.h>
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

static const struct {
	const char *name;
	double tflops, gbytes_per_s, flops_per_cycle;
} nominal_peaks[] = {
	{"RTX 3090", 35.6, 936, 0},
	{"RTX 4080", 48.7, 717, 0},
	{"RTX 4090", 82.6, 1008, 0},
	{"RTX 5090", 104.8, 1792, 0},
	{"T4", 8.1, 320, 0},
	{"L4", 30.3, 300, 0},
	{"L40S", 91.6, 864, 0},
	{"V100-SXM2-16GB", 15.7, 900, 0},
	{"V100-SXM2-32GB", 15.7, 900, 0},
	{"A100-SXM4-40GB", 19.5, 1555, 0},
	{"A100-PCIE-40GB", 19.5, 1555, 0},
	{"A100-SXM4-80GB", 19.5, 2039, 0},
	{"A100 80GB PCIe", 19.5, 1935, 0},
	{"H100 PCIe", 51, 2000, 0},
	{"H100 80GB HBM3", 67, 3350, 0},
	{"H200", 67, 4800, 0},
	{"RX 7900 XTX", 61.4, 960, 0},
	{"MI250X", 47.9, 3277, 0},
	{"MI300X", 163.4, 5300, 0},
	{"avx512", 0, 0, 64},
	{"avx2", 0, 0, 32},
	{"sse4.2", 0, 0, 8},
	{"sse2", 0, 0, 8},
	{"sve", 0, 0, 32},
	{"neon", 0, 0, 16},
	{"scalar", 0, 0, 2},
};

int brick_peak_nominal(const char *name, struct brick_peak *out)
{
	size_t length = name ? strlen(name) : 0;

	for (size_t i = 0; i < sizeof(nominal_peaks) / sizeof(*nominal_peaks); i++) {
		size_t own = strlen(nominal_peaks[i].name);
		if (own > length || strcmp(name + length - own, nominal_peaks[i].name) ||
			(own < length && name[length - own - 1] != ' '))
			continue;
		const struct brick_peak peak = {.flops = nominal_peaks[i].tflops * 1e12,
			.bandwidth = nominal_peaks[i].gbytes_per_s * 1e9,
			.flops_per_cycle = nominal_peaks[i].flops_per_cycle};
		return sized_write(out, sizeof(peak), &peak);
	}
	return -ENOENT;
}
