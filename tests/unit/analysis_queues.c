/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues of devices by hand: busy or idle, on one lane or on several that overlap, commands of
 * steps that overlap, and what contradicts itself.
 */
#include "tests/unit/device_run.h"

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

/* Commands that come after themselves, before their launches, in a ring: answers, not crashes. */
static void contradictions(void **state)
{
	struct scene s;
	struct path *path;
	struct brick_graph *g;
	const uint32_t *cycle;
	(void)state;

	scene_init(&s);
	s.run.dependencies[0] = s.k1; /* k1 after k2 after k1, and the copy after k2 */
	s.run.commands[s.k1].dependency_first = s.run.commands[s.copy].dependency_first = 1;
	s.run.commands[s.k1].dependency_count = s.run.commands[s.copy].dependency_count = 1;
	s.run.dependencies = realloc(s.run.dependencies, 2 * sizeof(*s.run.dependencies));
	s.run.dependencies[s.run.dependency_count++] = s.k2;
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
		cmocka_unit_test(queues),
		cmocka_unit_test(one_queue_on_two_lanes),
		cmocka_unit_test(overlapping_lanes_are_busy_once),
		cmocka_unit_test(commands_of_steps_that_overlap),
		cmocka_unit_test(contradictions),
	};
	return cmocka_run_group_tests_name("analysis_queues", tests, NULL, NULL);
}
