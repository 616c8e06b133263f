/* SPDX-License-Identifier: Apache-2.0 */
/* Critical path and slack of graph_path.h: the protocols F128 to F132. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include "brick/error.h"
#include "tests/unit/graph_kit.h"

/* A chain is as long as its parts, whatever the order of their ids. */
static void f128_path_of_a_chain(void **state)
{
	struct brick_graph *g = *state;

	assert_int_equal(path_of(g).length_ns, 0);
	assert_int_equal(path_of(g).count, 0);
	for (uint64_t i = 0; i < 10; i++)
		brick(g, "n", i + 1);
	for (uint32_t i = 9; i > 0; i--)
		connect(g, i, i - 1, BRICK_EDGE_SEQUENCE);
	assert_int_equal(path_of(g).length_ns, 55);
	assert_int_equal(path_of(g).count, 10);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(path_of(g).nodes[i], 9 - i);
}

/* Of branches the longest counts; what holds something adds only what is its own. */
static void f129_path_of_branches(void **state)
{
	struct brick_graph *g = *state;

	uint32_t outer = brick(g, "AttentionScore", 200);
	uint32_t inner = add(g, BRICK_NODE_KERNEL, "gemm", 180);
	connect(g, outer, inner, BRICK_EDGE_LAUNCHES);
	assert_int_equal(path_of(g).length_ns, 200); /* not 380 */
	uint32_t beside = brick(g, "RmsNorm", 150), last = brick(g, "LmHead", 10);
	connect(g, outer, last, BRICK_EDGE_DEPENDS_ON);
	connect(g, beside, last, BRICK_EDGE_TRANSFER);
	struct brick_graph_path path = path_of(g);
	assert_int_equal(path.length_ns, 210);
	assert_int_equal(path.count, 3);
	assert_int_equal(path.nodes[0], outer);
	assert_int_equal(path.nodes[1], inner);
	assert_int_equal(path.nodes[2], last);
}

/* Bricks added to one scope one after the other ran one after the other. */
static void siblings_are_serial(void **state)
{
	struct brick_graph *g = *state;

	brick_graph_enter(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				     .kind = BRICK_NODE_LAYER});
	for (int i = 0; i < 4; i++)
		brick(g, "b", 100);
	assert_int_equal(path_of(g).length_ns, 400);
	assert_int_equal(times_of(g, 0).end_ns, 400);
	/* on another lane they run beside it */
	for (int i = 0; i < 3; i++)
		brick_graph_add(
			g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_BRICK,
				   .name = "c",
				   .flags = BRICK_NODE_HAS_TIME,
				   .time_ns = 120,
				   .lane = 1});
	assert_int_equal(path_of(g).length_ns, 400);
	assert_int_equal(times_of(g, 7).slack_ns, 40);
}

/* A brick's kernels and functions are its own; bricks inside of it are not. */
static void what_belongs_to_a_brick(void **state)
{
	struct brick_graph *g = *state;
	uint64_t ns;

	uint32_t outer = brick(g, "outer", 100), inner = brick(g, "inner", 60);
	uint32_t call = add(g, BRICK_NODE_FUNCTION, "call", 30);
	uint32_t kernel = add(g, BRICK_NODE_KERNEL, "kernel", 20);
	connect(g, outer, inner, BRICK_EDGE_CONTAINS);
	connect(g, outer, call, BRICK_EDGE_CONTAINS);
	connect(g, call, kernel, BRICK_EDGE_LAUNCHES);
	connect(g, inner, call, BRICK_EDGE_SEQUENCE);
	assert_int_equal(path_of(g).length_ns, 100);
	assert_int_equal(brick_graph_what_if(g, "outer", 0, &ns), 0);
	assert_int_equal(ns, 60);
	assert_int_equal(brick_graph_what_if(g, "inner", 0, &ns), 0);
	assert_int_equal(ns, 40);
	assert_int_equal(brick_graph_what_if(g, "call", 0, &ns), 0);
	assert_int_equal(ns, 70);
	struct brick_graph_opportunity o[4] = {BRICK_GRAPH_OPPORTUNITY_INIT};
	assert_int_equal(brick_graph_opportunities(g, o, 4), 4);
	assert_string_equal(o[0].name, "inner");
	assert_string_equal(o[1].name, "outer");
	assert_int_equal(o[1].on_path_ns, 40);
}

/* Launched onto a queue, a kernel is not held up by what launched it, nor part of its time. */
static void asynchronous_launch(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_node kernel = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_KERNEL,
		.name = "k",
		.lane = 1,
		.flags = BRICK_NODE_HAS_TIME,
		.time_ns = 500};
	struct brick_graph_node step = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_BRICK,
		.name = "Decode"};
	struct brick_graph_node launch = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_BRICK,
		.name = "Gate",
		.flags = BRICK_NODE_HAS_TIME,
		.time_ns = 10};
	struct brick_graph_node wait = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_BRICK,
		.name = "Synchronize",
		.flags = BRICK_NODE_HAS_TIME,
		.time_ns = 985,
		.wait_ns = 980};

	brick_graph_enter(g, &step);
	uint32_t kernels[2];
	for (int i = 0; i < 2; i++) {
		brick_graph_enter(g, &launch);
		kernels[i] = (uint32_t)brick_graph_add(g, &kernel);
		brick_graph_pop(g);
	}
	uint32_t sync = (uint32_t)brick_graph_add(g, &wait);
	connect(g, kernels[1], sync, BRICK_EDGE_DEPENDS_ON);
	/* launch 10, kernel 500, kernel 500, and 5 to notice that it is done */
	assert_int_equal(path_of(g).length_ns, 1015);
	assert_int_equal(times_of(g, 0).end_ns, 1015);
	uint64_t ns;
	assert_int_equal(brick_graph_what_if(g, "Gate", 0, &ns), 0);
	assert_int_equal(ns, 5); /* its kernels are part of it */
	assert_int_equal(brick_graph_what_if(g, "k", 0.5, &ns), 0);
	assert_int_equal(ns, 515);
}

static void f130_slack_on_path_is_none(void **state)
{
	struct brick_graph *g = *state;

	uint32_t a = brick(g, "a", 5), b = brick(g, "b", 7), c = brick(g, "c", 9);
	connect(g, c, a, BRICK_EDGE_SEQUENCE);
	connect(g, a, b, BRICK_EDGE_SEQUENCE);
	struct brick_graph_path path = path_of(g);
	for (size_t i = 0; i < path.count; i++)
		assert_int_equal(times_of(g, path.nodes[i]).slack_ns, 0);
	assert_int_equal(times_of(g, b).begin_ns, 14);
	assert_int_equal(times_of(g, b).end_ns, 21);
}

static void f131_slack_beside_path(void **state)
{
	struct brick_graph *g = *state;

	uint32_t end = brick(g, "end", 1), slow = brick(g, "long", 100);
	uint32_t first = brick(g, "short", 30), second = brick(g, "short", 20);
	connect(g, slow, end, BRICK_EDGE_DEPENDS_ON);
	connect(g, first, second, BRICK_EDGE_SEQUENCE);
	connect(g, second, end, BRICK_EDGE_DEPENDS_ON);
	assert_int_equal(times_of(g, first).slack_ns, 50);
	assert_int_equal(times_of(g, second).slack_ns, 50);
	assert_int_equal(times_of(g, slow).slack_ns, 0);
	/* slack is what it says: as much longer changes nothing, one more does */
	brick_graph_time_set(g, first, 0, 80);
	assert_int_equal(path_of(g).length_ns, 101);
	brick_graph_time_set(g, first, 0, 81);
	assert_int_equal(path_of(g).length_ns, 102);
}

static void f132_roofline_distance(void **state)
{
	/* at 2 FLOP per byte and 100 GB/s the roof is 200 GFLOP/s, though the peak is 1000 */
	assert_true(fabs(brick_roofline_distance(150e9, 1e12, 2, 100e9) - 0.25) < 1e-12);
	assert_true(fabs(brick_roofline_distance(500e9, 1e12, 50, 100e9) - 0.5) < 1e-12);
	assert_true(brick_roofline_distance(200e9, 1e12, 2, 100e9) == 0);
	assert_true(brick_roofline_distance(0, 1e12, 2, 100e9) == 1);
	/* what cannot be is not made to look as if it could */
	assert_true(fabs(brick_roofline_distance(300e9, 1e12, 2, 100e9) + 0.5) < 1e-12);
	assert_true(isnan(brick_roofline_distance(1, 0, 2, 1)));
	assert_true(isnan(brick_roofline_distance(-1, 1, 2, 1)));
	assert_true(isnan(brick_roofline_distance(NAN, 1, 2, 1)));
	assert_true(isnan(brick_roofline_distance(1, 1, 0, 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(f128_path_of_a_chain),
		GRAPH_TEST(f129_path_of_branches),
		GRAPH_TEST(siblings_are_serial),
		GRAPH_TEST(what_belongs_to_a_brick),
		GRAPH_TEST(asynchronous_launch),
		GRAPH_TEST(f130_slack_on_path_is_none),
		GRAPH_TEST(f131_slack_beside_path),
		cmocka_unit_test(f132_roofline_distance),
	};
	return cmocka_run_group_tests_name("graph_path", tests, NULL, NULL);
}
