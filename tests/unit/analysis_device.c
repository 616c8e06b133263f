/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices by hand: what they did stands beside the host's time and never in it, queues are busy or
 * idle, commands begin when they can, and stand where they were launched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/call_tree.h"
#include "analysis/graph_from_run.h"
#include "analysis/path.h"
#include "analysis/roofline.h"
#include "analysis/summary.h"
#include "analysis/unknown.h"
#include "brick/graph_path.h"
#include "tests/unit/run_builder.h"

/*
 * A step of 1000 ns on a thread and two queues. b launches k1 (queue 1), a copy (queue 2) and k2
 * (queue 1, after the copy), and waits for k2:
 *
 *   thread    b[1000 .. 1300: Launch 1010-1020, 1030-1040, 1050-1060]  Synchronize[1300 .. 1910]
 *   queue 1   k1[1100 .. 1400]                    k2[1650 .. 1900]
 *   queue 2              copy[1130 .. 1600]
 */
struct scene {
	struct run run;
	struct step_index index;
	uint32_t thread, queue, other, b, decode;
	uint32_t k1, copy, k2; /* commands */
};

enum { CALL = 2 }; /* the first of the samples that launch */

static void scene_init(struct scene *s)
{
	struct run *run = &s->run;

	memset(s, 0, sizeof(*s));
	run->complete = 1;
	run->clock = (struct brick_clock){.mult = 1};
	builder_process(run, 1);
	s->thread = builder_lane(run, 0, 11);
	s->queue = builder_queue(run, 0, 1);
	s->other = builder_queue(run, 0, 2);
	s->decode = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	s->b = builder_site(run, builder_brick(run, "b", "FFN"), 3, NULL, NULL);
	uint32_t launch = builder_site(run, builder_brick(run, "Launch", "Engine"), 3, NULL, NULL);
	uint32_t sync = builder_site(run, builder_known(run, BRICK_SYNCHRONIZE), -1, NULL, NULL);
	uint32_t kernel = builder_kernel(run, "k", BRICK_KERNEL_COMPUTE, 4);
	uint32_t larger = builder_kernel(run, "k", BRICK_KERNEL_COMPUTE, 8);
	uint32_t upload = builder_kernel(run, "up", BRICK_KERNEL_H2D, 0);

	builder_sample(run, s->thread, s->decode, 1000, 2000, 0);
	builder_step(run, s->thread, 1);
	builder_sample(run, s->thread, s->b, 1000, 1300, 1);
	for (uint64_t at = 1010; at <= 1050; at += 20)
		builder_sample(run, s->thread, launch, at, at + 10, 2);
	builder_sample(run, s->thread, sync, 1300, 1910, 1);
	builder_sample(run, s->queue, s->b, 1100, 1400, 0)->source = BRICK_SOURCE_DEVICE_EVENT;
	s->k1 = builder_command(run, s->queue, kernel, s->thread, CALL, RUN_NONE);
	builder_sample(run, s->queue, s->b, 1650, 1900, 0)->source = BRICK_SOURCE_DEVICE_EVENT;
	s->k2 = builder_command(run, s->queue, larger, s->thread, CALL + 2, 2);
	builder_sample(run, s->other, s->b, 1130, 1600, 0)->source = BRICK_SOURCE_DEVICE_ACTIVITY;
	s->copy = builder_command(run, s->other, upload, s->thread, CALL + 1, RUN_NONE);
	builder_waits(run, s->thread, CALL + 3, s->k2);
	run->commands[s->k1].submitted_ns = 1050;
	assert_int_equal(s->copy, 2);
	assert_int_equal(step_index_init(&s->index, run), 0);
}

static void scene_fini(struct scene *s)
{
	step_index_fini(&s->index);
	run_fini(&s->run);
}

static const struct summary_row *row_named(const struct summary *s, const char *name)
{
	for (size_t i = 0; i < s->row_count; i++)
		if (!strcmp(s->rows[i].name, name))
			return &s->rows[i];
	fail_msg("no row %s", name);
	return NULL;
}

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
	assert_int_equal(sum->unattributed_ns, 1000 - 300 - 610);
	assert_int_equal(sum->device_ns, 1020);
	for (size_t i = 0; i < sum->category_count; i++)
		if (!strcmp(sum->categories[i].name, "FFN"))
			assert_int_equal(sum->categories[i].device_ns, 1020);
	summary_destroy(sum);

	/* the queue's own statistics know of what was dropped */
	s.run.lanes[s.queue].stats = calloc(s.run.brick_count, sizeof(struct brick_stat));
	s.run.lanes[s.queue].stats[s.run.sites[s.b].brick] =
		(struct brick_stat){.count = 5, .total = 2000, .self = 2000};
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

static void queues(void **state)
{
	struct scene s;
	struct summary *sum;
	(void)state;

	scene_init(&s);
	assert_int_equal(summary_create(&sum, &s.run, SUMMARY_BY_QUEUE, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(sum->queues.count, 2);
	const struct queue_time *q = &sum->queues.queues[0];
	assert_int_equal(q->commands, 2);
	assert_int_equal(q->busy_ns, 550);
	assert_int_equal(q->steps_ns, 1000);
	assert_int_equal(q->idle_ns, 450);
	assert_int_equal(q->launch.count, 2);
	assert_int_equal(q->launch.p50_ns, 90); /* of 90 and 600 */
	assert_true(q->launch.p95_ns == ANALYSIS_UNKNOWN);
	assert_int_equal(q->submit.count, 1);
	assert_int_equal(row_named(sum, "null: t (1)")->total_ns, 550);
	assert_int_equal(row_named(sum, "null: t (2)")->total_ns, 470);
	summary_destroy(sum);
	scene_fini(&s);
}

/* Two lanes of one out-of-order queue: what overlaps is busy once. */
static void one_queue_on_two_lanes(void **state)
{
	struct scene s;
	struct queue_times times;
	(void)state;

	scene_init(&s);
	s.run.lanes[s.other].tid = 1;
	assert_int_equal(queue_times_init(&times, &s.run, &s.index, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(times.count, 1);
	assert_int_equal(times.queues[0].lanes, 2);
	assert_int_equal(times.queues[0].busy_ns, 500 + 250);
	assert_int_equal(times.queues[0].idle_ns, 250);
	queue_times_fini(&times);

	/* a step that ended before they did, and one without any of it */
	s.run.steps[0].end_ns = s.index.tails[0].end_ns = 1200;
	assert_int_equal(queue_times_init(&times, &s.run, &s.index, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(times.queues[0].idle_ns, 100);
	queue_times_fini(&times);
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

/* Commands of an out-of-order queue that run at the same time: it was busy once. */
static void overlapping_lanes_are_busy_once(void **state)
{
	struct run run = {.complete = 1, .clock = {.mult = 1}};
	struct summary *sum;
	static const char *const names[] = {[SUMMARY_BY_BRICK] = "b",
		[SUMMARY_BY_CATEGORY] = "FFN",
		[SUMMARY_BY_LAYER] = "layer 0",
		[SUMMARY_BY_PHASE] = "outside of steps"};
	static const uint64_t want[] = {110, 125, 125, 125};
	(void)state;

	builder_process(&run, 1);
	uint32_t lanes[] = {builder_queue(&run, 0, 7), builder_queue(&run, 0, 7)};
	uint32_t other = builder_queue(&run, 0, 8);
	uint32_t b = builder_site(&run, builder_brick(&run, "b", "FFN"), 0, NULL, NULL);
	uint32_t c = builder_site(&run, builder_brick(&run, "c", "FFN"), 0, NULL, NULL);
	builder_sample(&run, lanes[0], b, 40, 140, 0);
	builder_sample(&run, lanes[0], c, 140, 160, 0);
	builder_sample(&run, lanes[1], b, 45, 145, 0);
	builder_sample(&run, other, b, 45, 50, 0); /* another queue's time is its own */
	for (int by = SUMMARY_BY_BRICK; by <= SUMMARY_BY_PHASE; by++) {
		assert_int_equal(summary_create(&sum, &run, by, SUMMARY_ALL_PHASES), 0);
		assert_int_equal(sum->queues.queues[0].busy_ns, 120);
		assert_int_equal(row_named(sum, names[by])->device_ns, want[by]);
		assert_int_equal(sum->device_ns, 225);
		summary_destroy(sum);
	}
	run_fini(&run);
}

static const struct roofline_row *roofline_phase(
	const struct roofline *r, enum roofline_phase phase)
{
	for (size_t i = 0; i < r->row_count; i++)
		if (r->rows[i].on_device && r->rows[i].phase == phase)
			return &r->rows[i];
	fail_msg("no row of phase %d", phase);
	return NULL;
}

/*
 * One thread decodes from 1 to 900, another prefills from 100 to 200. The first launches a command
 * at 500, which runs at 520; the other at 150, which runs at 300, after its step: each belongs to
 * who launched it, in the report and under the roofline.
 */
static void commands_of_steps_that_overlap(void **state)
{
	struct run run = {.complete = 1, .clock = {.mult = 1}};
	struct summary *sum;
	struct step_index index;
	struct roofline *r;
	(void)state;

	builder_process(&run, 1);
	uint32_t a = builder_lane(&run, 0, 1), b = builder_lane(&run, 0, 2);
	uint32_t queue = builder_queue(&run, 0, 7);
	uint32_t site = builder_site(&run, builder_brick(&run, "b", "FFN"), 0, NULL, NULL);
	uint32_t kernel = builder_kernel(&run, "k", BRICK_KERNEL_COMPUTE, 4);
	run.sites[site].flags = BRICK_SITE_HAS_FLOPS | BRICK_SITE_HAS_BYTES;
	run.sites[site].flops = run.sites[site].bytes = 1000;
	builder_sample(&run, a,
		builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL), 1, 900, 0);
	builder_step(&run, a, 1);
	builder_sample(&run, a, site, 500, 510, 1);
	builder_sample(&run, b,
		builder_site(&run, builder_known(&run, BRICK_PREFILL), -1, NULL, NULL), 100, 200,
		0);
	builder_step(&run, b, 8);
	builder_sample(&run, b, site, 150, 160, 1);
	builder_sample(&run, queue, site, 300, 340, 0);
	builder_command(&run, queue, kernel, b, 1, RUN_NONE);
	builder_sample(&run, queue, site, 520, 590, 0);
	builder_command(&run, queue, kernel, a, 1, RUN_NONE);

	assert_int_equal(summary_create(&sum, &run, SUMMARY_BY_PHASE, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(row_named(sum, "decode")->device_ns, 70);
	assert_int_equal(row_named(sum, "prefill")->device_ns, 40);
	summary_destroy(sum);
	assert_int_equal(summary_create(&sum, &run, SUMMARY_BY_KERNEL, STEP_DECODE), 0);
	assert_int_equal(row_named(sum, "k")->total_ns, 70);
	assert_int_equal(sum->device_ns, 70); /* and so say the queues */
	assert_int_equal(sum->queues.queues[0].commands, 1);
	assert_int_equal(sum->queues.queues[0].busy_ns, 70);
	assert_int_equal(sum->queues.queues[0].steps_ns, 899);
	assert_int_equal(sum->queues.queues[0].idle_ns, 899 - 110);
	assert_int_equal(sum->queues.queues[0].launch.count, 1);
	assert_int_equal(sum->queues.queues[0].launch.p50_ns, 20);
	summary_destroy(sum);
	assert_int_equal(step_index_init(&index, &run), 0);
	assert_int_equal(roofline_create(&r, &run, &index, NULL), 0);
	assert_int_equal(roofline_phase(r, ROOFLINE_DECODE)->busy_ns, 70);
	assert_int_equal(roofline_phase(r, ROOFLINE_PREFILL)->busy_ns, 40);
	roofline_destroy(r);
	step_index_fini(&index);
	run_fini(&run);
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

/* Commands that come after themselves, before their launches, in a ring: answers, not crashes. */
static void contradictions(void **state)
{
	struct scene s;
	struct path *path;
	struct brick_graph *g;
	const uint32_t *cycle;
	(void)state;

	scene_init(&s);
	s.run.afters[0] = s.k1; /* k1 after k2 after k1, and the copy after k2 */
	s.run.commands[s.k1].after_first = s.run.commands[s.copy].after_first = 1;
	s.run.commands[s.k1].after_count = s.run.commands[s.copy].after_count = 1;
	s.run.afters = realloc(s.run.afters, 2 * sizeof(*s.run.afters));
	s.run.afters[s.run.after_count++] = s.k2;
	s.run.lanes[s.queue].samples[0].begin_ns = 1005; /* launched later */
	assert_int_equal(path_create(&path, &s.run, &s.index, 0), 0);
	assert_int_equal(path->sections[0].length_ns, 1000);
	path_destroy(path);
	assert_int_equal(graph_from_run(&g, &s.run, &s.index, 0), 0);
	assert_int_equal(brick_graph_cycle(g, &cycle), 0);
	brick_graph_destroy(g);
	scene_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_and_device_apart),
		cmocka_unit_test(by_layer_and_thread),
		cmocka_unit_test(by_kernel),
		cmocka_unit_test(queues),
		cmocka_unit_test(one_queue_on_two_lanes),
		cmocka_unit_test(overlapping_lanes_are_busy_once),
		cmocka_unit_test(commands_of_steps_that_overlap),
		cmocka_unit_test(tree_down_to_kernels),
		cmocka_unit_test(path_through_launches),
		cmocka_unit_test(graph_of_commands),
		cmocka_unit_test(contradictions),
	};
	return cmocka_run_group_tests_name("analysis_device", tests, NULL, NULL);
}
