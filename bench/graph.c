/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What execution graphs cost: building, sorting and analysing them, from ten thousand nodes up to a
 * million with three million edges; time and memory per node, which must not grow with the size.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "brick/error.h"
#include "brick/graph_path.h"

enum { LANES = 4, BRICKS_PER_LAYER = 24, KERNELS_PER_BRICK = 2, NAMES = 5000 };

static double now(void)
{
	return 1e-9 * (double)monotonic_ns();
}

static long peak_kb(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static void check(int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "graph: %s\n", brick_strerror(result));
	exit(1);
}

static uint64_t state = 1;

static uint32_t random_below(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 33) % n);
}

/* An engine's graph: layers with bricks with kernels, and dependencies between random bricks. */
static void build(struct brick_graph *g, uint32_t nodes)
{
	char name[32];
	uint32_t made = 0;

	while (made < nodes) {
		struct brick_graph_node layer = {.size = sizeof(struct brick_graph_node),
			.kind = BRICK_NODE_LAYER,
			.layer = (int32_t)(made % 80)};
		check(brick_graph_enter(g, &layer));
		made++;
		for (int b = 0; b < BRICKS_PER_LAYER && made < nodes; b++) {
			snprintf(name, sizeof(name), "brick %u", random_below(NAMES));
			struct brick_graph_node brick = {.size = sizeof(struct brick_graph_node),
				.kind = BRICK_NODE_BRICK,
				.name = name,
				.flags = BRICK_NODE_HAS_TIME,
				.time_ns = 1000 + random_below(9000),
				.lane = random_below(LANES)};
			check(brick_graph_enter(g, &brick));
			made++;
			for (int k = 0; k < KERNELS_PER_BRICK && made < nodes; k++, made++) {
				struct brick_graph_node kernel = {
					.size = sizeof(struct brick_graph_node),
					.kind = BRICK_NODE_KERNEL,
					.name = "kernel",
					.flags = BRICK_NODE_HAS_TIME,
					.time_ns = random_below(500),
					.lane = brick.lane,
					.kernel = {.grid = {16, 1, 1}, .block = {256, 1, 1}}};
				check(brick_graph_add(g, &kernel));
			}
			check(brick_graph_pop(g));
		}
		check(brick_graph_pop(g));
	}
	/* a layer follows the one before it; the rest goes from anywhere to anything later */
	const uint32_t *layers;
	int count = brick_graph_of_kind(g, BRICK_NODE_LAYER, &layers);
	for (int i = 1; i < count; i++)
		check(brick_graph_connect(g, layers[i - 1], layers[i], BRICK_EDGE_SEQUENCE, 1));
	while (brick_graph_edge_count(g) < 3 * (size_t)nodes) {
		uint32_t a = random_below((uint32_t)count - 1);
		uint32_t from = layers[a] + random_below(layers[a + 1] - layers[a]);
		uint32_t to = layers[a + 1] + random_below(nodes - layers[a + 1]);
		check(brick_graph_connect(g, from, to, BRICK_EDGE_DEPENDS_ON, 1));
	}
}

static int count_bytes(void *context, const char *data, size_t bytes)
{
	*(uint64_t *)context += bytes;
	return 0;
}

static void print_formats(struct brick_graph *g)
{
	static const char *const names[] = {"dot", "json", "csr", "folded", "tree"};

	for (int f = 0; f < BRICK_GRAPH_FORMATS; f++) {
		uint64_t bytes = 0;
		double begin = now();
		check(brick_graph_write(g, f, count_bytes, &bytes));
		printf("  as %-7s %7.3f s  %7.1f MB\n", names[f], now() - begin,
			(double)bytes / 1e6);
	}
}

static void measure(uint32_t nodes, int formats)
{
	struct brick_graph *g;
	struct brick_graph_path path = BRICK_GRAPH_PATH_INIT;
	struct brick_graph_times times = BRICK_GRAPH_TIMES_INIT;
	struct brick_graph_opportunity best[10] = {BRICK_GRAPH_OPPORTUNITY_INIT};
	const uint32_t *edges;
	long memory = peak_kb();

	check(brick_graph_create(&g));
	double t0 = now();
	build(g, nodes);
	double t1 = now();
	check(brick_graph_out(g, 0, &edges));
	check(brick_graph_in(g, 0, &edges));
	double t2 = now();
	check(brick_graph_critical_path(g, &path));
	double t3 = now();
	check(brick_graph_times_get(g, 0, &times));
	double t4 = now();
	int found = brick_graph_opportunities(g, best, 10);
	check(found);
	double t5 = now();
	printf("%8u %9zu %8.3f %8.3f %8.3f %8.3f %8.3f %12.3f %8.0f %7.0f\n", nodes,
		brick_graph_edge_count(g), t1 - t0, t2 - t1, t3 - t2, t4 - t3, t5 - t4, t4 - t0,
		1e9 * (t4 - t0) / nodes, 1024.0 * (double)(peak_kb() - memory) / nodes);
	if (formats)
		print_formats(g);
	brick_graph_destroy(g);
}

/* Copies between a few places, of a few sizes: half of them come back. */
static void measure_ping_pongs(uint32_t transfers)
{
	static const char *const places[] = {"host", "gpu 0", "gpu 1", "gpu 2"};
	struct brick_graph *g;
	struct brick_graph_ping_pong first = BRICK_GRAPH_PING_PONG_INIT;

	check(brick_graph_create(&g));
	for (uint32_t i = 0; i < transfers; i++) {
		struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
			.kind = BRICK_NODE_TRANSFER,
			.name = "copy",
			.flags = BRICK_NODE_HAS_BYTES,
			.bytes = 4096 * (1 + random_below(1000)),
			.transfer = {places[random_below(4)], places[random_below(4)],
				BRICK_TRANSFER_D2D}};
		check(brick_graph_add(g, &node));
	}
	double begin = now();
	int pairs = brick_graph_ping_pongs(g, &first, 1);
	check(pairs);
	printf("%8u transfers: %d went there and back; found in %.3f s, %.0f ns each\n", transfers,
		pairs, now() - begin, 1e9 * (now() - begin) / transfers);
	brick_graph_destroy(g);
}

/* Each size in a process of its own, so that its peak of memory is its own. */
int main(void)
{
	static const uint32_t sizes[] = {10000, 30000, 100000, 300000, 1000000};
	size_t last = sizeof(sizes) / sizeof(sizes[0]) - 1;

	printf("   nodes     edges  build s   rows s   path s  slack s   best s build..slack  "
	       "ns/node"
	       "  B/node\n");
	for (size_t i = 0; i <= last; i++) {
		fflush(stdout);
		pid_t child = fork();
		if (child < 0)
			return perror("fork"), 1;
		if (child == 0) {
			measure(sizes[i], i == last);
			return 0;
		}
		int status;
		if (waitpid(child, &status, 0) < 0 || status)
			return 1;
	}
	for (size_t i = 0; i <= last; i++)
		measure_ping_pongs(sizes[i]);
	return 0;
}
