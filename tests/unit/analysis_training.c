/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that train: which steps do, and what their phases took; a forward pass that a backward pass
 * repeats, other threads' phases, and steps that only evaluate; what a device did of each phase,
 * whichever call submitted it; and the program's time between two such steps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/steps/step_times.h"
#include "analysis/steps/training_times.h"
#include "tests/unit/run_builder.h"

struct fixture {
	struct run run;
	struct training_times times;
	uint32_t lane, other; /* threads */
	uint32_t step, forward, backward, optimizer;
};

static uint32_t engine_site(struct run *run, const char *brick)
{
	return builder_site(run, builder_brick(run, brick, "Engine"), -1, NULL, NULL);
}

static void open_fixture(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->run.complete = 1;
	f->run.clock = *brick_clock_get();
	f->step = builder_site(&f->run, builder_known(&f->run, BRICK_PREFILL), -1, NULL, NULL);
	f->forward = engine_site(&f->run, "Forward");
	uint32_t process = builder_process(&f->run, 1);
	f->lane = builder_lane(&f->run, process, 1);
	f->other = builder_lane(&f->run, process, 2);
}

static void measure(struct fixture *f)
{
	struct step_index index;

	assert_int_equal(step_index_init(&index, &f->run), 0);
	assert_int_equal(training_times_of_run(&f->times, &f->run, &index), 0);
	step_index_fini(&index);
}

static void begin_step(struct fixture *f, uint64_t begin, uint64_t end, uint64_t tokens)
{
	builder_sample(&f->run, f->lane, f->step, begin, end, 0);
	builder_step(&f->run, f->lane, tokens);
}

static void steps_without_gradients_do_not_train(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	begin_step(&f, 100, 200, 8);
	builder_sample(&f.run, f.lane, f.forward, 110, 190, 1);
	measure(&f);
	assert_int_equal(f.times.count, 0);
	run_fini(&f.run);
}

static void phases_are_of_the_steps_that_train(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	f.backward = engine_site(&f.run, "Backward");
	f.optimizer = engine_site(&f.run, "OptimizerStep");
	begin_step(&f, 100, 1100, 64);
	builder_sample(&f.run, f.lane, f.forward, 100, 400, 1);
	builder_sample(&f.run, f.lane, f.backward, 450, 950, 1);
	builder_sample(&f.run, f.lane, f.forward, 500, 600, 2); /* once more, for its gradients */
	builder_sample(&f.run, f.lane, engine_site(&f.run, "Recomputation"), 620, 650, 2);
	builder_sample(&f.run, f.lane, engine_site(&f.run, "ClipGradients"), 960, 980, 1);
	builder_sample(&f.run, f.lane, f.optimizer, 1000, 1090, 1);
	begin_step(&f, 2000, 2300, 32); /* evaluates */
	builder_sample(&f.run, f.lane, f.forward, 2000, 2300, 1);
	begin_step(&f, 3000, 3500, 16); /* gradients are kept for the next */
	builder_sample(&f.run, f.lane, f.forward, 3000, 3200, 1);
	builder_sample(&f.run, f.lane, f.backward, 3200, 3500, 1);
	builder_sample(&f.run, f.other, f.backward, 3100, 3400, 0);
	measure(&f);
	assert_int_equal(f.times.count, 2);
	assert_int_equal(f.times.tokens, 64 + 16);
	assert_int_equal(f.times.total_ns, 1000 + 500);
	assert_int_equal(f.times.phase_ns[TRAINING_FORWARD], 300 + 200);
	assert_int_equal(f.times.phase_ns[TRAINING_BACKWARD], 500 + 300);
	assert_int_equal(f.times.phase_ns[TRAINING_OPTIMIZER], 90);
	assert_int_equal(f.times.recomputed_ns, 30);
	assert_int_equal(f.times.clipping_ns, 20);
	run_fini(&f.run);
}

/* A command of the queue, submitted by the last sample of the thread. */
static void run_on_device(
	struct fixture *f, uint32_t queue, const char *brick, const char *category, uint64_t ns)
{
	struct run_lane *lane = &f->run.lanes[queue];
	uint64_t begin =
		lane->sample_count ? lane->samples[lane->sample_count - 1].end_ns + 10 : 200;
	uint32_t site =
		builder_site(&f->run, builder_brick(&f->run, brick, category), -1, NULL, NULL);

	builder_sample(&f->run, queue, site, begin, begin + ns, 0);
	builder_command(&f->run, queue, 0, f->lane,
		(uint32_t)f->run.lanes[f->lane].sample_count - 1, RUN_NONE);
}

static void a_device_computes_phases_in_their_order(void **state)
{
	struct fixture f;

	(void)state;
	open_fixture(&f);
	f.optimizer = engine_site(&f.run, "OptimizerStep");
	uint32_t queue = builder_queue(&f.run, 0, 3);
	builder_kernel(&f.run, "k", BRICK_KERNEL_COMPUTE, 1);
	begin_step(&f, 100, 1100, 64);
	builder_sample(&f.run, f.lane, f.forward, 110, 120, 1);
	builder_sample(&f.run, f.lane, f.optimizer, 120, 140, 1); /* submits all */
	run_on_device(&f, queue, "UpProjection", "FFN", 50);
	run_on_device(&f, queue, "InputCopy", "Engine", 70);
	run_on_device(&f, queue, "k", "Device", 90);
	run_on_device(&f, queue, "Gradient", "Backward", 30);
	run_on_device(&f, queue, "Elementwise", "Other", 7); /* of the backward pass */
	run_on_device(&f, queue, "WeightUpdate", "Optimizer", 20);
	begin_step(&f, 2000, 2300, 32); /* evaluates */
	run_on_device(&f, queue, "UpProjection", "FFN", 50);
	measure(&f);
	assert_int_equal(f.times.count, 1);
	assert_int_equal(f.times.tokens, 64);
	assert_int_equal(f.times.phase_ns[TRAINING_FORWARD], 10);
	assert_int_equal(f.times.phase_ns[TRAINING_OPTIMIZER], 20);
	assert_int_equal(f.times.device_ns[TRAINING_FORWARD], 50);
	assert_int_equal(f.times.device_ns[TRAINING_BACKWARD], 30 + 7);
	assert_int_equal(f.times.device_ns[TRAINING_OPTIMIZER], 20);
	run_fini(&f.run);
}

/* A program may wait for a prompt, and does not wait for its own next step of training. */
static void the_program_works_between_steps_that_train(void **state)
{
	struct step_index index;
	struct step_times times;
	struct fixture f;

	(void)state;
	open_fixture(&f);
	f.backward = engine_site(&f.run, "Backward");
	for (uint64_t begin = 1000; begin <= 3000; begin += 1000) {
		begin_step(&f, begin, begin + 600, 64);
		builder_sample(&f.run, f.lane, f.forward, begin, begin + 300, 1);
		builder_sample(&f.run, f.lane, f.backward, begin + 300, begin + 600, 1);
	}
	begin_step(&f, 9000, 9500, 64); /* evaluates */
	builder_sample(&f.run, f.lane, f.forward, 9000, 9500, 1);
	assert_int_equal(step_index_init(&index, &f.run), 0);
	assert_int_equal(step_times_measure(&times, &f.run, &index), 0);
	assert_int_equal(times.phases[STEP_PREFILL].union_ns, 3 * 600 + 500);
	assert_int_equal(times.phases[STEP_PREFILL].wall_ns, 3 * 600 + 500 + 2 * 400);
	step_times_fini(&times);
	step_index_fini(&index);
	run_fini(&f.run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_without_gradients_do_not_train),
		cmocka_unit_test(phases_are_of_the_steps_that_train),
		cmocka_unit_test(a_device_computes_phases_in_their_order),
		cmocka_unit_test(the_program_works_between_steps_that_train),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
