/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution graph when memory runs out: every allocation fails once, whichever it is; calls say
 * so, what they could not do whole they did not do, and nothing leaks. Not under sanitizers, which
 * have an allocator of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "brick/error.h"
#include "brick/graph_path.h"
#include "tests/unit/failing_memory.h"

static int swallow(void *context, const char *data, size_t bytes)
{
	return 0;
}

/* Forty nodes of all kinds; one that cannot be added is not there at all. */
static int add_nodes(struct brick_graph *g)
{
	char name[32];
	int rc = 0;

	for (int i = 0; i < 40 && rc >= 0; i++) {
		size_t nodes = brick_graph_node_count(g), links = brick_graph_edge_count(g);
		snprintf(name, sizeof(name), "brick %d", i);
		struct brick_graph_node node = {.size = sizeof(struct brick_graph_node),
			.kind = (uint32_t)i % BRICK_NODE_KINDS,
			.name = name,
			.label = "label",
			.flags = BRICK_NODE_HAS_TIME | BRICK_NODE_HAS_BYTES,
			.time_ns = 10,
			.bytes = 5,
			.lane = (uint32_t)i % 2};
		if (node.kind == BRICK_NODE_TRANSFER) {
			node.transfer.source = i % 4 ? "here" : "there";
			node.transfer.target = i % 4 ? "there" : "here";
		} else if (node.kind == BRICK_NODE_FUNCTION) {
			node.function.file = "file.c";
		}
		rc = i < 5 ? brick_graph_enter(g, &node) : brick_graph_add(g, &node);
		if (rc < 0) {
			assert_int_equal(brick_graph_node_count(g), nodes);
			assert_int_equal(brick_graph_edge_count(g), links);
			assert_int_equal(brick_graph_find(g, name), -ENOENT);
		}
	}
	return rc;
}

static int ask_all(struct brick_graph *g)
{
	struct brick_graph_path path = BRICK_GRAPH_PATH_INIT;
	struct brick_graph_times times = BRICK_GRAPH_TIMES_INIT;
	struct brick_graph_opportunity best[3] = {BRICK_GRAPH_OPPORTUNITY_INIT};
	struct brick_graph_summary summary = BRICK_GRAPH_SUMMARY_INIT;
	const uint32_t *edges;
	uint64_t ns;
	int rc = brick_graph_out(g, 3, &edges);

	if (rc >= 0)
		rc = brick_graph_in(g, 3, &edges);
	if (rc >= 0)
		rc = brick_graph_critical_path(g, &path);
	if (rc >= 0)
		rc = brick_graph_times_get(g, 3, &times);
	if (rc >= 0)
		rc = brick_graph_what_if(g, "brick 7", 0.5, &ns);
	if (rc >= 0)
		rc = brick_graph_opportunities(g, best, 3);
	if (rc >= 0)
		rc = brick_graph_summarize(g, &summary);
	for (int format = 0; format < BRICK_GRAPH_FORMATS && rc >= 0; format++)
		rc = brick_graph_write(g, format, swallow, NULL);
	return rc;
}

static int make_cycle(struct brick_graph *g)
{
	const uint32_t *edges;
	int rc = brick_graph_connect(g, 30, 10, BRICK_EDGE_DEPENDS_ON, 1);

	if (rc >= 0)
		rc = brick_graph_cycle(g, &edges);
	if (rc >= 0)
		assert_true(rc > 1);
	return rc;
}

/* Everything that a graph can do; returns the first error. */
static int do_all(struct brick_graph *g)
{
	struct brick_graph_code code = {.size = sizeof(struct brick_graph_code),
		.name = "k",
		.source = "source",
		.path = "path"};
	int rc = brick_graph_code_add(g, &code);

	if (rc >= 0)
		rc = brick_graph_lane_name_set(g, 1, "lane");
	if (rc >= 0)
		rc = add_nodes(g);
	if (rc >= 0)
		rc = brick_graph_connect(g, 10, 30, BRICK_EDGE_DEPENDS_ON, 1);
	if (rc >= 0)
		rc = ask_all(g);
	if (rc >= 0)
		rc = make_cycle(g);
	return rc < 0 ? rc : 0;
}

static void every_allocation_fails_once(void **state)
{
	int failed = 0;

	if (!MEMORY_CAN_FAIL)
		skip();
	for (long n = 0;; n++) {
		struct brick_graph *g = NULL;
		memory_fail_at(n);
		int rc = brick_graph_create(&g);
		if (rc >= 0)
			rc = do_all(g);
		int happened = memory_stop_failing();
		if (g && happened) /* it is as good as ever */
			brick_graph_clear(g);
		if (g && happened)
			assert_int_equal(do_all(g), 0);
		brick_graph_destroy(g);
		memory_count_end();
		assert_int_equal(memory_blocks, 0);
		if (!happened) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, -ENOMEM);
		failed++;
	}
	assert_true(failed > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_allocation_fails_once),
	};
	return cmocka_run_group_tests_name("graph_memory", tests, NULL, NULL);
}
