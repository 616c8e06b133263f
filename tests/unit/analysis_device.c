/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices by hand: what they did stands beside the host's time and never in it, and where it was
 * launched.
 */
#include "tests/unit/device_run.h"

static void host_and_device_apart(void **state)
{
	struct scene s;
	struct summary *sum;
	(void)state;

	scene_init(&s);
	assert_int_equal(summary_create(&sum, &s.run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	const struct summary_row *b = row_named(sum, "b");
	assert_int_equal(b->count, 1);
	assert_int_equal(b->total_ns, 300);
	assert_int_equal(b->self_ns, 270);
	assert_int_equal(b->device_count, 3);
	assert_int_equal(b->device_ns, 300 + 250 + 470);
	assert_false(b->on_device);
	assert_int_equal(b->sources, 1 << BRICK_SOURCE_TSC | 1 << BRICK_SOURCE_DEVICE_EVENT |
					     1 << BRICK_SOURCE_DEVICE_ACTIVITY);
	assert_true(row_named(sum, "Launch")->device_ns == ANALYSIS_UNKNOWN);
	assert_int_equal(sum->wall_ns, 1000);
	assert_int_equal(sum->rests.unattributed_ns, 1000 - 300 - 610);
	assert_int_equal(sum->device_ns, 1020);
	for (size_t i = 0; i < sum->category_count; i++)
		if (!strcmp(sum->categories[i].name, "FFN"))
			assert_int_equal(sum->categories[i].device_ns, 1020);
	summary_destroy(sum);

	/* the queue's own statistics know of what was dropped */
	s.run.lanes[s.queue].stats = calloc(s.run.brick_count, sizeof(struct run_stat));
	s.run.lanes[s.queue].stats[s.run.sites[s.b].brick] =
		(struct run_stat){.count = 5, .total_ns = 2000, .self_ns = 2000};
	s.run.lanes[s.queue].ledger.dropped = 3;
	assert_int_equal(summary_create(&sum, &s.run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	b = row_named(sum, "b");
	assert_int_equal(b->count, 1);
	assert_int_equal(b->device_count, 6);
	assert_int_equal(b->device_ns, 2470);
	assert_int_equal(sum->mismatched, 0);
	summary_destroy(sum);
	scene_fini(&s);
}

/* What a device did before the first step and after the last one is of none. */
static void outside_of_steps(void **state)
{
	struct scene s;
	struct summary *sum;
	(void)state;

	scene_init(&s);
	builder_sample(&s.run, s.queue, s.b, 5000, 5700, 0);
	for (int by = SUMMARY_BY_BRICK; by <= SUMMARY_BY_CATEGORY; by++) {
		assert_int_equal(summary_create(&sum, &s.run, by, SUMMARY_ALL_PHASES), 0);
		const struct summary_row *row = by == SUMMARY_BY_BRICK ? row_named(sum, "b") : NULL;
		for (size_t i = 0; i < sum->category_count && !row; i++)
			if (!strcmp(sum->categories[i].name, "FFN"))
				row = &sum->categories[i];
		assert_non_null(row);
		assert_int_equal(row->device_ns, 1020 + 700);
		assert_int_equal(row->device_step_ns, 1020);
		summary_destroy(sum);
	}
	assert_int_equal(summary_create(&sum, &s.run, SUMMARY_BY_QUEUE, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(sum->rows[0].device_ns - sum->rows[0].device_step_ns, 700);
	summary_destroy(sum);
	/* nothing is outside where nothing is a step */
	s.run.step_count = 0;
	assert_int_equal(summary_create(&sum, &s.run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(row_named(sum, "b")->device_step_ns, 1020 + 700);
	summary_destroy(sum);
	scene_fini(&s);
}

static void by_layer_and_thread(void **state)
{
	struct scene s;
	struct summary *sum;
	(void)state;

	scene_init(&s);
	assert_int_equal(summary_create(&sum, &s.run, SUMMARY_BY_LAYER, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(row_named(sum, "layer 3")->device_ns, 1020);
	assert_int_equal(row_named(sum, "layer 3")->total_ns, 300);
	summary_destroy(sum);
	assert_int_equal(summary_create(&sum, &s.run, SUMMARY_BY_PHASE, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(row_named(sum, "decode")->device_ns, 1020);
	summary_destroy(sum);
	assert_int_equal(summary_create(&sum, &s.run, SUMMARY_BY_THREAD, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(sum->row_count, 1);
	summary_destroy(sum);
	scene_fini(&s);
}

static void by_kernel(void **state)
{
	struct scene s;
	struct summary *sum;
	(void)state;

	scene_init(&s);
	s.run.sites[s.b].flags = BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS;
	s.run.sites[s.b].bytes = 500;
	s.run.sites[s.b].flops = 1000;
	assert_int_equal(summary_create(&sum, &s.run, SUMMARY_BY_KERNEL, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(sum->row_count, 2);
	const struct summary_row *k = row_named(sum, "k");
	assert_int_equal(k->count, 2); /* of two shapes */
	assert_int_equal(k->total_ns, 550);
	assert_int_equal(k->min_ns, 250);
	assert_int_equal(k->max_ns, 300);
	assert_int_equal(k->bytes, 1000);
	assert_true(k->flops_per_ns == 2000.0 / 550);
	assert_int_equal(k->kernel, 0); /* each ran once: the first */
	assert_string_equal(k->backend, "null");
	assert_true(k->share == 550.0 / 1020);
	assert_true(k->wall_ns == ANALYSIS_UNKNOWN);
	assert_int_equal(row_named(sum, "up")->total_ns, 470);
	summary_destroy(sum);
	scene_fini(&s);
}

/* Of the two kernels of one node the first tells of all the work: neither did it by itself. */
static void work_of_several_kernels(void **state)
{
	struct scene s;
	struct summary *sum;
	(void)state;

	scene_init(&s);
	s.run.sites[s.b].flags = BRICK_SITE_HAS_BYTES | BRICK_SITE_HAS_FLOPS;
	s.run.sites[s.b].bytes = 500;
	s.run.sites[s.b].flops = 1000;
	uint32_t rest = builder_site(&s.run, s.run.sites[s.b].brick, 3, NULL, NULL);
	s.run.lanes[s.queue].samples[1].site = rest;
	s.run.kernels[s.run.commands[s.k2].kernel].name[0] = 'l';
	assert_int_equal(summary_create(&sum, &s.run, SUMMARY_BY_KERNEL, SUMMARY_ALL_PHASES), 0);
	for (size_t i = 0; i < 2; i++) {
		const struct summary_row *row = row_named(sum, i ? "l" : "k");
		assert_int_equal(row->count, 1);
		assert_true(row->flops_per_ns < 0 && row->bytes_per_ns < 0);
		assert_true(row->flops == ANALYSIS_UNKNOWN && row->bytes == ANALYSIS_UNKNOWN);
	}
	summary_destroy(sum);
	assert_int_equal(summary_create(&sum, &s.run, SUMMARY_BY_QUEUE, SUMMARY_ALL_PHASES), 0);
	assert_true(sum->rows[0].flops_per_ns == 1000.0 / 550);
	summary_destroy(sum);
	scene_fini(&s);
}

static const struct call_node *node_of(
	const struct call_tree *tree, enum call_kind kind, uint32_t parent)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->nodes[i].kind == kind && tree->nodes[i].parent == parent)
			return &tree->nodes[i];
	return NULL;
}

static void tree_down_to_kernels(void **state)
{
	struct scene s;
	struct call_tree *tree;
	(void)state;

	scene_init(&s);
	assert_int_equal(call_tree_of_step(&tree, &s.run, &s.index, 0), 0);
	assert_int_equal(tree->nodes[0].time_ns, 1000);
	const struct call_node *layer = node_of(tree, CALL_LAYER, 0);
	const struct call_node *b = node_of(tree, CALL_BRICK, (uint32_t)(layer - tree->nodes));
	assert_int_equal(layer->time_ns, 300);
	assert_int_equal(b->time_ns, 300);
	uint64_t device_ns = 0;
	int kernels = 0;
	for (uint32_t i = b->first; i != RUN_NONE; i = tree->nodes[i].next)
		if (tree->nodes[i].kind == CALL_KERNEL) {
			kernels++;
			device_ns += tree->nodes[i].time_ns;
		}
	assert_int_equal(kernels, 3); /* the two shapes of k are two */
	assert_int_equal(device_ns, 1020);
	call_tree_destroy(tree);

	/* without its launch a command stands below its brick all the same */
	s.run.commands[s.k1].launch_lane = s.run.commands[s.k1].launch_sample = RUN_NONE;
	s.run.commands[s.k1].launch_ns = s.run.commands[s.k1].launch_end_ns = 0;
	assert_int_equal(call_tree_of_step(&tree, &s.run, &s.index, 0), 0);
	layer = node_of(tree, CALL_LAYER, 0);
	b = node_of(tree, CALL_BRICK, (uint32_t)(layer - tree->nodes));
	kernels = 0;
	for (uint32_t i = b->first; i != RUN_NONE; i = tree->nodes[i].next)
		kernels += tree->nodes[i].kind == CALL_KERNEL;
	assert_int_equal(kernels, 3);
	assert_int_equal(tree->nodes[0].time_ns, 1000);
	call_tree_destroy(tree);

	/* and a brick that ran on the device only has no time of the host */
	s.run.lanes[s.queue].samples[0].site =
		builder_site(&s.run, builder_brick(&s.run, "c", "FFN"), 3, NULL, NULL);
	assert_int_equal(call_tree_of_step(&tree, &s.run, &s.index, 0), 0);
	layer = node_of(tree, CALL_LAYER, 0);
	assert_int_equal(layer->time_ns, 300);
	const struct call_node *c = &tree->nodes[layer->last];
	assert_int_equal(c->brick, run_brick_find(&s.run, "c"));
	assert_int_equal(c->time_ns, 0);
	assert_int_equal(c->count, 0);
	assert_int_equal(tree->nodes[c->first].kind, CALL_KERNEL);
	call_tree_destroy(tree);
	scene_fini(&s);
}

static const struct path_row *path_row_of(const struct path_section *section, const char *name)
{
	for (size_t i = 0; i < section->row_count; i++)
		if (!strcmp(section->rows[i].name, name))
			return &section->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

/*
 * What decides: b until the second launch has ended (1040, of which 20 are launches), 90 of its
 * latency, the copy, 50 until k2 begins, k2, 10 of the wait, and the rest of the step.
 */
static void path_through_launches(void **state)
{
	struct scene s;
	struct path *path;
	(void)state;

	scene_init(&s);
	assert_int_equal(path_create(&path, &s.run, &s.index, 0), 0);
	const struct path_section *section = &path->sections[0];
	assert_int_equal(section->measured_ns, 1000);
	assert_int_equal(section->length_ns, 1000);
	assert_int_equal(section->counts.launches, 3);
	assert_int_equal(section->counts.unknown_waits, 0);
	assert_int_equal(section->counts.contradictions, 0);
	assert_int_equal(path_row_of(section, "Launch")->on_path_ns, 20);
	assert_int_equal(path_row_of(section, "launch latency")->on_path_ns, 90 + 50);
	assert_int_equal(path_row_of(section, "b")->on_path_ns, 20 + 470 + 250);
	assert_int_equal(path_row_of(section, "Synchronize")->on_path_ns, 10);
	assert_int_equal(path_row_of(section, "unattributed")->on_path_ns, 90);
	/*
	 * Without launch latency k1 runs 1020-1320 and the copy 1040-1510; k2 begins then, and 10
	 * after its end and 90 more the step is over.
	 */
	assert_int_equal(path_row_of(section, "launch latency")->nothing_ns, 510 + 250 + 10 + 90);
	path_destroy(path);
	scene_fini(&s);
}

static uint32_t node_named(struct brick_graph *g, const char *name)
{
	int id = brick_graph_find(g, name);
	assert_true(id >= 0);
	return (uint32_t)id;
}

static int has_edge(struct brick_graph *g, uint32_t from, uint32_t to, int kind)
{
	const uint32_t *edges;
	int n = brick_graph_out(g, from, &edges);

	for (int i = 0; i < n; i++) {
		struct brick_graph_edge e = BRICK_GRAPH_EDGE_INIT;
		brick_graph_edge_get(g, edges[i], &e);
		if (e.to == to && (int)e.kind == kind)
			return 1;
	}
	return 0;
}

static void graph_of_commands(void **state)
{
	struct scene s;
	struct brick_graph *g;
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;
	const uint32_t *cycle;
	(void)state;

	scene_init(&s);
	s.run.commands[s.k2].bytes = 100;
	s.run.commands[s.k2].flops = 500;
	assert_int_equal(graph_from_run(&g, &s.run, &s.index, 0), 0);
	uint32_t k1 = node_named(g, "k"), copy = node_named(g, "up");
	uint32_t k2 = (uint32_t)brick_graph_find_next(g, k1), launch = node_named(g, "Launch");
	assert_true(has_edge(g, launch, k1, BRICK_EDGE_LAUNCHES));
	assert_true(has_edge(g, k1, k2, BRICK_EDGE_SEQUENCE));
	assert_true(has_edge(g, copy, k2, BRICK_EDGE_DEPENDS_ON));
	assert_true(has_edge(g, k2, node_named(g, "Synchronize"), BRICK_EDGE_DEPENDS_ON));
	assert_false(has_edge(g, k1, node_named(g, "Synchronize"), BRICK_EDGE_DEPENDS_ON));
	brick_graph_node_get(g, k2, &node);
	assert_int_equal(node.kind, BRICK_NODE_KERNEL);
	assert_int_equal(node.time_ns, 250);
	assert_int_equal(node.kernel.grid[0], 8);
	assert_true(node.kernel.intensity == 5);
	assert_true(node.flags & BRICK_NODE_MARKED);
	brick_graph_node_get(g, k1, &node);
	assert_false(node.flags & BRICK_NODE_MARKED);
	brick_graph_node_get(g, copy, &node);
	assert_int_equal(node.kind, BRICK_NODE_TRANSFER);
	assert_int_equal(node.transfer.direction, BRICK_TRANSFER_H2D);
	assert_int_equal(brick_graph_cycle(g, &cycle), 0);
	assert_int_equal(brick_graph_is_balanced(g), 1);
	brick_graph_destroy(g);
	scene_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_and_device_apart),
		cmocka_unit_test(outside_of_steps),
		cmocka_unit_test(by_layer_and_thread),
		cmocka_unit_test(by_kernel),
		cmocka_unit_test(work_of_several_kernels),
		cmocka_unit_test(tree_down_to_kernels),
		cmocka_unit_test(path_through_launches),
		cmocka_unit_test(graph_of_commands),
	};
	return cmocka_run_group_tests_name("analysis_device", tests, NULL, NULL);
}
