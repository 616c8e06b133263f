/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a caller may do wrong with the execution graph, and nodes of all kinds.
 */
#include "tests/unit/graph_nodes.h"

static void bad_nodes(void **state)
{
	struct brick_graph *g = *state;
	char *name = calloc(1, BRICK_GRAPH_NAME_BYTES + 2);

	memset(name, 'x', BRICK_GRAPH_NAME_BYTES);
	assert_int_equal(add(g, BRICK_NODE_BRICK, name, 1), 0);
	name[BRICK_GRAPH_NAME_BYTES] = 'x';
	assert_int_equal(add(g, BRICK_NODE_BRICK, name, 1), -EINVAL);
	assert_int_equal(add(g, BRICK_NODE_BRICK, "", 1), -EINVAL);
	assert_int_equal(add(g, BRICK_NODE_BRICK, NULL, 1), -EINVAL);
	assert_int_equal(add(g, BRICK_NODE_KINDS, "x", 1), -EINVAL);
	struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_KERNEL,
		.name = "k",
		.flags = BRICK_NODE_HAS_INTENSITY,
		.kernel.intensity = NAN};
	assert_int_equal(brick_graph_add(g, &node), -EINVAL);
	node = (struct brick_graph_node){.size = sizeof(struct brick_graph_node),
		.kind = BRICK_NODE_TRANSFER,
		.name = "t",
		.transfer.direction = 9};
	assert_int_equal(brick_graph_add(g, &node), -EINVAL);
	assert_int_equal(brick_graph_node_count(g), 1);
	assert_int_equal(brick_graph_node_get(g, 1, &node), -ENOENT);
	assert_int_equal(brick_graph_mark(g, 1), -ENOENT);
	assert_int_equal(brick_graph_time_set(g, 1, 0, 0), -ENOENT);
	assert_int_equal(brick_graph_write(g, BRICK_GRAPH_FORMATS, NULL, NULL), -EINVAL);
	free(name);
}

static void other_kinds(void **state)
{
	struct brick_graph *g = *state;
	struct brick_graph_node out = BRICK_GRAPH_NODE_INIT;

	brick_graph_add(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_TRANSFER,
				   .name = "copy",
				   .flags = BRICK_NODE_HAS_BYTES,
				   .bytes = 4096,
				   .transfer = {"host", "cuda:0", BRICK_TRANSFER_H2D}});
	brick_graph_add(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_FUNCTION,
				   .name = "f",
				   .function = {"a.c", 12}});
	brick_graph_add(g, &(struct brick_graph_node){.size = sizeof(struct brick_graph_node),
				   .kind = BRICK_NODE_TASK,
				   .name = "t",
				   .task = {.polls = 4, .yields = 3, .poll_ns = 100}});
	brick_graph_node_get(g, 0, &out);
	assert_string_equal(out.transfer.source, "host");
	assert_string_equal(out.transfer.target, "cuda:0");
	assert_int_equal(out.transfer.direction, BRICK_TRANSFER_H2D);
	assert_true(brick_graph_task_efficiency(&out) < 0);
	brick_graph_node_get(g, 1, &out);
	assert_string_equal(out.function.file, "a.c");
	assert_int_equal(out.function.line, 12);
	brick_graph_node_get(g, 2, &out);
	assert_int_equal(out.task.yields, 3);
	assert_true(brick_graph_task_efficiency(&out) == 0.25);
	out.task.polls = 0;
	assert_true(brick_graph_task_efficiency(&out) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(bad_nodes),
		GRAPH_TEST(other_kinds),
	};
	return cmocka_run_group_tests_name("graph_misuse", tests, NULL, NULL);
}
