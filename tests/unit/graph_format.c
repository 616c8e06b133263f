/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats of an execution graph: each is read back, with names that would break it, and says
 * what the graph says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "brick/error.h"
#include "tests/unit/graph_kit.h"

static json_t *load(const char *text)
{
	json_error_t error;
	json_t *value = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!value)
		fail_msg("%s at byte %d of %s", error.text, error.position, text);
	return value;
}

static const char *string_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static json_int_t number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

/* The text of a graph in JSON, which is ASCII. The caller frees. */
static json_t *json_of(struct brick_graph *g)
{
	char *text = graph_text(g, BRICK_GRAPH_JSON);

	for (const char *c = text; *c; c++)
		assert_true(*c == '\n' || (*c >= 0x20 && *c < 0x7f));
	json_t *root = load(text);
	free(text);
	assert_string_equal(string_of(root, "schema"), "brick/graph/1");
	return root;
}

static void json_says_all(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_code code = {.size = sizeof(struct brick_graph_code),
		.name = "k\"",
		.source = "line 1\nline 2",
		.path = NULL};

	brick_graph_code_add(g, &code);
	brick_graph_lane_name_set(g, 7, "stream");
	brick_graph_lane_name_set(g, 3, HOSTILE);
	brick_graph_add(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_KERNEL,
				   .name = HOSTILE,
				   .flags = BRICK_NODE_HAS_TIME | BRICK_NODE_HAS_TFLOPS |
					    BRICK_NODE_HAS_INTENSITY | BRICK_NODE_MARKED,
				   .time_ns = UINT64_C(9007199254740993),
				   .lane = 7,
				   .kernel = {.code = code.hash,
					   .grid = {1, 2, 3},
					   .block = {4, 5, 6},
					   .shared_bytes = 48,
					   .intensity = 0.1,
					   .tflops = 1e-300}});
	char hash[32], *tree = graph_text(g, BRICK_GRAPH_TREE),
		       *dot = graph_text(g, BRICK_GRAPH_DOT);
	snprintf(hash, sizeof hash, "code=%016llx", (unsigned long long)code.hash);
	assert_non_null(strstr(tree, hash));
	hash[4] = ' ';
	assert_non_null(strstr(dot, hash));
	free(tree);
	free(dot);
	json_t *root = json_of(g), *nodes = json_object_get(root, "nodes");
	const json_t *kernel = json_array_get(nodes, 0);
	assert_int_equal(json_array_size(nodes), 1);
	assert_string_equal(string_of(kernel, "kind"), "kernel");
	assert_non_null(
		strstr(string_of(kernel, "name"), "a;b \"c\" \\ {d} <e> & [f] \n\r\t\x1b[31m"));
	assert_non_null(strstr(string_of(kernel, "name"), "\xf0\x9f\xa7\xb1 \xef\xbf\xbd"));
	assert_int_equal(number_of(kernel, "time_ns"), INT64_C(9007199254740993));
	assert_null(json_object_get(kernel, "begin_ns"));
	assert_null(json_object_get(kernel, "layer"));
	assert_int_equal(json_integer_value(json_array_get(json_object_get(kernel, "grid"), 2)), 3);
	assert_true(json_real_value(json_object_get(kernel, "intensity")) == 0.1);
	assert_true(json_real_value(json_object_get(kernel, "tflops")) == 1e-300);
	assert_true(json_is_true(json_object_get(kernel, "marked")));
	const json_t *lanes = json_object_get(root, "lanes");
	assert_int_equal(number_of(json_array_get(lanes, 0), "lane"), 3);
	assert_string_equal(string_of(json_array_get(lanes, 1), "name"), "stream");
	const json_t *codes = json_object_get(root, "code");
	assert_string_equal(string_of(json_array_get(codes, 0), "source"), "line 1\nline 2");
	assert_string_equal(string_of(json_array_get(codes, 0), "hash"), string_of(kernel, "code"));
	json_decref(root);
}

static void json_of_other_kinds(void **state)
{
	struct brick_graph *g = *state;

	brick_graph_add(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_TRANSFER,
				   .name = "t",
				   .transfer = {NULL, "b", BRICK_TRANSFER_D2H}});
	brick_graph_add(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_TASK,
				   .name = "u",
				   .task = {9, 8, 7}});
	brick_graph_add(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_LAYER,
				   .layer = -2});
	brick_graph_connect(g, 0, 1, BRICK_EDGE_TRANSFER, 1.0 / 3);
	json_t *root = json_of(g), *nodes = json_object_get(root, "nodes");
	assert_int_equal(json_array_size(nodes), 3);
	assert_true(json_is_null(json_object_get(json_array_get(nodes, 0), "source")));
	assert_string_equal(string_of(json_array_get(nodes, 0), "direction"), "D2H");
	assert_int_equal(number_of(json_array_get(nodes, 1), "yields"), 8);
	assert_string_equal(string_of(json_array_get(nodes, 2), "name"), "Layer -2");
	assert_int_equal(number_of(json_array_get(nodes, 2), "layer"), -2);
	const json_t *edge = json_array_get(json_object_get(root, "edges"), 0);
	assert_true(json_real_value(json_object_get(edge, "weight")) == 1.0 / 3);
	json_decref(root);
}

static void csr_is_the_graph(void **state)
{
	struct brick_graph *g = *state;
	uint32_t seed = 5;

	for (int empty = 1; empty >= 0; empty--) {
		char *text = graph_text(g, BRICK_GRAPH_CSR);
		json_t *root = load(text), *row = json_object_get(root, "row");
		json_t *column = json_object_get(root, "column");
		json_t *weight = json_object_get(root, "weight"),
		       *name = json_object_get(root, "name");
		size_t n = brick_graph_node_count(g), m = brick_graph_edge_count(g), seen = 0;
		assert_int_equal(number_of(root, "nodes"), n);
		assert_int_equal(number_of(root, "edges"), m);
		assert_int_equal(json_array_size(row), n + 1);
		assert_int_equal(json_array_size(column), m);
		assert_int_equal(json_array_size(json_object_get(root, "edge_kind")), m);
		assert_int_equal(json_integer_value(json_array_get(row, n)), m);
		for (uint32_t v = 0; v < n; v++) {
			const uint32_t *edges;
			struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;
			int out = brick_graph_out(g, v, &edges);
			json_int_t first = json_integer_value(json_array_get(row, v));
			assert_int_equal(
				json_integer_value(json_array_get(row, v + 1)) - first, out);
			for (int i = 0; i < out; i++) {
				struct brick_graph_edge e = BRICK_GRAPH_EDGE_INIT;
				size_t at = (size_t)first + (size_t)i;
				brick_graph_edge_get(g, edges[i], &e);
				assert_int_equal(
					json_integer_value(json_array_get(column, at)), e.to);
				assert_true(
					json_number_value(json_array_get(weight, at)) == e.weight);
				seen++;
			}
			brick_graph_node_get(g, v, &node);
			json_t *names = json_object_get(root, "names");
			size_t number = (size_t)json_integer_value(json_array_get(name, v));
			assert_string_equal(
				json_string_value(json_array_get(names, number)), node.name);
		}
		assert_int_equal(seen, m);
		json_decref(root);
		free(text);
		for (int i = 0; empty && i < 100; i++)
			brick(g, (const char *[]){"x", "y", "z"}[i % 3], (uint64_t)i);
		for (int i = 0; empty && i < 300; i++) {
			seed = seed * 1664525 + 1013904223;
			brick_graph_connect(g, (seed >> 8) % 100, (seed >> 16) % 100,
				(int)(seed % 6), (seed >> 4) % 16 / 4.0);
		}
	}
}

static void assert_tree(struct brick_graph *g, const char *expected)
{
	char *text = graph_text(g, BRICK_GRAPH_TREE);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

/* F122 to F124, F126: the tree as it is drawn for kernels of a GPU; names cannot draw, nor move the
 * cursor. */
static void tree_is_drawn(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_BRICK,
		.name = "RmsNorm",
		.flags = BRICK_NODE_HAS_TIME | BRICK_NODE_HAS_ELEMENTS,
		.time_ns = 50000,
		.elements = 4096};
	struct brick_graph_node kernel = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_KERNEL,
		.name = "rmsnorm_kernel",
		.kernel = {.grid = {16, 1, 1}, .block = {256, 1, 1}, .shared_bytes = 1024}};

	brick_graph_enter(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				     .kind = BRICK_NODE_LAYER});
	brick_graph_enter(g, &node);
	brick_graph_add(g, &kernel);
	brick_graph_pop(g);
	node.name = "QkvProjection";
	node.time_ns = 200000;
	brick_graph_enter(g, &node);
	kernel.name = "batched_q4k_gemv";
	kernel.kernel.grid[0] = 32;
	kernel.kernel.shared_bytes = 4096;
	brick_graph_add(g, &kernel);
	kernel.kernel.shared_bytes = 0;
	brick_graph_add(g, &kernel);
	brick_graph_pop(g);
	brick_graph_pop(g);
	brick_graph_add(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_TRANSFER,
				   .name = "logits",
				   .flags = BRICK_NODE_HAS_BYTES,
				   .bytes = 8192,
				   .transfer = {"cuda:0", "host", BRICK_TRANSFER_D2H}});
	brick_graph_add(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_TASK,
				   .name = "fetch\n└── b\x1b[2J",
				   .task = {3, 2, 1}});
	brick_graph_add(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_FUNCTION,
				   .name = "main",
				   .function = {"main.c", 7}});
	brick_graph_add(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_BRICK,
				   .name = "LmHead"});
	assert_tree(g, "Layer 0\n"
		       "├── RmsNorm  50.0µs (4096 elem)\n"
		       "│   └── rmsnorm_kernel  <<<(16,1,1),(256,1,1)>>> smem=1024B\n"
		       "└── QkvProjection  200.0µs (4096 elem)\n"
		       "    ├── batched_q4k_gemv  <<<(32,1,1),(256,1,1)>>> smem=4096B\n"
		       "    └── batched_q4k_gemv  <<<(32,1,1),(256,1,1)>>> smem=0B\n"
		       "logits  D2H cuda:0 → host 8192B\n"
		       "fetch\\x0a└── b\\x1b[2J  polls=3 yields=2 efficiency=33%\n"
		       "main  main.c:7\n"
		       "LmHead\n");
}

/* F121, F125: an empty graph is an empty tree; what must wait for a brick is not drawn inside of
 * it. */
static void order_is_no_nesting(void **state)
{
	struct brick_graph *g = *state;

	assert_tree(g, "");
	brick(g, "A", 1000);
	brick(g, "B", 1000);
	connect(g, 0, 1, BRICK_EDGE_DEPENDS_ON);
	assert_tree(g, "A  1.0µs\nB  1.0µs\n");
}

/* F127: the same graph, the same bytes; a cycle is an error and no endless tree. */
static void tree_is_stable_and_finite(void **state)
{
	struct brick_graph *g = *state;

	for (int i = 0; i < 200; i++)
		brick_graph_enter(
			g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_BRICK,
				   .name = i % 2 ? "odd" : "even"});
	char *first = graph_text(g, BRICK_GRAPH_TREE);
	assert_tree(g, first);
	free(first);
	connect(g, 199, 0, BRICK_EDGE_CONTAINS);
	FILE *out = tmpfile();
	assert_int_equal(
		brick_graph_write(g, BRICK_GRAPH_TREE, graph_text_write, out), BRICK_ECYCLE);
	fclose(out);
}

static void times_are_rounded(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {{0, "0.0µs"}, {49, "0.0µs"}, {50, "0.1µs"}, {999949, "999.9µs"},
		{999950, "1.0ms"}, {12345678, "12.3ms"}, {999950000, "1.0s"},
		{3600000000000, "3600.0s"}, {UINT64_MAX, "18446744073.7s"}};
	char expected[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct brick_graph *g = *state;
		brick_graph_clear(g);
		brick(g, "b", cases[i].ns);
		char *text = graph_text(g, BRICK_GRAPH_TREE);
		snprintf(expected, sizeof(expected), "b  %s\n", cases[i].text);
		assert_string_equal(text, expected);
		free(text);
	}
}

static void folded_adds_up(void **state)
{
	struct brick_graph *g = *state;
	uint64_t sum = 0;

	brick_graph_lane_name_set(g, 0, "main;thread");
	for (int i = 0; i < 3; i++) {
		brick_graph_enter(
			g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_BRICK,
				   .name = "step",
				   .flags = BRICK_NODE_HAS_TIME,
				   .time_ns = 100});
		brick(g, "a", 30);
		brick(g, HOSTILE, 20);
		brick(g, "nothing", 0);
		/* on a queue: not part of the step's own time */
		brick_graph_add(
			g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_KERNEL,
				   .name = "k",
				   .flags = BRICK_NODE_HAS_TIME,
				   .time_ns = 1000,
				   .lane = 1});
		brick_graph_pop(g);
	}
	char *text = graph_text(g, BRICK_GRAPH_FOLDED), *save;
	assert_non_null(strstr(text, "main\\x3bthread;step 150\n"));
	assert_non_null(strstr(text, "main\\x3bthread;step;a 90\n"));
	assert_non_null(strstr(text, "main\\x3bthread;step;k 3000\n"));
	assert_null(strstr(text, "nothing"));
	int lines = 0;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *number = strrchr(line, ' ');
		assert_non_null(number);
		sum += strtoull(number + 1, NULL, 10);
		for (const char *c = line; *c; c++)
			assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
		lines++;
	}
	assert_int_equal(lines, 4);
	assert_int_equal(sum, 300 + 3000);
	free(text);
}

/* Numbers look the same where a comma divides whole from fraction. */
static void locale_does_not_matter(void **state)
{
	struct brick_graph *g = *state;
	char folder[] = "/tmp/brick-locale-XXXXXX", command[128];

	assert_non_null(mkdtemp(folder));
	snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 2>/dev/null",
		folder);
	int made = system(command) == 0;
	setenv("LOCPATH", folder, 1);
	brick(g, "a", 1500);
	brick(g, "b", 2500);
	brick_graph_connect(g, 0, 1, BRICK_EDGE_SEQUENCE, 0.125);
	char *before = graph_text(g, BRICK_GRAPH_JSON), *after = NULL;
	int changed = made && setlocale(LC_ALL, "de_DE.UTF-8");
	snprintf(command, sizeof(command), "%.1f", 0.5);
	if (changed) {
		assert_string_equal(command, "0,5");
		after = graph_text(g, BRICK_GRAPH_JSON);
		assert_string_equal(before, after);
	}
	setlocale(LC_ALL, "C");
	unsetenv("LOCPATH");
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
	free(before);
	free(after);
	if (!changed)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(json_says_all),
		GRAPH_TEST(json_of_other_kinds),
		GRAPH_TEST(csr_is_the_graph),
		GRAPH_TEST(tree_is_drawn),
		GRAPH_TEST(order_is_no_nesting),
		GRAPH_TEST(tree_is_stable_and_finite),
		GRAPH_TEST(times_are_rounded),
		GRAPH_TEST(folded_adds_up),
		GRAPH_TEST(locale_does_not_matter),
	};
	return cmocka_run_group_tests_name("graph_format", tests, NULL, NULL);
}
