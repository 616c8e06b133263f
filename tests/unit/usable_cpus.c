/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that may run on fewer CPUs than the machine has, and its recorder with it: what the
 * others did is no idle time that the recorder could have used.
 */
#include <sched.h>
#include "lib/drain/allowance.h"
#include "lib/drain/neighbours.h"
#include "tests/unit/summary_kit.h"

static void what_the_recorder_took_was_not_idle(void **state)
{
	struct run run;
	struct summary *s;
	struct distortion d;
	uint32_t lane = start(&run);
	uint32_t step = builder_site(&run, builder_known(&run, BRICK_DECODE), -1, NULL, NULL);
	builder_sample(&run, lane, step, 0, 10000, 0);
	builder_step(&run, lane, 1);
	give_stats(&run, lane);
	run.processes[0].pair_cost_ns = 100;
	run.end_ns = run.program_cpu_ns = 10000;
	run.consumer_cpu_ns = 200;
	run.cpus = 2;
	assert_int_equal(summary_create(&s, &run, SUMMARY_BY_BRICK, SUMMARY_ALL_PHASES), 0);
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_false(d.saturated);
	assert_true(d.share > 0.00999 && d.share < 0.01001 && d.consumer_share == 0.01);
	run.usable_cpus = 1;
	distortion_estimate(&d, s, SUMMARY_ALL_PHASES);
	assert_true(d.saturated && d.consumer_share == 0.02);
	assert_true(d.share > 0.02999 && d.share < 0.03001);
	summary_destroy(s);
	run_fini(&run);
}

static void a_thread_is_bound_to_one(void **state)
{
	cpu_set_t before, one;

	assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
	int cpu = 0;
	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	struct allowance a;
	assert_int_equal(allowance_of(&a, 0), 0);
	assert_int_equal(a.cpus, 1);
	assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
	assert_int_equal(allowance_of(&a, 0), 0);
	assert_true(a.cpus >= 1 && a.cpus <= drain_cpus_online());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_recorder_took_was_not_idle),
		cmocka_unit_test(a_thread_is_bound_to_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
