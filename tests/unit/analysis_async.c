/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that work on after an engine's evaluation call has returned: steps, path, tree, queues
 * and the first token include what they did for the step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "analysis/accounts/call_tree.h"
#include "analysis/path/path.h"
#include "analysis/accounts/presence.h"
#include "analysis/accounts/queue_times.h"
#include "analysis/accounts/summary.h"
#include "analysis/statistics/unknown.h"
#include "tests/unit/run_builder.h"

struct scene {
	struct run run;
	struct step_index index;
	uint32_t queue, gemv, copy, sync, sampling, work, kernel;
};

static void scene_init(struct scene *s, int well_known)
{
	memset(s, 0, sizeof(*s));
	struct run *run = &s->run;
	run->complete = 1;
	run->clock.mult = 1;
	builder_process(run, 1);
	builder_lane(run, 0, 1);
	s->queue = builder_queue(run, 0, 7);
	s->work = builder_site(run, builder_known(run, BRICK_RMS_NORM), 0, NULL, NULL);
	s->gemv = builder_site(run, builder_brick(run, "gemv", "FFN"), 0, NULL, NULL);
	s->copy = builder_site(run, builder_brick(run, "copy", "Memory"), 0, NULL, NULL);
	s->sync = builder_site(run, builder_known(run, BRICK_SYNCHRONIZE), -1, NULL, NULL);
	s->sampling = builder_site(run, builder_known(run, BRICK_SAMPLING), -1, NULL, NULL);
	s->kernel = builder_kernel(run, "k", BRICK_KERNEL_COMPUTE, 4);
	builder_sample(run, 0, builder_site(run, builder_known(run, well_known), -1, NULL, NULL),
		1000, 1100, 0);
	builder_step(run, 0, 1);
	builder_sample(run, 0, s->work, 1010, 1050, 1);
}

static void scene_fini(struct scene *s)
{
	step_index_fini(&s->index);
	run_fini(&s->run);
}

static void add_command(struct scene *s, uint32_t site, uint64_t begin, uint64_t end)
{
	builder_sample(&s->run, s->queue, site, begin, end, 0);
	builder_command(&s->run, s->queue, s->kernel, 0, 1, RUN_NONE);
}

static const struct path_row *row_of(const struct path_section *section, uint32_t brick)
{
	for (size_t i = 0; i < section->row_count; i++)
		if (section->rows[i].owner == brick)
			return &section->rows[i];
	return NULL;
}

static uint64_t on_path_ns(const struct path_section *section, const struct run *run, uint32_t site)
{
	const struct path_row *row = row_of(section, run->sites[site].brick);
	return row ? row->on_path_ns : 0;
}

/* Rows and what is unattributed add up to the wall time, as the steps do. */
static void check_wall(const struct scene *s, uint64_t wall_ns)
{
	struct summary *sum;
	struct call_tree *tree;
	uint64_t ns = 0;

	assert_int_equal(summary_create(&sum, &s->run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	for (size_t i = 0; i < sum->row_count; i++)
		ns += sum->rows[i].wall_ns == ANALYSIS_UNKNOWN ? 0 : sum->rows[i].wall_ns;
	assert_int_equal(sum->wall_ns, wall_ns);
	assert_int_equal(ns + sum->rests.unattributed_ns, wall_ns);
	summary_destroy(sum);
	ns = 0;
	for (uint32_t step = 0; step < s->run.step_count; step++) {
		assert_int_equal(call_tree_of_step(&tree, &s->run, &s->index, step), 0);
		ns += tree->nodes[0].time_ns;
		call_tree_destroy(tree);
	}
	assert_int_equal(ns, wall_ns);
}

static struct path *path_of(const struct scene *s, uint32_t step, uint64_t length_ns)
{
	struct path *path;

	assert_int_equal(path_create(&path, &s->run, &s->index, step), 0);
	assert_int_equal(path->sections[0].measured_ns, length_ns);
	assert_int_equal(path->sections[0].length_ns, length_ns);
	return path;
}

/* The evaluation takes 100; the device works until 1600, which somebody waits for from 1200. */
static void work_after_the_evaluation(void **state)
{
	struct scene s;
	struct queue_times queues;
	(void)state;

	scene_init(&s, BRICK_DECODE);
	struct run *run = &s.run;
	builder_sample(run, 0, s.sync, 1200, 1610, 0);
	builder_sample(run, 0, s.sampling, 1650, 1700, 0);
	add_command(&s, s.gemv, 1060, 1300);
	add_command(&s, s.copy, 1300, 1600);
	assert_int_equal(step_index_init(&s.index, run), 0);
	assert_int_equal(s.index.tails[0].device_ns, 1600);
	assert_int_equal(s.index.tails[0].end_ns, 1610);
	assert_int_equal(s.index.tails[0].gap_ns, 100);
	check_wall(&s, 610 + 50);

	struct path *path = path_of(&s, 0, 610 + 50);
	const struct path_section *section = &path->sections[0];
	assert_int_equal(on_path_ns(section, run, s.gemv), 240);
	assert_int_equal(on_path_ns(section, run, s.copy), 300);
	assert_int_equal(on_path_ns(section, run, s.sync), 10);
	assert_int_equal(on_path_ns(section, run, s.sampling), 50);
	assert_int_equal(section->counts.unknown_waits, 0);
	const struct path_row *sync = row_of(section, run->sites[s.sync].brick);
	assert_int_equal(sync->nothing_ns, section->length_ns); /* a wait is bought by its cause */
	const struct path_row *copy = row_of(section, run->sites[s.copy].brick);
	assert_int_equal(copy->nothing_ns, section->length_ns - 300);
	path_destroy(path);

	assert_int_equal(queue_times_init(&queues, run, &s.index, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(queues.queues[0].busy_ns, 540);
	assert_int_equal(queues.queues[0].idle_ns, 70);
	assert_int_equal(queues.queues[0].wall_ns, 610);
	queue_times_fini(&queues);
	scene_fini(&s);
}

/* A device's work has a coverage of its own, and a wait for it names what it was for. */
static void what_has_a_name(void **state)
{
	struct scene s;
	struct summary *sum;
	(void)state;

	scene_init(&s, BRICK_DECODE);
	struct run *run = &s.run;
	uint32_t unnamed = builder_site(run, builder_brick(run, "k", "Device"), -1, NULL, NULL);
	builder_sample(run, 0, s.sync, 1200, 1310, 0);
	builder_waits(run, 0, 2, 0);
	builder_sample(run, 0, s.sync, 1310, 1610, 0); /* for what, nothing says */
	builder_sample(run, 0, s.sync, 1700, 1705, 0); /* when nothing ended */
	add_command(&s, s.gemv, 1060, 1300);
	add_command(&s, unnamed, 1300, 1600);
	assert_int_equal(step_index_init(&s.index, run), 0);
	assert_int_equal(summary_create(&sum, run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(sum->device_ns, 540);
	assert_int_equal(sum->device_covered_ns, 240);
	assert_true(summary_device_coverage(sum) == 240.0 / 540);
	assert_int_equal(sum->device_wait_ns, 110 + 300 + 5);
	const struct wait_cause *causes = sum->wait_causes.list;
	assert_int_equal(sum->wait_causes.count, 3);
	assert_null(causes[0].name);
	assert_int_equal(causes[0].lane, s.queue);
	assert_int_equal(causes[0].time_ns, 300);
	assert_string_equal(causes[1].name, "k");
	assert_int_equal(causes[1].time_ns, 110);
	assert_int_equal(causes[2].lane, RUN_NONE);
	assert_int_equal(causes[2].time_ns, 5);
	summary_destroy(sum);
	scene_fini(&s);
}

/* The next step begins while the device still works: from then on it is that one's. */
static void the_next_step_takes_over(void **state)
{
	struct scene s;
	struct queue_times queues;
	(void)state;

	scene_init(&s, BRICK_DECODE);
	struct run *run = &s.run;
	builder_sample(run, 0, s.work, 1400, 1500, 0);
	builder_sample(run, 0, s.work, 1960, 1980, 0);
	uint32_t decode = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	builder_sample(run, 0, decode, 2000, 2100, 0);
	builder_step(run, 0, 1);
	builder_sample(run, 0, s.sync, 2100, 2420, 0);
	add_command(&s, s.gemv, 1060, 2300);
	builder_sample(run, s.queue, s.copy, 2300, 2400, 0);
	builder_command(run, s.queue, s.kernel, 0, 4, RUN_NONE);
	assert_int_equal(step_index_init(&s.index, run), 0);
	assert_int_equal(s.index.tails[0].end_ns, 2000);
	assert_int_equal(s.index.tails[0].gap_ns, 300 + 480);
	assert_int_equal(s.index.tails[1].end_ns, 2420);
	assert_int_equal(s.index.tails[1].gap_ns, 0);
	check_wall(&s, 1000 + 420);

	struct path *path = path_of(&s, 0, 1000);
	assert_int_equal(on_path_ns(&path->sections[0], run, s.gemv), 0); /* it had not ended */
	path_destroy(path);
	path = path_of(&s, 1, 420);
	assert_int_equal(on_path_ns(&path->sections[0], run, s.gemv), 300);
	assert_int_equal(on_path_ns(&path->sections[0], run, s.copy), 100);
	path_destroy(path);
	assert_int_equal(queue_times_init(&queues, run, &s.index, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(queues.queues[0].busy_ns, 1340);
	assert_int_equal(queues.queues[0].idle_ns, 80);
	queue_times_fini(&queues);
	scene_fini(&s);
}

/* Nobody waits in a brick: the step ends when the device has done its work. */
static void nobody_waits(void **state)
{
	struct scene s;
	(void)state;

	scene_init(&s, BRICK_DECODE);
	add_command(&s, s.gemv, 1060, 1300);
	assert_int_equal(step_index_init(&s.index, &s.run), 0);
	check_wall(&s, 300);
	struct path *path = path_of(&s, 0, 300);
	assert_int_equal(on_path_ns(&path->sections[0], &s.run, s.gemv), 240);
	path_destroy(path);
	scene_fini(&s);
}

/* Work that began in the tail and goes on into the next step is nobody's: it holds that step. */
static void what_holds_the_next_step(void **state)
{
	struct scene s;
	(void)state;

	scene_init(&s, BRICK_PREFILL);
	struct run *run = &s.run;
	uint32_t decode = builder_site(run, builder_known(run, BRICK_DECODE), -1, NULL, NULL);
	builder_sample(run, 0, s.work, 1150, 2500, 0);
	builder_sample(run, 0, decode, 2000, 2100, 1);
	builder_step(run, 0, 1);
	add_command(&s, s.gemv, 1060, 1300);
	assert_int_equal(step_index_init(&s.index, run), 0);
	assert_int_equal(s.index.tails[0].end_ns, 1150);
	assert_int_equal(s.index.tails[0].gap_ns, 50);
	check_wall(&s, 150 + 100);
	path_destroy(path_of(&s, 0, 150));

	struct step_times times;
	assert_int_equal(step_times_measure(&times, run, &s.index), 0);
	assert_int_equal(times.ttft_ns, 300); /* when the device had ended */
	step_times_fini(&times);
	scene_fini(&s);
}

/* Without steps the wall time of a queue is from its first command to its last. */
static void a_queue_without_steps(void **state)
{
	struct scene s;
	struct queue_times queues;
	(void)state;

	scene_init(&s, BRICK_DECODE);
	s.run.step_count = 0;
	add_command(&s, s.gemv, 1060, 1300);
	add_command(&s, s.gemv, 1500, 1600);
	assert_int_equal(step_index_init(&s.index, &s.run), 0);
	assert_int_equal(queue_times_init(&queues, &s.run, &s.index, SUMMARY_ALL_PHASES), 0);
	assert_int_equal(queues.queues[0].wall_ns, 540);
	assert_int_equal(queues.queues[0].busy_ns, 340);
	assert_int_equal(queues.queues[0].idle_ns, 200);
	queue_times_fini(&queues);
	scene_fini(&s);
}

/* Its thread is preempted for half of the evaluation, and blocked while the device works on. */
static void off_the_cpu_beside_the_device(void **state)
{
	struct run_off_cpu off[] = {{.begin_ns = 1050, .end_ns = 1100, .preempted = 1},
		{.begin_ns = 1200, .end_ns = 1600, .before = {.preempted_ns = 50}}};
	struct scene s;
	struct presence presence;
	(void)state;

	scene_init(&s, BRICK_DECODE);
	builder_sample(&s.run, 0, s.sync, 1200, 1600, 0);
	add_command(&s, s.gemv, 1060, 1600);
	s.run.off_cpu.source = OFF_CPU_SWITCHES;
	s.run.lanes[0].off_cpu = off;
	s.run.lanes[0].off_cpu_count = 2;
	assert_int_equal(step_index_init(&s.index, &s.run), 0);
	presence_of_run(&presence, &s.run, &s.index);
	assert_float_equal(presence.preempted, 50.0 / 600, 1e-9);
	assert_float_equal(presence.blocked, 400.0 / 600, 1e-9);
	s.run.lanes[0].off_cpu = NULL;
	s.run.lanes[0].off_cpu_count = 0;
	scene_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_after_the_evaluation),
		cmocka_unit_test(what_has_a_name),
		cmocka_unit_test(the_next_step_takes_over),
		cmocka_unit_test(nobody_waits),
		cmocka_unit_test(what_holds_the_next_step),
		cmocka_unit_test(a_queue_without_steps),
		cmocka_unit_test(off_the_cpu_beside_the_device),
	};
	return cmocka_run_group_tests_name("analysis_async", tests, NULL, NULL);
}
