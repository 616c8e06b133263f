/* SPDX-License-Identifier: Apache-2.0 */
/* However many threads a program makes, on a machine with two nodes, what is kept of them is
 * bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "lib/writer/writer.h"
#include "record/placement.h"
#include "trace/load.h"

enum { TOGETHER = 32, ROUNDS = 160, BOUND = 4096 };

static int is_over;

static void *run_on(void *argument)
{
	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		sched_yield();
	return argument;
}

static void see_new_threads(struct placement *placement, uint64_t now_ns)
{
	pthread_t threads[TOGETHER];

	__atomic_store_n(&is_over, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < TOGETHER; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_on, NULL), 0);
	placement_turn(placement, getpid(), now_ns);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < TOGETHER; i++)
		pthread_join(threads[i], NULL);
}

static void threads_without_end_take_bounded_memory(void **state)
{
	char root[] = "/tmp/brick-unit-XXXXXX", path[64], command[512];
	const struct trace_writer_options options = {
		.path = path, .start_unix_ns = 1, .start_ns = 1};
	struct placement *placement;
	struct trace_writer *writer;
	struct load_error error;
	struct run *run;

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(path, sizeof path, "%s/run.pftrace", root);
	snprintf(command, sizeof command,
		"cd %s && mkdir -p sys/devices/system/cpu sys/devices/system/node/node0 "
		"sys/devices/system/node/node1 && cd sys/devices/system && echo 0-4095 >cpu/online "
		"&& "
		"echo 0-4095 >node/node0/cpulist && echo >node/node1/cpulist",
		root);
	assert_int_equal(system(command), 0);
	assert_int_equal(placement_create(&placement, root), 0);
	for (int i = 1; i <= ROUNDS; i++)
		see_new_threads(placement, (uint64_t)i * 1000000000);
	assert_int_equal(trace_writer_create(&writer, &options), 0);
	assert_int_equal(placement_finish(placement, writer), 0);
	assert_int_equal(trace_writer_finish(writer), 0);
	placement_destroy(placement);
	assert_int_equal(run_load(&run, path, &error), 0);
	assert_int_equal(run->bad_packets, 0);
	assert_true(run->placed_thread_count > 0 && run->placed_thread_count <= BOUND);
	run_destroy(run);
	snprintf(command, sizeof command, "rm -rf %s", root);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_without_end_take_bounded_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
