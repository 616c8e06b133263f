/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The execution graph as an engine builds it: the protocols F111 to F120.
 */
#include "tests/unit/graph_nodes.h"

static struct brick_graph_edge edge(struct brick_graph *g, uint32_t id)
{
	struct brick_graph_edge e = BRICK_GRAPH_EDGE_INIT;
	assert_int_equal(brick_graph_edge_get(g, id, &e), 0);
	return e;
}

static void f111_counts(void **state)
{
	struct brick_graph *g = *state;
	const uint32_t *nodes;

	assert_int_equal(brick_graph_node_count(g), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(add(g, BRICK_NODE_BRICK, "RmsNorm", 5), i);
	assert_int_equal(add(g, BRICK_NODE_KERNEL, "rms", 4), 3);
	assert_int_equal(brick_graph_connect(g, 0, 3, BRICK_EDGE_LAUNCHES, 1), 0);
	assert_int_equal(brick_graph_connect(g, 0, 1, BRICK_EDGE_SEQUENCE, 2.5), 1);
	assert_int_equal(brick_graph_node_count(g), 4);
	assert_int_equal(brick_graph_edge_count(g), 2);
	assert_int_equal(brick_graph_of_kind(g, BRICK_NODE_BRICK, &nodes), 3);
	assert_int_equal(nodes[2], 2);
	assert_int_equal(brick_graph_of_kind(g, BRICK_NODE_KERNEL, &nodes), 1);
	assert_int_equal(nodes[0], 3);
	assert_int_equal(brick_graph_of_kind(g, BRICK_NODE_TASK, &nodes), 0);
	assert_int_equal(brick_graph_find(g, "RmsNorm"), 0);
	assert_int_equal(brick_graph_find_next(g, 0), 1);
	assert_int_equal(brick_graph_find_next(g, 2), -ENOENT);
	assert_int_equal(brick_graph_find(g, "rmsnorm"), -ENOENT);
	assert_true(edge(g, 1).weight == 2.5);
}

static void f112_stable_hash(void **state)
{
	assert_int_equal(brick_code_hash("", 0), 0xcbf29ce484222325ull);
	assert_int_equal(brick_code_hash("a", 1), 0xaf63dc4c8601ec8cull);
	assert_int_equal(brick_code_hash("foobar", 6), 0x85944171f73967e8ull);
}

static void f113_kernel_in_scope(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_node kernel = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_KERNEL,
		.name = "gemv",
		.kernel = {.grid = {32, 1, 1}, .block = {256, 1, 1}, .shared_bytes = 4096}};
	struct brick_graph_node out = BRICK_GRAPH_NODE_INIT;

	int layer = brick_graph_enter(
		g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
			   .kind = BRICK_NODE_LAYER,
			   .layer = 7});
	int brick = brick_graph_enter(
		g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
			   .kind = BRICK_NODE_BRICK,
			   .name = "QkvProjection"});
	int first = brick_graph_add(g, &kernel), second = brick_graph_add(g, &kernel);
	kernel.lane = 3; /* a stream: it runs there on its own */
	int async = brick_graph_add(g, &kernel);
	assert_int_equal(brick_graph_pop(g), brick);
	int next = brick_graph_enter(
		g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
			   .kind = BRICK_NODE_BRICK,
			   .name = "Activation"});
	int async_next = brick_graph_add(g, &kernel);

	assert_int_equal(brick_graph_node_get(g, (uint32_t)layer, &out), 0);
	assert_string_equal(out.name, "Layer 7");
	assert_int_equal(brick_graph_node_get(g, (uint32_t)first, &out), 0);
	assert_int_equal(out.kernel.grid[0], 32);
	assert_int_equal(out.kernel.shared_bytes, 4096);
	static const int kinds[] = {BRICK_EDGE_CONTAINS, BRICK_EDGE_LAUNCHES, BRICK_EDGE_LAUNCHES,
		BRICK_EDGE_SEQUENCE, BRICK_EDGE_LAUNCHES, BRICK_EDGE_CONTAINS, BRICK_EDGE_SEQUENCE,
		BRICK_EDGE_LAUNCHES, BRICK_EDGE_SEQUENCE};
	const int ends[][2] = {{layer, brick}, {brick, first}, {brick, second}, {first, second},
		{brick, async}, {layer, next}, {brick, next}, {next, async_next},
		{async, async_next}};
	assert_int_equal(brick_graph_edge_count(g), 9);
	for (uint32_t i = 0; i < 9; i++) {
		assert_int_equal(edge(g, i).kind, kinds[i]);
		assert_int_equal(edge(g, i).from, ends[i][0]);
		assert_int_equal(edge(g, i).to, ends[i][1]);
	}
}

static void f114_balance(void **state)
{
	struct brick_graph *g = *state;

	assert_true(brick_graph_is_balanced(g));
	assert_int_equal(brick_graph_current(g), -ENOENT);
	assert_int_equal(brick_graph_push(g, 0), -ENOENT);
	add(g, BRICK_NODE_BRICK, "a", 1);
	add(g, BRICK_NODE_BRICK, "b", 1);
	assert_int_equal(brick_graph_push(g, 0), 0);
	assert_int_equal(brick_graph_push(g, 1), 0);
	assert_int_equal(brick_graph_current(g), 1);
	assert_false(brick_graph_is_balanced(g));
	assert_int_equal(brick_graph_pop(g), 1);
	assert_int_equal(brick_graph_pop(g), 0);
	assert_true(brick_graph_is_balanced(g));
	assert_int_equal(brick_graph_pop(g), BRICK_ESTATE);
	assert_false(brick_graph_is_balanced(g));
}

static void f115_edge_queries(void **state)
{
	struct brick_graph *g = *state;
	enum { NODES = 1000 };
	const uint32_t *edges;

	for (int i = 0; i < NODES; i++)
		add(g, BRICK_NODE_BRICK, "n", 1);
	for (uint32_t i = 0; i < NODES; i++)
		for (uint32_t k = 1; k <= 3; k++)
			if (i + k < NODES)
				brick_graph_connect(g, i, i + k, BRICK_EDGE_DEPENDS_ON, k);
	for (uint32_t i = 0; i < NODES; i++) {
		int n = brick_graph_out(g, i, &edges);
		assert_int_equal(n, NODES - 1 - i < 3 ? NODES - 1 - i : 3);
		for (int k = 0; k < n; k++) {
			assert_int_equal(edge(g, edges[k]).from, i);
			assert_int_equal(edge(g, edges[k]).to, i + (uint32_t)k + 1);
		}
		n = brick_graph_in(g, i, &edges);
		assert_int_equal(n, i < 3 ? i : 3);
		for (int k = 0; k < n; k++)
			assert_int_equal(edge(g, edges[k]).to, i);
	}
	assert_int_equal(brick_graph_out(g, NODES, &edges), -ENOENT);
	/* and what was asked before is up to date after a change */
	brick_graph_connect(g, 0, 999, BRICK_EDGE_SEQUENCE, 1);
	assert_int_equal(brick_graph_out(g, 0, &edges), 4);
	assert_int_equal(edge(g, edges[3]).to, 999);
	assert_int_equal(brick_graph_in(g, 999, &edges), 4);
}

/* The form of DOT, looked at closely enough to notice a missing quote or brace. */
static void assert_dot(const char *dot)
{
	int braces = 0, quoted = 0, brackets = 0;

	assert_true(!strncmp(dot, "digraph ", 8));
	for (const char *c = dot; *c; c++) {
		if (quoted && *c == '\\')
			c++;
		else if (*c == '"')
			quoted = !quoted;
		if (quoted)
			assert_true((unsigned char)*c >= 0x20);
		else
			braces += (*c == '{') - (*c == '}'), brackets += (*c == '[') - (*c == ']');
		assert_true(braces >= 0 && brackets >= 0 && brackets <= 1);
	}
	assert_int_equal(braces, 0);
	assert_int_equal(brackets, 0);
	assert_false(quoted);
}

static void f116_dot(void **state)
{
	struct brick_graph *g = *state;

	brick_graph_enter(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				     .kind = BRICK_NODE_LAYER,
				     .layer = 0});
	add(g, BRICK_NODE_BRICK, "say \"hi\"; } ] \\ & <b>\n\x1b[2J", 1500);
	add(g, BRICK_NODE_KERNEL, "broken \xff\xc0\x80 utf-8 \xc3\xa9", 1);
	brick_graph_pop(g);
	brick_graph_connect(g, 1, 2, BRICK_EDGE_DEPENDS_ON, 12.5);
	char *dot = graph_text(g, BRICK_GRAPH_DOT);
	assert_dot(dot);
	assert_non_null(
		strstr(dot, "n1 [label=\"say \\\"hi\\\"; } ] \\\\ &amp; <b>\\\\x0a\\\\x1b[2J"
			    "\\n1.5\xc2\xb5s\""));
	assert_non_null(strstr(dot, "broken \\\\xff\\\\xc0\\\\x80 utf-8 \xc3\xa9"));
	assert_non_null(strstr(dot, "n1 -> n2 ["));
	assert_non_null(strstr(dot, "label=\"12.5\""));
	assert_non_null(strstr(dot, "subgraph cluster_0 {"));
	free(dot);
}

static void f117_edge_types(void **state)
{
	struct brick_graph *g = *state;
	static const char *const names[] = {
		"calls", "contains", "launches", "sequence", "depends-on", "transfer"};
	char key[64];

	add(g, BRICK_NODE_FUNCTION, "a", 1);
	add(g, BRICK_NODE_FUNCTION, "b", 1);
	for (int kind = 0; kind < BRICK_EDGE_KINDS; kind++) {
		assert_int_equal(brick_graph_connect(g, 0, 1, kind, 0.5 * kind), kind);
		assert_int_equal(edge(g, (uint32_t)kind).kind, kind);
		assert_true(edge(g, (uint32_t)kind).weight == 0.5 * kind);
	}
	char *json = graph_text(g, BRICK_GRAPH_JSON);
	for (int kind = 0; kind < BRICK_EDGE_KINDS; kind++) {
		snprintf(key, sizeof(key), "\"kind\":\"%s\",\"weight\":%g}", names[kind],
			0.5 * kind);
		assert_non_null(strstr(json, key));
	}
	free(json);
	assert_int_equal(brick_graph_connect(g, 0, 1, BRICK_EDGE_KINDS, 1), -EINVAL);
	assert_int_equal(brick_graph_connect(g, 0, 1, -1, 1), -EINVAL);
	assert_int_equal(brick_graph_connect(g, 0, 1, 0, NAN), -EINVAL);
	assert_int_equal(brick_graph_connect(g, 0, 2, 0, 1), -ENOENT);
	assert_int_equal(brick_graph_edge_count(g), BRICK_EDGE_KINDS);
}

static void f118_registry(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_code code = {.size = sizeof(struct brick_graph_code),
					.name = "gemv",
					.source = "foobar",
					.path = "gemv.cl"},
				out = BRICK_GRAPH_CODE_INIT;

	assert_int_equal(brick_graph_code_add(g, &code), 0);
	assert_int_equal(code.hash, 0x85944171f73967e8ull);
	code.name = "another name";
	assert_int_equal(brick_graph_code_add(g, &code), 0);
	assert_int_equal(brick_graph_code_get(g, code.hash, &out), 0);
	assert_string_equal(out.name, "gemv");
	assert_string_equal(out.source, "foobar");
	assert_string_equal(out.path, "gemv.cl");
	assert_int_equal(brick_graph_code_get(g, code.hash + 1, &out), -ENOENT);
	for (int i = 0; i < 1000; i++) {
		char text[32];
		snprintf(text, sizeof(text), "kernel %d", i);
		struct brick_graph_code one = {
			.size = sizeof(struct brick_graph_code), .name = text, .source = text};
		assert_int_equal(brick_graph_code_add(g, &one), 0);
		assert_int_equal(brick_graph_code_get(g, one.hash, &out), 0);
		assert_string_equal(out.source, text);
		assert_null(out.path);
	}
	code.source = NULL;
	assert_int_equal(brick_graph_code_add(g, &code), -EINVAL);
}

static void f119_slowest_kernel(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_node untimed = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_KERNEL,
		.name = "k",
		.time_ns = 999};

	assert_int_equal(brick_graph_slowest_kernel(g), BRICK_ENOTRECORDED);
	brick_graph_add(g, &untimed);
	assert_int_equal(brick_graph_slowest_kernel(g), BRICK_ENOTRECORDED);
	add(g, BRICK_NODE_BRICK, "b", 1000);
	add(g, BRICK_NODE_KERNEL, "k", 10);
	int slowest = add(g, BRICK_NODE_KERNEL, "k", 30);
	add(g, BRICK_NODE_KERNEL, "k", 30);
	assert_int_equal(brick_graph_slowest_kernel(g), slowest);
	assert_int_equal(brick_graph_time_set(g, 0, 5, 31), 0);
	assert_int_equal(brick_graph_slowest_kernel(g), 0);
}

static void f120_clear(void **state)
{
	struct brick_graph *g = *state, *fresh;
	const uint32_t *list;
	struct brick_graph_code code = {
		.size = sizeof(struct brick_graph_code), .name = "k", .source = "s"};

	brick_graph_enter(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				     .kind = BRICK_NODE_LAYER,
				     .layer = 0});
	add(g, BRICK_NODE_BRICK, "b", 1);
	add(g, BRICK_NODE_BRICK, "b", 1);
	brick_graph_code_add(g, &code);
	brick_graph_lane_name_set(g, 0, "main");
	brick_graph_out(g, 0, &list);
	brick_graph_clear(g);
	assert_int_equal(brick_graph_node_count(g), 0);
	assert_int_equal(brick_graph_edge_count(g), 0);
	assert_int_equal(brick_graph_find(g, "b"), -ENOENT);
	assert_true(brick_graph_is_balanced(g));
	assert_int_equal(brick_graph_current(g), -ENOENT);
	assert_int_equal(brick_graph_code_get(g, code.hash, &code), -ENOENT);
	assert_null(brick_graph_lane_name(g, 0));
	/* and nothing of what was shows in what comes */
	assert_int_equal(brick_graph_create(&fresh), 0);
	struct brick_graph *both[] = {g, fresh};
	for (int i = 0; i < 2; i++) {
		brick_graph_enter(
			both[i], &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
					 .kind = BRICK_NODE_BRICK,
					 .name = "x"});
		add(both[i], BRICK_NODE_BRICK, "y", 3);
	}
	for (int format = 0; format < BRICK_GRAPH_FORMATS; format++) {
		char *a = graph_text(g, format), *b = graph_text(fresh, format);
		assert_string_equal(a, b);
		free(a);
		free(b);
	}
	brick_graph_destroy(fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(f111_counts),
		cmocka_unit_test(f112_stable_hash),
		GRAPH_TEST(f113_kernel_in_scope),
		GRAPH_TEST(f114_balance),
		GRAPH_TEST(f115_edge_queries),
		GRAPH_TEST(f116_dot),
		GRAPH_TEST(f117_edge_types),
		GRAPH_TEST(f118_registry),
		GRAPH_TEST(f119_slowest_kernel),
		GRAPH_TEST(f120_clear),
	};
	return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
