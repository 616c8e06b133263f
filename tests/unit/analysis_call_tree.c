/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a step: layers, merged bricks, waits, operations; sums at every node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "analysis/accounts/call_tree.h"
#include "analysis/statistics/unknown.h"
#include "tests/unit/run_builder.h"

static const struct call_node *child(
	const struct call_tree *tree, const struct call_node *node, enum call_kind kind, int k)
{
	for (uint32_t i = node->first; i != RUN_NONE; i = tree->nodes[i].next)
		if (tree->nodes[i].kind == kind && k-- == 0)
			return &tree->nodes[i];
	fail_msg("no such node");
	return NULL;
}

/* Every node's time is its children's and its own; layers have none of their own. */
static void check_sums(const struct call_tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		const struct call_node *node = &tree->nodes[i];
		uint64_t sum = 0, operations = 0;
		for (uint32_t k = node->first; k != RUN_NONE; k = tree->nodes[k].next) {
			assert_int_equal(tree->nodes[k].parent, i);
			if (tree->nodes[k].kind == CALL_OPERATION)
				operations += tree->nodes[k].time_ns;
			else
				sum += tree->nodes[k].time_ns;
		}
		if (operations)
			assert_int_equal(operations, node->time_ns);
		assert_int_equal(
			node->time_ns, sum + (node->kind == CALL_LAYER ? 0 : node->self_ns));
	}
}

/* decode{compute{layer 0{q, k}, layer 1{q}}} and sampling behind it */
static void check_step(const struct call_tree *tree)
{
	const struct call_node *root = &tree->nodes[0];
	assert_int_equal(root->time_ns, 1030);
	assert_int_equal(root->self_ns, 200);
	assert_int_equal(tree->threads, 1);
	const struct call_node *graph = child(tree, root, CALL_BRICK, 0);
	assert_int_equal(graph->time_ns, 800);
	assert_int_equal(graph->self_ns, 800 - 100 - 90 - 200);
	assert_int_equal(child(tree, root, CALL_BRICK, 1)->time_ns, 30);
	const struct call_node *layer = child(tree, graph, CALL_LAYER, 0);
	assert_int_equal(layer->layer, 0);
	assert_int_equal(layer->time_ns, 90 + 10 + 50 + 40);
	const struct call_node *brick = child(tree, layer, CALL_BRICK, 0);
	assert_int_equal(brick->count, 2);
	assert_int_equal(brick->time_ns, 90 + 50);
	assert_int_equal(brick->elements, 768);
	assert_true(brick->bytes == ANALYSIS_UNKNOWN);
	assert_int_equal(child(tree, brick, CALL_OPERATION, 0)->elements, 512);
	assert_int_equal(child(tree, brick, CALL_OPERATION, 1)->time_ns, 50);
	const struct call_node *wait = child(tree, layer, CALL_WAIT, 0);
	assert_int_equal(wait->time_ns, 50);
	assert_int_equal(wait->count, 2);
	assert_int_equal(child(tree, graph, CALL_LAYER, 1)->layer, 1);
}

static void one_step(void **state)
{
	struct run run = {.complete = 1};
	struct step_index index;
	struct call_tree *tree;
	uint32_t decode = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t compute =
		builder_site(&run, builder_known(&run, BRICK_GRAPH_COMPUTE), -1, NULL, NULL);
	uint32_t sampling = builder_site(&run, builder_known(&run, BRICK_SAMPLING), -1, NULL, NULL);
	uint32_t qkv = builder_known(&run, BRICK_QKV_PROJECTION);
	uint32_t q = builder_site(&run, qkv, 0, "MUL_MAT", "Qcur-0");
	uint32_t k = builder_site(&run, qkv, 0, "MUL_MAT", "Kcur-0");
	uint32_t q1 = builder_site(&run, qkv, 1, "MUL_MAT", "Qcur-1");
	run.sites[q].flags = run.sites[k].flags = BRICK_SITE_HAS_ELEMENTS;
	run.sites[q].elements = 512;
	run.sites[k].elements = 256;
	uint32_t process = builder_process(&run, 1), lane = builder_lane(&run, process, 1);
	uint32_t other = builder_lane(&run, process, 2);
	builder_sample(&run, lane, decode, 0, 50, 0); /* another step, which is not to be seen */
	builder_step(&run, lane, 1);
	builder_sample(&run, lane, decode, 1000, 2000, 0);
	uint32_t step = builder_step(&run, lane, 1);
	builder_sample(&run, lane, compute, 1100, 1900, 1);
	builder_sample(&run, lane, q, 1110, 1200, 2)->wait_ns = 10;
	builder_sample(&run, lane, k, 1210, 1300, 2)->inner_ns = 40;
	builder_sample(&run, lane, q1, 1400, 1600, 2);
	builder_sample(&run, lane, sampling, 2050, 2080, 0);
	builder_sample(&run, other, q, 1110, 1190, 0);

	assert_int_equal(step_index_init(&index, &run), 0);
	assert_int_equal(call_tree_of_step(&tree, &run, &index, step), 0);
	check_sums(tree);
	check_step(tree);
	call_tree_destroy(tree);

	const uint32_t both[] = {step - 1, step};
	assert_int_equal(call_tree_of_steps(&tree, &run, &index, both, 2), 0);
	check_sums(tree);
	assert_int_equal(tree->steps, 2);
	assert_int_equal(tree->threads, 1);
	assert_int_equal(tree->nodes[0].count, 2);
	assert_int_equal(tree->nodes[0].time_ns, 50 + 1030);
	assert_int_equal(tree->nodes[0].self_ns, 50 + 200);
	assert_int_equal(child(tree, &tree->nodes[0], CALL_BRICK, 0)->count, 1);
	call_tree_destroy(tree);

	assert_int_equal(call_tree_of_lane(&tree, &run, &index, lane), 0);
	check_sums(tree);
	assert_int_equal(tree->nodes[0].time_ns, 50 + 1000 + 30);
	call_tree_destroy(tree);
	step_index_fini(&index);
	run_fini(&run);
}

/* What never ended has its time in the tree, but is no execution, as in a report. */
static void what_never_ended(void **state)
{
	struct run run = {.complete = 1};
	struct step_index index;
	struct call_tree *tree;
	uint32_t a = builder_site(&run, builder_brick(&run, "A", "X"), -1, NULL, NULL);
	uint32_t b = builder_site(&run, builder_brick(&run, "B", "X"), -1, NULL, NULL);
	uint32_t lane = builder_lane(&run, builder_process(&run, 1), 1);
	builder_sample(&run, lane, a, 0, 100, 0);
	builder_sample(&run, lane, a, 200, 500, 0)->flags = RUN_SAMPLE_OPEN;
	builder_sample(&run, lane, b, 300, 500, 1)->flags = RUN_SAMPLE_OPEN;
	assert_int_equal(step_index_init(&index, &run), 0);
	assert_int_equal(call_tree_of_lane(&tree, &run, &index, lane), 0);
	check_sums(tree);
	assert_int_equal(tree->nodes[1].count, 1);
	assert_int_equal(tree->nodes[1].time_ns, 400);
	assert_int_equal(tree->nodes[2].count, 0);
	assert_int_equal(tree->nodes[2].time_ns, 200);
	assert_int_equal(tree->nodes[1].open + tree->nodes[2].open, 2);
	call_tree_destroy(tree);
	step_index_fini(&index);
	run_fini(&run);
}

/* A file may give one node very many children: finding one does not pass all others (that took
 * hours). */
static void many_children(void **state)
{
	enum { SITES = 600000 };
	struct run run = {.path = builder_copy("run.pftrace")};
	struct step_index index;
	struct call_tree *tree;
	(void)state;
	uint32_t brick = builder_known(&run, BRICK_RMS_NORM);
	uint32_t lane = builder_lane(&run, builder_process(&run, 1), 1);
	for (uint32_t i = 0; i < SITES; i++) {
		uint32_t site = builder_site(&run, brick, -1, "OP", NULL);
		builder_sample(&run, lane, site, 10 * i, 10 * i + 5, 0);
	}
	assert_int_equal(step_index_init(&index, &run), 0);
	assert_int_equal(call_tree_of_lane(&tree, &run, &index, lane), 0);
	assert_int_equal(tree->count, 2 + SITES);
	assert_int_equal(tree->nodes[1].count, SITES);
	call_tree_destroy(tree);
	step_index_fini(&index);
	run_fini(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_step),
		cmocka_unit_test(what_never_ended),
		cmocka_unit_test(many_children),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
