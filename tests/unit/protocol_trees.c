/* SPDX-License-Identifier: Apache-2.0 */
/* Description: the falsification protocols F121 to F127, on trees (docs/PROTOCOLS.md). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "brick/error.h"
#include "brick/graph.h"
#include "tests/unit/graph_text.h"

static int create(void **state)
{
	struct brick_graph *g = NULL;
	int error = brick_graph_create(&g);

	*state = g;
	return error;
}

static int destroy(void **state)
{
	brick_graph_destroy(*state);
	return 0;
}

static void enter_layer(struct brick_graph *g, int layer)
{
	struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_LAYER,
		.flags = BRICK_NODE_HAS_LAYER,
		.layer = layer};

	assert_true(brick_graph_enter(g, &node) >= 0);
}

static void enter_brick(struct brick_graph *g, const char *name, uint64_t ns, uint64_t elements)
{
	struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_BRICK,
		.name = name,
		.flags = BRICK_NODE_HAS_TIME | (elements ? BRICK_NODE_HAS_ELEMENTS : 0),
		.time_ns = ns,
		.elements = elements};

	assert_true(brick_graph_enter(g, &node) >= 0);
}

static void add_kernel(struct brick_graph *g, const char *name, uint32_t grid)
{
	struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_KERNEL,
		.name = name,
		.kernel = {.grid = {grid, 1, 1}, .block = {256, 1, 1}, .shared_bytes = 1024}};

	assert_true(brick_graph_add(g, &node) >= 0);
}

static void expect(struct brick_graph *g, const char *expected)
{
	char *text = graph_text(g, BRICK_GRAPH_TREE);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

/* An empty graph is an empty tree, not an error. */
static void f121_empty(void **state)
{
	expect(*state, "");
}

/* A brick says its time and its elements; one without says neither. */
static void f122_brick_line(void **state)
{
	struct brick_graph *g = *state;

	enter_brick(g, "RmsNorm", 50000, 4096);
	brick_graph_pop(g);
	struct brick_graph_node bare = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_BRICK,
		.name = "LmHead"};
	brick_graph_add(g, &bare);
	expect(g, "RmsNorm  50.0µs (4096 elem)\nLmHead\n");
}

/* A kernel says how it was launched. */
static void f123_kernel_line(void **state)
{
	struct brick_graph *g = *state;

	enter_brick(g, "RmsNorm", 50000, 4096);
	add_kernel(g, "rmsnorm_kernel", 16);
	brick_graph_pop(g);
	expect(g, "RmsNorm  50.0µs (4096 elem)\n"
		  "└── rmsnorm_kernel  <<<(16,1,1),(256,1,1)>>> smem=1024B\n");
}

/* Layer, brick, kernel: three levels, in the order in which they ran. */
static void f124_levels(void **state)
{
	struct brick_graph *g = *state;

	for (int layer = 0; layer < 2; layer++) {
		enter_layer(g, layer);
		enter_brick(g, "RmsNorm", 50000, 0);
		add_kernel(g, "rms", 1);
		brick_graph_pop(g);
		enter_brick(g, "QkvProjection", 200000, 0);
		add_kernel(g, "q", 2);
		add_kernel(g, "kv", 3);
		brick_graph_pop(g);
		brick_graph_pop(g);
	}
	expect(g, "Layer 0\n"
		  "├── RmsNorm  50.0µs\n"
		  "│   └── rms  <<<(1,1,1),(256,1,1)>>> smem=1024B\n"
		  "└── QkvProjection  200.0µs\n"
		  "    ├── q  <<<(2,1,1),(256,1,1)>>> smem=1024B\n"
		  "    └── kv  <<<(3,1,1),(256,1,1)>>> smem=1024B\n"
		  "Layer 1\n"
		  "├── RmsNorm  50.0µs\n"
		  "│   └── rms  <<<(1,1,1),(256,1,1)>>> smem=1024B\n"
		  "└── QkvProjection  200.0µs\n"
		  "    ├── q  <<<(2,1,1),(256,1,1)>>> smem=1024B\n"
		  "    └── kv  <<<(3,1,1),(256,1,1)>>> smem=1024B\n");
}

/* Precedence is no nesting: what must wait for a brick is not drawn inside of it. */
static void f125_order_is_no_nesting(void **state)
{
	struct brick_graph *g = *state;

	enter_brick(g, "A", 1000, 0);
	brick_graph_pop(g);
	enter_brick(g, "B", 1000, 0);
	brick_graph_pop(g);
	assert_true(brick_graph_connect(g, 0, 1, BRICK_EDGE_DEPENDS_ON, 1) >= 0);
	expect(g, "A  1.0µs\nB  1.0µs\n");
}

/* Names cannot draw, nor move the cursor. */
static void f126_names_are_safe(void **state)
{
	struct brick_graph *g = *state;

	enter_brick(g, "a\n└── b\x1b[2J", 1000, 0);
	brick_graph_pop(g);
	char *text = graph_text(g, BRICK_GRAPH_TREE);
	assert_non_null(text);
	assert_int_equal(strchr(text, '\n') - text, strlen(text) - 1);
	assert_null(strchr(text, '\x1b'));
	free(text);
}

/* The same graph, the same bytes; a cycle is an error and no endless tree. */
static void f127_stable_and_finite(void **state)
{
	struct brick_graph *g = *state;

	for (int i = 0; i < 200; i++)
		enter_brick(g, i % 2 ? "odd" : "even", (uint64_t)i, 0);
	char *first = graph_text(g, BRICK_GRAPH_TREE), *second = graph_text(g, BRICK_GRAPH_TREE);
	assert_non_null(first);
	assert_string_equal(first, second);
	free(first);
	free(second);
	assert_true(brick_graph_connect(g, 199, 0, BRICK_EDGE_CONTAINS, 1) >= 0);
	FILE *out = tmpfile();
	assert_int_equal(
		brick_graph_write(g, BRICK_GRAPH_TREE, graph_text_write, out), BRICK_ECYCLE);
	fclose(out);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, create, destroy)
	const struct CMUnitTest tests[] = {
		TEST(f121_empty),
		TEST(f122_brick_line),
		TEST(f123_kernel_line),
		TEST(f124_levels),
		TEST(f125_order_is_no_nesting),
		TEST(f126_names_are_safe),
		TEST(f127_stable_and_finite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
