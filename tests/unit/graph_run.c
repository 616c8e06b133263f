/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of recordings: every execution and every wait is a node where it belongs, what threads
 * waited for is connected, and times add up to what was measured.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include "analysis/path/graph_from_run.h"
#include "brick/error.h"
#include "brick/graph_path.h"
#include "tests/unit/graph_text.h"
#include "tests/unit/path_engine.h"
#include "tests/unit/path_nonsense.h"

static struct engine engine_of(uint64_t seed)
{
	struct engine e = {.seed = seed,
		.threads = 1 + (unsigned)(seed % ENGINE_THREADS),
		.steps = 1 + (unsigned)(seed % 3),
		.phases = 1 + (unsigned)(seed % 7)};
	for (int i = 0; i < ENGINE_OWNERS; i++)
		e.tenths[i] = 10;
	return e;
}

static struct brick_graph *graph_of(const struct run *run, uint32_t step)
{
	struct step_index index;
	struct brick_graph *graph;

	assert_int_equal(step_index_init(&index, run), 0);
	assert_int_equal(graph_from_run(&graph, run, &index, step), 0);
	step_index_fini(&index);
	return graph;
}

static struct brick_graph_node node_of(struct brick_graph *g, uint32_t id)
{
	struct brick_graph_node node = BRICK_GRAPH_NODE_INIT;
	assert_int_equal(brick_graph_node_get(g, id, &node), 0);
	return node;
}

static int is_named(const struct brick_graph_node *node, const char *name)
{
	return !strcmp(node->name, name);
}

/* The node that stands for a sample: of its brick, lane and times. */
static int find_sample(struct brick_graph *g, const struct run *run, uint32_t lane,
	const struct run_sample *sample)
{
	const char *name = run->bricks[run->sites[sample->site].brick].name;
	int found = -1, count = 0;

	for (int id = brick_graph_find(g, name); id >= 0;
		id = brick_graph_find_next(g, (uint32_t)id)) {
		struct brick_graph_node node = node_of(g, (uint32_t)id);
		if (node.lane != lane || node.begin_ns != sample->begin_ns ||
			node.time_ns != sample->end_ns - sample->begin_ns)
			continue;
		found = id;
		count++;
	}
	/* several of no length may stand at one time */
	return count && (count == 1 || sample->end_ns == sample->begin_ns) ? found : -1;
}

static void every_sample_is_a_node(void **state)
{
	for (uint64_t seed = 1; seed < 40; seed++) {
		struct engine e = engine_of(seed);
		engine_run(&e);
		struct brick_graph *g = graph_of(&e.run, RUN_NONE);
		size_t samples = 0, waits = 0, bricks = 0;
		uint64_t waited = 0, wait_nodes_ns = 0;
		for (uint32_t lane = 0; lane < e.run.lane_count; lane++)
			for (size_t i = 0; i < e.run.lanes[lane].sample_count; i++) {
				const struct run_sample *s = &e.run.lanes[lane].samples[i];
				samples++;
				waits += s->wait_ns != 0;
				waited += s->wait_ns;
				if (e.run.bricks[e.run.sites[s->site].brick].well_known ==
					BRICK_BARRIER_WAIT)
					waited += s->end_ns - s->begin_ns;
				assert_true(find_sample(g, &e.run, lane, s) >= 0);
			}
		for (uint32_t i = 0; i < brick_graph_node_count(g); i++) {
			struct brick_graph_node node = node_of(g, i);
			if (is_named(&node, "BarrierWait"))
				wait_nodes_ns += node.time_ns;
			bricks += node.kind == BRICK_NODE_BRICK && !is_named(&node, "Barrier");
		}
		assert_int_equal(bricks, samples + waits);
		assert_int_equal(wait_nodes_ns, waited);
		const uint32_t *cycle;
		assert_int_equal(brick_graph_cycle(g, &cycle), 0);
		brick_graph_destroy(g);
		run_fini(&e.run);
	}
}

/* Own times of all stacks of the thread of the step are the time of the step. */
static void folded_is_the_step(void **state)
{
	for (uint64_t seed = 1; seed < 40; seed++) {
		struct engine e = engine_of(seed);
		e.steps = 1;
		engine_run(&e);
		struct brick_graph *g = graph_of(&e.run, 0);
		char *text = graph_text(g, BRICK_GRAPH_FOLDED), *save;
		uint64_t sum = 0;
		for (char *line = strtok_r(text, "\n", &save); line;
			line = strtok_r(NULL, "\n", &save)) {
			assert_true(!strncmp(line, "thread t (100)", 14));
			if (!strstr(line, ";thread "))
				sum += strtoull(strrchr(line, ' ') + 1, NULL, 10);
		}
		assert_int_equal(sum, e.total_ns);
		free(text);
		brick_graph_destroy(g);
		run_fini(&e.run);
	}
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

static uint32_t find(struct brick_graph *g, const char *name)
{
	int id = brick_graph_find(g, name);
	assert_true(id >= 0);
	return (uint32_t)id;
}

/* Two threads, two layers, a barrier: by hand. */
static void build_step(struct run *run)
{
	builder_process(run, 1);
	builder_lane(run, 0, 11);
	builder_lane(run, 0, 12);
	uint32_t decode = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t compute =
		builder_site(run, builder_known(run, BRICK_GRAPH_COMPUTE), -1, NULL, NULL);
	uint32_t norm =
		builder_site(run, builder_known(run, BRICK_RMS_NORM), 0, "RMS_NORM", "norm-0");
	uint32_t up =
		builder_site(run, builder_known(run, BRICK_UP_PROJECTION), 1, "MUL_MAT", "up-1");
	uint32_t head = builder_site(run, builder_known(run, BRICK_LM_HEAD), -1, NULL, "logits");
	run->sites[up].flags = BRICK_SITE_HAS_ELEMENTS | BRICK_SITE_HAS_BYTES;
	run->sites[up].elements = 8;
	run->sites[up].bytes = 64;
	builder_sample(run, 0, decode, 1000, 1200, 0);
	builder_step(run, 0, 1);
	builder_sample(run, 0, compute, 1010, 1190, 1);
	builder_sample(run, 0, norm, 1020, 1050, 2)->wait_ns = 22;
	builder_sample(run, 0, up, 1075, 1120, 2);
	builder_sample(run, 0, head, 1120, 1180, 2);
	builder_sample(run, 1, norm, 1030, 1070, 0)->wait_ns = 4;
}

static void edges_of_a_step(void **state)
{
	struct run run = {0};
	build_step(&run);
	struct brick_graph *g = graph_of(&run, 0);
	uint32_t step = find(g, "Decode"), graph = find(g, "GraphCompute");
	uint32_t layer0 = find(g, "Layer 0"), layer1 = find(g, "Layer 1"), lm = find(g, "LmHead");
	uint32_t thread = find(g, "thread t (12)"), barrier = find(g, "Barrier");
	uint32_t slow = find(g, "RmsNorm"), waits = find(g, "BarrierWait");
	uint32_t quick = (uint32_t)brick_graph_find_next(g, slow);
	uint32_t other = (uint32_t)brick_graph_find_next(g, waits);
	assert_true(has_edge(g, step, graph, BRICK_EDGE_CONTAINS));
	assert_true(has_edge(g, graph, layer0, BRICK_EDGE_CONTAINS));
	assert_true(has_edge(g, layer0, slow, BRICK_EDGE_CONTAINS));
	assert_true(has_edge(g, layer0, waits, BRICK_EDGE_CONTAINS));
	assert_true(has_edge(g, layer0, layer1, BRICK_EDGE_SEQUENCE));
	assert_true(has_edge(g, layer1, find(g, "UpProjection"), BRICK_EDGE_CONTAINS));
	assert_true(has_edge(g, graph, lm, BRICK_EDGE_CONTAINS));
	assert_true(has_edge(g, layer1, lm, BRICK_EDGE_SEQUENCE));
	assert_true(has_edge(g, graph, thread, BRICK_EDGE_LAUNCHES));
	assert_true(has_edge(g, slow, barrier, BRICK_EDGE_DEPENDS_ON));
	assert_true(has_edge(g, quick, barrier, BRICK_EDGE_DEPENDS_ON));
	assert_true(has_edge(g, barrier, waits, BRICK_EDGE_DEPENDS_ON));
	assert_true(has_edge(g, barrier, other, BRICK_EDGE_DEPENDS_ON));
	brick_graph_destroy(g);
	run_fini(&run);
}

static void nodes_of_a_step(void **state)
{
	struct run run = {0};
	build_step(&run);
	struct brick_graph *g = graph_of(&run, 0);
	uint32_t step = find(g, "Decode"), barrier = find(g, "Barrier");
	uint32_t layer0 = find(g, "Layer 0"), thread = find(g, "thread t (12)");
	uint32_t slow = find(g, "RmsNorm"), waits = find(g, "BarrierWait");
	uint32_t quick = (uint32_t)brick_graph_find_next(g, slow);

	struct brick_graph_node node = node_of(g, waits);
	assert_int_equal(node.time_ns, 22);
	assert_int_equal(node.wait_ns, 20); /* thread 12 came at 1070 */
	assert_false(node_of(g, slow).flags & BRICK_NODE_MARKED);
	assert_false(node_of(g, step).flags & BRICK_NODE_MARKED); /* it only holds others */
	assert_true(node_of(g, quick).flags & BRICK_NODE_MARKED);
	assert_true(node_of(g, barrier).flags & BRICK_NODE_MARKED);
	node = node_of(g, find(g, "UpProjection"));
	assert_string_equal(node.label, "MUL_MAT up-1");
	assert_int_equal(node.elements, 8);
	assert_int_equal(node.bytes, 64);
	assert_int_equal(node.layer, 1);
	assert_int_equal(node_of(g, layer0).time_ns, 52);
	assert_int_equal(node_of(g, thread).lane, 1);
	assert_int_equal(brick_graph_find(g, "Layer 2"), -2);
	brick_graph_destroy(g);
	run_fini(&run);
}

/* Neighbours of one layer share it; what is inside of a brick of a layer is in that already. */
static void layers_by_hand(void **state)
{
	struct run run = {0};
	uint32_t sites[3];

	builder_process(&run, 1);
	builder_lane(&run, 0, 11);
	for (int i = 0; i < 3; i++)
		sites[i] = builder_site(&run, builder_brick(&run, "b", "Other"), i - 1, NULL, NULL);
	uint32_t wait = builder_site(&run, builder_known(&run, BRICK_BARRIER_WAIT), -1, NULL, NULL);
	builder_sample(&run, 0, sites[1], 1000, 1100, 0);
	builder_sample(&run, 0, sites[1], 1010, 1020, 1); /* no layer of its own */
	builder_sample(&run, 0, sites[2], 1020, 1030, 1); /* layer 1 in layer 0 */
	builder_sample(&run, 0, sites[0], 1030, 1040, 1);
	builder_sample(&run, 0, wait, 1100, 1110, 0); /* ends no layer */
	builder_sample(&run, 0, sites[1], 1110, 1120, 0);
	builder_sample(&run, 0, sites[0], 1120, 1130, 0); /* does */
	builder_sample(&run, 0, sites[1], 1130, 1140, 0);
	struct brick_graph *g = graph_of(&run, RUN_NONE);
	char *text = graph_text(g, BRICK_GRAPH_TREE);
	assert_string_equal(text, "thread t (11)  0.1µs\n"
				  "├── Layer 0  0.1µs\n"
				  "│   ├── b  0.1µs\n"
				  "│   │   ├── b  0.0µs\n"
				  "│   │   ├── Layer 1  0.0µs\n"
				  "│   │   │   └── b  0.0µs\n"
				  "│   │   └── b  0.0µs\n"
				  "│   ├── BarrierWait  0.0µs\n"
				  "│   └── b  0.0µs\n"
				  "├── b  0.0µs\n"
				  "└── Layer 0  0.0µs\n"
				  "    └── b  0.0µs\n");
	free(text);
	brick_graph_destroy(g);
	run_fini(&run);
}

/* Work of a queue is kernels inside of bricks; what waited for it depends on it. */
static void device_work_by_hand(void **state)
{
	struct run run = {0};
	builder_process(&run, 1);
	builder_lane(&run, 0, 11);
	builder_lane(&run, 0, 0);
	run.lanes[1].kind = BRICK_LANE_QUEUE;
	uint32_t decode = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	uint32_t sync = builder_site(&run, builder_known(&run, BRICK_SYNCHRONIZE), -1, NULL, NULL);
	uint32_t up =
		builder_site(&run, builder_known(&run, BRICK_UP_PROJECTION), 1, "gemv", "up-1");
	run.sites[up].flags = BRICK_SITE_HAS_FLOPS | BRICK_SITE_HAS_BYTES;
	run.sites[up].flops = 4000000;
	run.sites[up].bytes = 1000000;
	builder_sample(&run, 0, decode, 1000, 3200, 0);
	builder_step(&run, 0, 1);
	builder_sample(&run, 0, sync, 1010, 3100, 1);
	builder_sample(&run, 1, up, 1050, 3050, 0);
	struct brick_graph *g = graph_of(&run, 0);

	uint32_t brick = find(g, "UpProjection"), kernel = find(g, "gemv up-1");
	assert_true(has_edge(g, brick, kernel, BRICK_EDGE_LAUNCHES));
	assert_true(has_edge(g, brick, find(g, "Synchronize"), BRICK_EDGE_DEPENDS_ON));
	struct brick_graph_node node = node_of(g, kernel);
	assert_int_equal(node.kind, BRICK_NODE_KERNEL);
	assert_int_equal(node.time_ns, 2000);
	assert_true(node.kernel.intensity == 4);
	assert_true(node.kernel.tflops == 2); /* 4 MFLOP in 2 us */
	assert_int_equal(brick_graph_slowest_kernel(g), kernel);
	struct brick_graph_path path = BRICK_GRAPH_PATH_INIT;
	assert_int_equal(brick_graph_critical_path(g, &path), 0);
	assert_int_equal(node_of(g, find(g, "Synchronize")).wait_ns, 2040);
	brick_graph_destroy(g);
	run_fini(&run);
}

static void nothing_recorded(void **state)
{
	struct run run = {0};
	struct step_index index;
	struct brick_graph *g = NULL;

	builder_process(&run, 1);
	builder_lane(&run, 0, 11);
	assert_int_equal(step_index_init(&index, &run), 0);
	assert_int_equal(graph_from_run(&g, &run, &index, RUN_NONE), BRICK_ENOTRECORDED);
	assert_null(g);
	step_index_fini(&index);
	run_fini(&run);
}

/* Whatever a file says, there is a graph, and it can be written. */
static void nonsense(void **state)
{
	uint64_t seed = 7;

	for (uint32_t round = 0; round < 1000; round++) {
		struct run run;
		struct step_index index;
		nonsense_run(&run, &seed, 1 + round % 6);
		assert_int_equal(step_index_init(&index, &run), 0);
		for (uint32_t step = 0; step <= run.step_count; step++) {
			struct brick_graph *g;
			if (step < run.step_count && !index.finished[step])
				continue;
			assert_int_equal(graph_from_run(&g, &run, &index,
						 step < run.step_count ? step : RUN_NONE),
				0);
			for (int format = 0; format < BRICK_GRAPH_FORMATS; format++) {
				char *text = graph_text(g, format);
				assert_non_null(text);
				free(text);
			}
			brick_graph_destroy(g);
		}
		step_index_fini(&index);
		run_fini(&run);
	}
}

/* The same recording gives the same bytes. */
static void output_does_not_change(void **state)
{
	for (uint64_t seed = 1; seed < 10; seed++)
		for (int format = 0; format < BRICK_GRAPH_FORMATS; format++) {
			char *text[2];
			for (int i = 0; i < 2; i++) {
				struct engine e = engine_of(seed);
				engine_run(&e);
				struct brick_graph *g = graph_of(&e.run, seed % 2 ? 0 : RUN_NONE);
				text[i] = graph_text(g, format);
				brick_graph_destroy(g);
				run_fini(&e.run);
			}
			assert_string_equal(text[0], text[1]);
			free(text[0]);
			free(text[1]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_is_a_node),
		cmocka_unit_test(folded_is_the_step),
		cmocka_unit_test(edges_of_a_step),
		cmocka_unit_test(nodes_of_a_step),
		cmocka_unit_test(layers_by_hand),
		cmocka_unit_test(device_work_by_hand),
		cmocka_unit_test(nothing_recorded),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(output_does_not_change),
	};
	return cmocka_run_group_tests_name("graph_run", tests, NULL, NULL);
}
