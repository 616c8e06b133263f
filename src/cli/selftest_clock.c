/* SPDX-License-Identifier: Apache-2.0 */
/* Protocols about the clock and the CPU's counter. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/clock_ns.h"
#include "brick/brick.h"
#include "cli/cmd_selftest.h"
#include "lib/sys/ticks.h"

enum { READINGS = 1000000, HANDOVERS = 2000, MAX_CPUS = 256 };

static void clock_monotonic(struct selftest_result *r)
{
	uint64_t last = brick_ticks();
	unsigned back = 0;

	for (unsigned i = 0; i < READINGS; i++) {
		uint64_t now = brick_ticks();
		back += now < last;
		last = now;
	}
	selftest_say(r, back ? SELFTEST_FAILED : SELFTEST_PASSED,
		"%u of %u readings in a row lay before the one before", back, READINGS);
}

static void read_counter(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint64_t now = brick_ticks();
		__asm__ volatile("" : : "r"(now));
	}
}

static void counter_cost(struct selftest_result *r)
{
	double ns = selftest_cost_ns(read_counter, 10000, 50);

	if (brick_clock_get()->source == BRICK_CLOCK_MONOTONIC)
		selftest_say(r, SELFTEST_UNKNOWN,
			"this machine has no counter that can be trusted: %.80s; a reading of the "
			"clock takes %.3g ns",
			brick_clock_reason(), ns);
	else
		selftest_judge(r, ns, 15, "ns", "a reading of the counter");
}

/* Read on every CPU in turn: each must be behind the one before. */
static void counter_over_cpus(struct selftest_result *r)
{
	cpu_set_t before, one;
	uint64_t last = brick_ticks();
	unsigned cpus = 0, back = 0;

	if (sched_getaffinity(0, sizeof before, &before)) {
		selftest_say(r, SELFTEST_UNKNOWN, "the CPUs of this process are not known");
		return;
	}
	for (int round = 0; round < 20; round++)
		for (int cpu = 0; cpu < MAX_CPUS; cpu++) {
			if (!CPU_ISSET(cpu, &before))
				continue;
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			if (sched_setaffinity(0, sizeof one, &one))
				continue;
			uint64_t now = brick_ticks();
			back += now < last;
			last = now;
			cpus += !round;
		}
	sched_setaffinity(0, sizeof before, &before);
	if (cpus < 2) {
		selftest_say(r, SELFTEST_UNKNOWN, "this process may run on one CPU only");
		return;
	}
	selftest_say(r, back ? SELFTEST_FAILED : SELFTEST_PASSED,
		"20 rounds over %u CPUs: %u readings lay before one on another CPU", cpus, back);
}

/* Two threads read in turn. */
struct relay {
	unsigned turn;
	uint64_t last;
	unsigned back;
};

static void run_relay(struct relay *relay, unsigned mine)
{
	for (unsigned i = 0; i < HANDOVERS; i++) {
		for (unsigned looks = 0;
			__atomic_load_n(&relay->turn, __ATOMIC_ACQUIRE) % 2 != mine;)
			if (++looks % 1024 == 0)
				sched_yield();
		brick__counter_order();
		uint64_t now = brick_ticks();
		relay->back += now < relay->last;
		relay->last = now;
		__atomic_add_fetch(&relay->turn, 1, __ATOMIC_RELEASE);
	}
}

static void *other_runner(void *relay)
{
	run_relay(relay, 1);
	return NULL;
}

static void clock_over_threads(struct selftest_result *r)
{
	struct relay relay = {0, 0, 0};
	pthread_t thread;

	if (pthread_create(&thread, NULL, other_runner, &relay)) {
		selftest_say(r, SELFTEST_UNKNOWN, "a second thread cannot be had");
		return;
	}
	run_relay(&relay, 0);
	pthread_join(thread, NULL);
	selftest_say(r, relay.back ? SELFTEST_FAILED : SELFTEST_PASSED,
		"%u of %u readings lay before the other thread's before it", relay.back,
		2 * HANDOVERS);
}

/* Durations by our clock against durations by the system's, over a tenth of a second. */
static void clock_rate(struct selftest_result *r)
{
	const struct brick_clock *clock = brick_clock_get();
	double least = INFINITY; /* the others were interrupted */

	for (int i = 0; i < 5; i++) {
		uint64_t ns = monotonic_ns(), ticks = brick_ticks();
		while (monotonic_ns() - ns < 20000000)
			;
		uint64_t ns_after = monotonic_ns(), ticks_after = brick_ticks();
		double own = (double)brick_clock_duration_ns(clock, ticks_after - ticks);
		double off = fabs(own / (double)(ns_after - ns) - 1);
		least = fmin(least, off);
	}
	selftest_judge(
		r, least * 1e6, 1000, "ppm", "the difference of its durations from the system's");
}

const struct selftest selftest_clock[] = {
	{"F109", "the clock never runs back", clock_monotonic},
	{"F109b", "nor does it between threads", clock_over_threads},
	{"F150", "reading the CPU's counter takes less than 15 ns", counter_cost},
	{"F151", "the counter never runs back, on whatever CPU it is read", counter_over_cpus},
	{"rate", "a length in ticks is the length that the system's clock says", clock_rate},
};
const size_t selftest_clock_count = sizeof selftest_clock / sizeof *selftest_clock;
