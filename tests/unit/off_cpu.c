/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When threads are off their CPUs, as the kernel says: a process that sleeps is blocked for as long
 * as it slept; one that spins beside another on the same CPU is preempted, and what it lost is the
 * time that it waited for a CPU by the kernel's own accounts (/proc/self/schedstat; a CPU clock may
 * also leave out what the host of a virtual machine stole). Skipped where that is not to be had.
 * And which of it is of a lane that one thread had after the other.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock_ns.h"
#include "lib/drain/off_cpu.h"
#include "record/switch_records.h"

#define SPIN_NS 300000000ull
#define SLEEP_NS 200000000ull

struct sums {
	uint32_t pid;
	uint64_t blocked_ns, preempted_ns, longest_ns, last_ns;
	int misplaced; /* intervals that end before they begin, or before the one handed out last */
};

static void add(void *context, const struct off_cpu *interval)
{
	struct sums *sums = context;
	uint64_t ns = interval->end_ns - interval->begin_ns;

	sums->misplaced +=
		interval->end_ns < interval->begin_ns || interval->end_ns < sums->last_ns;
	sums->last_ns = interval->end_ns;
	if (interval->pid != sums->pid || interval->tid != sums->pid)
		return;
	if (interval->why == OFF_CPU_PREEMPTED)
		sums->preempted_ns += ns;
	else
		sums->blocked_ns += ns;
	sums->longest_ns = ns > sums->longest_ns ? ns : sums->longest_ns;
}

static void pin(pid_t pid)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	assert_int_equal(sched_setaffinity(pid, sizeof one, &one), 0);
}

/* This program again, doing `what`, once it is followed. *out is NULL where that is not allowed. */
static pid_t run_followed(const char *what, struct off_cpu_recorder **out, int *answer)
{
	int go[2], back[2];
	char byte = 0, path[4096] = "/proc/self/exe";

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(back), 0);
	pid_t pid = fork();
	if (!pid) {
		dup2(back[1], 1);
		ssize_t n = read(go[0], &byte, 1);
		execl(path, path, what, (char *)NULL);
		_exit(n == 1 ? 127 : 126);
	}
	assert_true(pid > 0);
	*out = NULL;
	int error = off_cpu_create(out, pid);
	if (error)
		print_message("not allowed here: %s\n", strerror(-error));
	assert_int_equal(write(go[1], &byte, 1), 1);
	close(go[0]);
	close(go[1]);
	close(back[1]);
	*answer = back[0];
	return pid;
}

static void a_sleep_is_blocked(void **state)
{
	struct off_cpu_recorder *r;
	int answer;
	struct sums sums = {.pid = (uint32_t)run_followed("sleep", &r, &answer)};

	waitpid((pid_t)sums.pid, NULL, 0);
	close(answer);
	if (!r)
		skip();
	usleep(1000);
	assert_int_equal(off_cpu_read(r, monotonic_ns(), add, &sums), 0);
	assert_int_equal(off_cpu_lost(r), 0);
	assert_int_equal(sums.misplaced, 0);
	assert_true(sums.longest_ns >= SLEEP_NS);
	assert_true(sums.blocked_ns >= SLEEP_NS);
	off_cpu_destroy(r);
}

/* Records that are kept until all of their time are visible have been seen all the same. */
static void what_was_seen_stays_seen(void **state)
{
	struct off_cpu_recorder *r;
	int answer;
	struct sums sums = {.pid = (uint32_t)run_followed("sleep", &r, &answer)};

	(void)state;
	waitpid((pid_t)sums.pid, NULL, 0);
	close(answer);
	if (!r)
		skip();
	uint64_t seen = off_cpu_seen(r);
	assert_true(seen > 0);
	assert_int_equal(off_cpu_read(r, OFF_CPU_VISIBLE_NS, add, &sums), 0);
	assert_int_equal(sums.blocked_ns, 0);
	assert_int_equal(off_cpu_seen(r), seen);
	assert_int_equal(off_cpu_read(r, monotonic_ns(), add, &sums), 0);
	assert_int_equal(off_cpu_seen(r), seen);
	off_cpu_destroy(r);
}

/* By how many ns the kernel's two accounts of a spin beside a neighbour differ; -1: not known. */
static int64_t missing_ns(void)
{
	struct off_cpu_recorder *r;
	unsigned long long queued_ns = 0;
	char text[128] = "";
	int answer;
	pid_t neighbour = fork();

	if (!neighbour)
		for (;;)
			;
	pin(neighbour);
	struct sums sums = {.pid = (uint32_t)run_followed("spin", &r, &answer)};
	pin((pid_t)sums.pid);
	waitpid((pid_t)sums.pid, NULL, 0);
	kill(neighbour, SIGKILL);
	waitpid(neighbour, NULL, 0);
	assert_true(read(answer, text, sizeof text - 1) > 0);
	close(answer);
	assert_int_equal(sscanf(text, "%llu", &queued_ns), 1);
	if (!r || !queued_ns)
		return -1;
	usleep(1000);
	assert_int_equal(off_cpu_read(r, monotonic_ns(), add, &sums), 0);
	assert_int_equal(off_cpu_lost(r), 0);
	assert_true(sums.preempted_ns > 0);
	off_cpu_destroy(r);
	uint64_t off_ns = sums.preempted_ns + sums.blocked_ns;
	return off_ns < queued_ns ? (int64_t)(queued_ns - off_ns) : 0;
}

/*
 * Beside the spin there is the program's start and end, some ms at most. A host that takes the CPU
 * away in the middle of a switch makes the accounts differ by that: now and then, not each time.
 */
static void a_neighbour_preempts(void **state)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < 6 && least > 2000000; i++) {
		int64_t missing = missing_ns();
		if (missing < 0)
			skip();
		least = missing < least ? missing : least;
	}
	assert_true(least <= 2000000);
}

static unsigned long long queued_ns(void)
{
	unsigned long long ran = 0, queued = 0;
	FILE *file = fopen("/proc/self/schedstat", "re");

	if (file && fscanf(file, "%llu %llu", &ran, &queued) != 2)
		queued = 0;
	if (file)
		fclose(file);
	return queued;
}

static int spin(void)
{
	uint64_t wall = monotonic_ns(), queued = queued_ns();

	while (monotonic_ns() - wall < SPIN_NS)
		;
	printf("%llu\n", (unsigned long long)(queued_ns() - queued));
	return 0;
}

static void recording_them_takes_time(void **state)
{
	struct off_cpu_account account = {.source = OFF_CPU_UNKNOWN};
	double more_ns[8];

	(void)state;
	switch_cost_account(&account, SWITCH_COST_BLOCKS);
	assert_int_equal(account.cost_ns, 0);
	if (switch_cost_measure(more_ns, 8))
		skip();
	for (int i = 1; i < 8; i++)
		assert_true(more_ns[i - 1] <= more_ns[i]);
	account.source = OFF_CPU_SWITCHES;
	switch_cost_account(&account, SWITCH_COST_BLOCKS);
	assert_in_range(account.cost_low_ns, 1, account.cost_ns);
	assert_in_range(account.cost_ns, 1, account.cost_high_ns);
}

/* In place of the writer's. */
int __wrap_sink_off_cpu(
	struct trace_writer *writer, int lane, const struct sink_off_cpu *intervals, size_t count);

int __wrap_sink_off_cpu(
	struct trace_writer *writer, int lane, const struct sink_off_cpu *intervals, size_t count)
{
	static const struct sink_off_cpu wanted[] = {
		{100, 110, 7, 0}, {190, 200, 7, 1}, {200, 205, 8, 0}, {210, 220, 8, 0}};
	static size_t next;

	(void)writer;
	assert_int_equal(lane, 3);
	for (size_t i = 0; i < count; i++, next++)
		assert_memory_equal(&intervals[i], &wanted[next], sizeof *wanted);
	return 0;
}

static int same_number(void *context, uint32_t lane)
{
	(void)context;
	return (int)lane;
}

/* Thread 8 gets the lane at 200, while 7 still ends. */
static void a_lane_has_one_thread(void **state)
{
	static const struct sink_off_cpu off[] = {{90, 110, 7, 0}, {190, 230, 7, 1},
		{195, 205, 8, 0}, {210, 220, 8, 0}, {215, 225, 7, 0}};
	const struct brick_clock clock = {.mult = 1};
	const struct brick_record records[] = {
		{.kind = BRICK_RECORD_THREAD, .begin = 100, .elements = 7},
		{.kind = BRICK_RECORD_THREAD, .begin = 200, .elements = 8}};
	struct drain_off_cpu o = {0};

	(void)state;
	assert_int_equal(drain_off_cpu_add(&o, off, 5), 0);
	assert_int_equal(drain_off_cpu_learn(&o, &clock, 3, records, 2), 0);
	assert_int_equal(drain_off_cpu_emit(&o, &o, NULL, same_number, NULL), 0);
	assert_int_equal(o.waiting.count, 0);
	drain_off_cpu_fini(&o);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sleep_is_blocked),
		cmocka_unit_test(what_was_seen_stays_seen),
		cmocka_unit_test(a_neighbour_preempts),
		cmocka_unit_test(recording_them_takes_time),
		cmocka_unit_test(a_lane_has_one_thread),
	};

	if (argc > 1 && !strcmp(argv[1], "sleep")) {
		const struct timespec t = timespec_of_ns(SLEEP_NS);
		return nanosleep(&t, NULL);
	}
	if (argc > 1)
		return spin();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
