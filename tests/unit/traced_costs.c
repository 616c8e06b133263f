/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a driver's tracing took from steps: all that it costs where the host is what steps wait for,
 * nothing of it where the device is, and what of it a wait takes back in between.
 */
#include <math.h>
#include "analysis/accounts/traced_costs.h"
#include "tests/unit/summary_kit.h"

static const char calibration[] =
	"callbacks 100 (100 to 100), record 900 (400 to 1900), node 500 (250 to 1000), "
	"device 0 (0 to 0) ns; 16 blocks of 24 launches in 3.0 ms";

/* A step of 100 us on a thread, whose calls are made by hand. */
struct scene {
	struct run run;
	uint32_t lane, queue, site, kernel;
	uint64_t device_free_ns;
};

static void scene_start(struct scene *s, const char *note)
{
	s->lane = start(&s->run);
	uint32_t step = builder_site(&s->run, builder_known(&s->run, BRICK_DECODE), -1, NULL, NULL);
	builder_sample(&s->run, s->lane, step, 0, 100000, 0);
	builder_step(&s->run, s->lane, 1);
	s->site = builder_site(&s->run, builder_brick(&s->run, "Work", "Other"), 0, NULL, NULL);
	s->queue = builder_queue(&s->run, 0, 2);
	s->kernel = builder_kernel(&s->run, "k", BRICK_KERNEL_COMPUTE, 1);
	s->device_free_ns = 0;
	if (note)
		builder_note(&s->run, "cuda.calibration", note);
}

/* A call of 2 us, whose commands reach the device 3 us after its begin, and run 100 ns apart. */
static void scene_launch(struct scene *s, uint64_t ns, uint32_t count, uint64_t length_ns)
{
	builder_sample(&s->run, s->lane, s->site, ns, ns + 2000, 1);
	uint32_t call = (uint32_t)s->run.lanes[s->lane].sample_count - 1;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t begin =
			s->device_free_ns + 100 > ns + 3000 ? s->device_free_ns + 100 : ns + 3000;
		s->device_free_ns = begin + length_ns;
		builder_sample(&s->run, s->queue, s->site, begin, s->device_free_ns, 0)->source =
			BRICK_SOURCE_DEVICE_ACTIVITY;
		builder_command(&s->run, s->queue, s->kernel, s->lane, call, RUN_NONE);
	}
}

/* The thread waits for the last command, and goes on 1 us after its end. */
static void scene_wait(struct scene *s, uint64_t ns)
{
	uint64_t end = s->device_free_ns > ns ? s->device_free_ns + 1000 : ns + 500;
	uint32_t site =
		builder_site(&s->run, builder_known(&s->run, BRICK_SYNCHRONIZE), -1, NULL, NULL);
	builder_sample(&s->run, s->lane, site, ns, end, 1);
	BUILDER_GROW(s->run.waits, s->run.wait_count);
	s->run.waits[s->run.wait_count++] = (struct run_wait){.lane = s->lane,
		.sample = (uint32_t)s->run.lanes[s->lane].sample_count - 1,
		.command = (uint32_t)s->run.command_count - 1};
}

static struct traced_cost scene_cost(struct scene *s)
{
	struct step_index index;
	struct traced_costs costs;

	assert_int_equal(step_index_init(&index, &s->run), 0);
	traced_costs_of(&costs, &s->run, &index);
	step_index_fini(&index);
	run_fini(&s->run);
	assert_true(costs.known);
	return costs.phases[STEP_DECODE];
}

/* Kernels of 1 us, each 10 us after the last one: the host is what the step waits for. */
static void host_is_slower(void **state)
{
	struct scene s;

	scene_start(&s, calibration);
	for (uint64_t i = 0; i < 9; i++)
		scene_launch(&s, 10000 * i, 1, 1000);
	struct traced_cost cost = scene_cost(&s);
	assert_true(cost.commands == 9 && cost.spent_ns == 9000);
	assert_true(cost.ns == 9000 && cost.low_ns == 4500 && cost.high_ns == 18000);
	scene_start(&s, calibration);
	for (uint64_t i = 0; i < 9; i++)
		scene_launch(&s, 10000 * i, 1, 1000);
	scene_wait(&s, 82100); /* the device is done 1.9 us later, and would be earlier, too */
	cost = scene_cost(&s);
	assert_true(cost.commands == 9 && fabs(cost.ns - 8500) <= 100);
}

/* Kernels of 20 us, launched one after another: the device is, and hides all but the first. */
static void device_is_slower(void **state)
{
	struct scene s;

	scene_start(&s, calibration);
	for (uint64_t i = 0; i < 4; i++)
		scene_launch(&s, 2000 * i, 1, 20000);
	scene_wait(&s, 8000);
	struct traced_cost cost = scene_cost(&s);
	assert_true(cost.spent_ns == 4100); /* four launches and a wait */
	assert_true(cost.ns == 500 && cost.low_ns == 0 && cost.high_ns == 2000);
}

/* A replay of five nodes has the cost of its nodes; the first one can begin so much earlier. */
static void replays(void **state)
{
	struct scene s;

	scene_start(&s, calibration);
	scene_launch(&s, 0, 5, 1000);
	scene_launch(&s, 50000, 5, 1000);
	struct traced_cost cost = scene_cost(&s);
	assert_true(cost.commands == 10 && cost.spent_ns == 2 * (100 + 5 * 500));
	assert_true(cost.ns == 5200 && cost.low_ns == 2700 && cost.high_ns == 10200);
}

/* Recorded lightly, a replay has one record's cost, and a sample that of two switches more. */
static void light_replays(void **state)
{
	struct scene s;

	scene_start(&s, "callbacks 100 (100 to 100), record 900 (400 to 1900), node 500 (250 to "
			"1000), device 40 (20 to 60) ns; replay 700 (600 to 800), device 70 (60 to "
			"80), sample 3000 (2000 to 4000) ns; 16 blocks");
	builder_note(&s.run, "cuda.detail", "light: ...");
	scene_launch(&s, 0, 5, 1000);
	scene_launch(&s, 50000, 5, 1000);
	for (size_t i = 5; i < 10; i++)
		s.run.lanes[s.queue].samples[i].source = BRICK_SOURCE_ESTIMATED;
	scene_launch(&s, 65000, 5, 1000); /* samples in a row are switched to once */
	scene_launch(&s, 80000, 5, 1000);
	struct traced_cost cost = scene_cost(&s);
	assert_true(cost.commands == 20);
	assert_true(cost.spent_ns == (100 + 5 * 500 + 3000) + (100 + 700) + (100 + 5 * 500 + 3000) +
					     (100 + 5 * 500));
	assert_true(cost.low_ns == (100 + 5 * 250 + 2000) + (100 + 600) + (100 + 5 * 250 + 2000) +
					   (100 + 5 * 250));
}

/* A pause of the device before each command lengthens what the device does, hidden by nothing. */
static void device_pauses(void **state)
{
	struct scene s;

	scene_start(&s, "callbacks 0 (0 to 0), record 0 (0 to 0), node 0 (0 to 0), "
			"device 300 (200 to 400) ns;");
	for (uint64_t i = 0; i < 4; i++)
		scene_launch(&s, 2000 * i, 1, 20000);
	scene_wait(&s, 8000);
	struct traced_cost cost = scene_cost(&s);
	assert_true(cost.ns == 1200 && cost.low_ns == 800 && cost.high_ns == 1600);
}

/* Without numbers, or with impossible ones, nothing is known. */
static void not_calibrated(void **state)
{
	static const char *const texts[] = {NULL, "none: no memory", "callbacks 100",
		"callbacks -1 (0 to 0), record 0 (0 to 0), node 0 (0 to 0), device 0 (0 to 0) ns",
		"callbacks 1 (0 to 99999999999), record 0 (0 to 0), node 0 (0 to 0), device 0 (0 "
		"to 0) ns"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct scene s;
		struct step_index index;
		struct traced_costs costs;
		scene_start(&s, texts[i]);
		scene_launch(&s, 0, 1, 1000);
		assert_int_equal(step_index_init(&index, &s.run), 0);
		traced_costs_of(&costs, &s.run, &index);
		step_index_fini(&index);
		assert_true(!costs.known && costs.phases[STEP_DECODE].commands == 1);
		assert_true((costs.why == NULL) == (texts[i] == NULL));
		run_fini(&s.run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_is_slower),
		cmocka_unit_test(device_is_slower),
		cmocka_unit_test(replays),
		cmocka_unit_test(light_replays),
		cmocka_unit_test(device_pauses),
		cmocka_unit_test(not_calibrated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
