/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What graph_path.h answers beside the path: the protocols F133 to F135, cycles, and graphs so deep
 * that nothing may recurse.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "brick/cpu.h"
#include "brick/error.h"
#include "tests/unit/graph_kit.h"

static uint32_t transfer(struct brick_graph *g, const char *from, const char *to, uint64_t bytes)
{
	struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_TRANSFER,
		.name = "copy",
		.flags = BRICK_NODE_HAS_BYTES | BRICK_NODE_HAS_TIME,
		.bytes = bytes,
		.time_ns = 7,
		.transfer = {.source = from, .target = to}};
	return (uint32_t)brick_graph_add(g, &node);
}

static void f133_ping_pong(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_ping_pong pairs[4] = {BRICK_GRAPH_PING_PONG_INIT};

	assert_int_equal(brick_graph_ping_pongs(g, pairs, 4), 0);
	uint32_t first = transfer(g, "host", "gpu", 100);
	transfer(g, "gpu", "host", 99);	  /* another size */
	transfer(g, "gpu2", "host", 100); /* from elsewhere */
	uint32_t second = transfer(g, "host", "gpu", 100);
	uint32_t back = transfer(g, "gpu", "host", 100);
	uint32_t again = transfer(g, "gpu", "host", 100);
	transfer(g, "gpu", "host", 100); /* nothing is left that it could bring back */
	assert_int_equal(brick_graph_ping_pongs(g, pairs, 4), 2);
	assert_int_equal(pairs[0].there, second);
	assert_int_equal(pairs[0].back, back);
	assert_int_equal(pairs[0].bytes, 100);
	assert_int_equal(pairs[0].time_ns, 14);
	assert_int_equal(pairs[1].there, first);
	assert_int_equal(pairs[1].back, again);
	assert_int_equal(brick_graph_ping_pongs(g, pairs, 1), 2);
	/* what came last is on its way: it may come back */
	transfer(g, "host", "gpu", 100);
	assert_int_equal(brick_graph_ping_pongs(g, pairs, 4), 3);
}

static void f134_opportunities(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_opportunity o[4] = {BRICK_GRAPH_OPPORTUNITY_INIT};

	uint32_t a = brick(g, "big", 1000), b = brick(g, "beside", 950), c = brick(g, "small", 400);
	connect(g, a, c, BRICK_EDGE_SEQUENCE);
	connect(g, b, c, BRICK_EDGE_SEQUENCE);
	assert_int_equal(brick_graph_opportunities(g, o, 4), 2);
	assert_string_equal(o[0].name, "big"); /* 50 of its 100: then "beside" is the longest */
	assert_int_equal(o[0].less_ns, 1350);
	assert_int_equal(o[0].nothing_ns, 1350);
	assert_int_equal(o[0].on_path_ns, 1000);
	assert_string_equal(o[1].name, "small");
	assert_int_equal(o[1].less_ns, 1360);
	assert_int_equal(o[1].nothing_ns, 1000);
	assert_int_equal(brick_graph_opportunities(g, o, 1), 1);
	assert_string_equal(o[0].name, "big");
	assert_int_equal(brick_graph_opportunities(g, o, 0), 0);
	uint64_t ns;
	assert_int_equal(brick_graph_what_if(g, "big", 2, &ns), 0);
	assert_int_equal(ns, 2400);
	assert_int_equal(brick_graph_what_if(g, "nobody", 1, &ns), -ENOENT);
	assert_int_equal(brick_graph_what_if(g, "big", -1, &ns), -EINVAL);
	assert_int_equal(brick_graph_what_if(g, "big", NAN, &ns), -EINVAL);
}

static void f135_summary(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_summary s = BRICK_GRAPH_SUMMARY_INIT;

	uint32_t a = brick(g, "a", 100), b = brick(g, "b", 300);
	uint32_t k = add(g, BRICK_NODE_KERNEL, "k", 40);
	connect(g, a, k, BRICK_EDGE_LAUNCHES);
	brick_graph_add(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_KERNEL,
				   .name = "?"});
	connect(g, a, b, BRICK_EDGE_SEQUENCE);
	transfer(g, "x", "y", 8);
	transfer(g, "y", "x", 8);
	assert_int_equal(brick_graph_summarize(g, &s), 0);
	assert_int_equal(s.nodes, 6);
	assert_int_equal(s.edges, 2);
	assert_int_equal(s.by_node_kind[BRICK_NODE_KERNEL], 2);
	assert_int_equal(s.by_edge_kind[BRICK_EDGE_LAUNCHES], 1);
	assert_int_equal(s.without_time, 1);
	assert_int_equal(s.length_ns, 400);
	assert_int_equal(s.work_ns, 414); /* the kernel's 40 are part of the brick's 100 */
	assert_true(fabs(s.parallelism - 414.0 / 400) < 1e-12);
	assert_int_equal(s.ping_pongs, 1);
	assert_int_equal(s.ping_pong_bytes, 16);
}

static void cycles_are_named(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_path path = BRICK_GRAPH_PATH_INIT;
	struct brick_graph_times times = BRICK_GRAPH_TIMES_INIT;
	const uint32_t *nodes;

	for (int i = 0; i < 6; i++)
		brick(g, "n", 1);
	assert_int_equal(brick_graph_cycle(g, &nodes), 0);
	connect(g, 0, 1, BRICK_EDGE_SEQUENCE);
	connect(g, 1, 4, BRICK_EDGE_CONTAINS);
	connect(g, 4, 2, BRICK_EDGE_SEQUENCE);
	connect(g, 2, 1, BRICK_EDGE_DEPENDS_ON);
	assert_int_equal(brick_graph_critical_path(g, &path), BRICK_ECYCLE);
	assert_int_equal(brick_graph_times_get(g, 0, &times), BRICK_ECYCLE);
	assert_int_equal(brick_graph_cycle(g, &nodes), 3);
	assert_true((nodes[0] == 1 && nodes[1] == 4 && nodes[2] == 2) ||
		    (nodes[0] == 4 && nodes[1] == 2 && nodes[2] == 1) ||
		    (nodes[0] == 2 && nodes[1] == 1 && nodes[2] == 4));
	/* a node that must have ended before what is inside of it begins */
	brick_graph_clear(g);
	for (int i = 0; i < 3; i++)
		brick(g, "n", 1);
	connect(g, 0, 1, BRICK_EDGE_CONTAINS);
	connect(g, 1, 2, BRICK_EDGE_CONTAINS);
	connect(g, 0, 2, BRICK_EDGE_SEQUENCE);
	assert_int_equal(brick_graph_cycle(g, &nodes), 3);
	/* a node and itself */
	brick_graph_clear(g);
	brick(g, "n", 1);
	connect(g, 0, 0, BRICK_EDGE_CALLS);
	assert_int_equal(brick_graph_cycle(g, &nodes), 1);
	assert_int_equal(nodes[0], 0);
	char *text = graph_text(g, BRICK_GRAPH_TREE);
	assert_null(text);
	text = graph_text(g, BRICK_GRAPH_DOT); /* can be drawn all the same */
	assert_non_null(strstr(text, "n0 -> n0"));
	free(text);
}

/* A small stack is enough for a chain of any depth. */
static void *deep_chains(void *unused)
{
	struct brick_graph *g;
	enum { DEPTH = 100000 };
	struct brick_graph_path path = BRICK_GRAPH_PATH_INIT;

	for (int kind = 0; kind < BRICK_EDGE_KINDS; kind++) {
		if (brick_graph_create(&g) < 0)
			return "create";
		for (int i = 0; i < DEPTH; i++)
			brick_graph_add(g,
				&(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
					.kind = BRICK_NODE_FUNCTION,
					.name = i % 2 ? "f" : "g",
					.flags = BRICK_NODE_HAS_TIME,
					.time_ns = (uint64_t)DEPTH - (uint64_t)i});
		for (uint32_t i = 1; i < DEPTH; i++)
			brick_graph_connect(g, i - 1, i, kind, 1);
		if (brick_graph_critical_path(g, &path) < 0)
			return "path";
		uint64_t sum = (uint64_t)DEPTH * (DEPTH + 1) / 2;
		if (path.length_ns != (kind < BRICK_EDGE_SEQUENCE ? DEPTH : sum) ||
			path.count != DEPTH)
			return "length";
		struct brick_graph_opportunity one = BRICK_GRAPH_OPPORTUNITY_INIT;
		if (brick_graph_opportunities(g, &one, 1) != 1)
			return "opportunities";
		for (int format = 0; format < BRICK_GRAPH_FORMATS; format++) {
			char *text = graph_text(g, format);
			if (!text)
				return "format";
			free(text);
		}
		brick_graph_connect(g, DEPTH - 1, 0, kind, 1);
		const uint32_t *nodes;
		if (brick_graph_cycle(g, &nodes) != DEPTH)
			return "cycle";
		brick_graph_destroy(g);
	}
	return NULL;
}

static void deep_chains_need_no_stack(void **state)
{
	pthread_attr_t attr;
	pthread_t thread;
	void *failed;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	assert_int_equal(pthread_create(&thread, &attr, deep_chains, NULL), 0);
	pthread_join(thread, &failed);
	pthread_attr_destroy(&attr);
	if (failed)
		fail_msg("%s", (const char *)failed);
}

/* ---- The reference: what graph_path.h says, said again without any regard for speed. ---- */

static uint32_t launch(struct brick_graph *g, const char *name, uint64_t ns, double tflops)
{
	const uint32_t grid[3] = {4, 5, 6}, block[3] = {7, 8, 9};
	int id = brick_graph_add_launch(g, name, grid, block, 4096, 0x1234);
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;

	assert_int_equal(brick_graph_node_get(g, (uint32_t)id, &node), 0);
	assert_memory_equal(node.kernel.grid, grid, sizeof(grid));
	assert_memory_equal(node.kernel.block, block, sizeof(block));
	assert_int_equal(node.kernel.code, 0x1234);
	assert_int_equal(node.kernel.shared_bytes, 4096);
	node.flags = BRICK_NODE_HAS_TIME;
	if (tflops > 0)
		node.flags |= BRICK_NODE_HAS_TFLOPS | BRICK_NODE_HAS_INTENSITY;
	node.name = name;
	node.time_ns = ns;
	node.kernel.tflops = tflops;
	node.kernel.intensity = 2;
	return (uint32_t)brick_graph_add(g, &node);
}

static void distances_from_a_roof(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_distance d[4] = {BRICK_GRAPH_DISTANCE_INIT};

	launch(g, "unknown", 1, 0);
	uint32_t slow = launch(g, "slow", 1, 0.5), fast = launch(g, "fast", 1, 2);
	assert_int_equal(brick_graph_roofline(g, 10e12, 1e12, d, 4), 2);
	assert_int_equal(d[0].node, slow);
	assert_true(fabs(d[0].distance - 0.75) < 1e-12);
	assert_int_equal(d[1].node, fast);
	assert_true(fabs(d[1].distance) < 1e-12);
	assert_int_equal(brick_graph_roofline(g, 10e12, 1e12, NULL, 0), 2);
	assert_int_equal(brick_graph_roofline(g, 0, 1e12, d, 4), -EINVAL);
	assert_int_equal(brick_graph_roofline(g, 1, NAN, d, 4), -EINVAL);
}

/* A driver's name of a GPU is known whole; one with more behind it is another GPU. */
static void peaks_of_makers(void **state)
{
	struct brick_peak peak = BRICK_PEAK_INIT, unset = {0};

	(void)state;
	assert_int_equal(brick_peak_nominal("NVIDIA GeForce RTX 4090", &peak), 0);
	assert_true(peak.flops == 82.6e12 && peak.bandwidth == 1008e9 && !peak.flops_per_cycle);
	assert_int_equal(brick_peak_nominal("NVIDIA GeForce RTX 4090 Laptop GPU", &peak), -ENOENT);
	assert_int_equal(brick_peak_nominal("GRTX 4090", &peak), -ENOENT);
	assert_int_equal(brick_peak_nominal(NULL, &peak), -ENOENT);
	assert_int_equal(brick_peak_nominal("Tesla T4", &unset), -EINVAL);
	assert_int_equal(brick_peak_nominal("avx2", &peak), 0);
	assert_true(!peak.flops && peak.flops_per_cycle == 32);
	assert_int_equal(brick_peak_nominal(brick_cpu_isa(), &peak), 0);
}

static void text_to_a_stream(void **state)
{
	struct brick_graph *g = *state;
	char *text = NULL;
	size_t bytes = 0;

	int layer = brick_graph_enter_layer(g, 3);
	brick_graph_enter_brick(g, "Qkv\033", 200000, 1);
	brick_graph_pop(g);
	brick_graph_enter_brick(g, "RmsNorm", 1500, 1);
	brick_graph_pop(g);
	brick_graph_enter_brick(g, "Act", 30000, 1);
	brick_graph_pop(g);
	brick_graph_pop(g);
	assert_int_equal(layer, 0);
	FILE *out = open_memstream(&text, &bytes);
	assert_int_equal(brick_graph_path_print(g, 2, out), 0);
	assert_string_equal(text, "Critical path  231.5\xc2\xb5s, nodes 3\n"
				  "  BEGIN  OWN  NODE\n"
				  "  0.0\xc2\xb5s  200.0\xc2\xb5s  Qkv\\x1b\n"
				  "  201.5\xc2\xb5s  30.0\xc2\xb5s  Act\n");
	assert_int_equal(brick_graph_print(g, BRICK_GRAPH_TREE, out), 0);
	assert_non_null(strstr(text, "Layer 3\n"));
	assert_int_equal(brick_graph_print(g, 99, out), -EINVAL);
	assert_int_equal(brick_graph_print(g, BRICK_GRAPH_TREE, NULL), -EINVAL);
	assert_int_equal(brick_graph_path_print(g, 0, NULL), -EINVAL);
	fclose(out);
	free(text);
	FILE *full = fopen("/dev/full", "w");
	if (full) {
		assert_int_equal(brick_graph_print(g, BRICK_GRAPH_TREE, full), -EIO);
		assert_int_equal(brick_graph_path_print(g, 0, full), -EIO);
		fclose(full);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(f133_ping_pong),
		GRAPH_TEST(f134_opportunities),
		GRAPH_TEST(f135_summary),
		GRAPH_TEST(cycles_are_named),
		GRAPH_TEST(peaks_of_makers),
		GRAPH_TEST(distances_from_a_roof),
		GRAPH_TEST(text_to_a_stream),
		cmocka_unit_test(deep_chains_need_no_stack),
	};
	return cmocka_run_group_tests_name("graph_answers", tests, NULL, NULL);
}
