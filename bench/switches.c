/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads pay for the records of their times off the CPU: measured as a recording measures it
 * at its end (src/record/switch_records.h), or of a running process, for which the records are on
 * and off in turns (bench/switches.py asks for that and times the process).
 *
 *   bench-switches [BLOCKS]
 *   bench-switches PID MS     record them every other MS, and not between, until PID ends;
 *                             a line for each change: when it began and ended (ns, CLOCK_REALTIME),
 *                             1 or 0: recorded from then on, and how many switches so far
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock_ns.h"
#include "brick/error.h"
#include "lib/drain/off_cpu.h"
#include "record/switch_records.h"

enum { MAX_BLOCKS = 100000, READ_MS = 20 };

static int measure(int blocks)
{
	static double more_ns[MAX_BLOCKS];

	blocks = blocks < 4 ? 4 : blocks > MAX_BLOCKS ? MAX_BLOCKS : blocks;
	int error = switch_cost_measure(more_ns, blocks);
	if (error)
		return error;
	printf("recording a time off the CPU: %.0f ns at the lower quartile, %.0f in the middle, "
	       "%.0f at the upper quartile\n",
		more_ns[blocks / 4], more_ns[blocks / 2], more_ns[blocks * 3 / 4]);
	return 0;
}

static void forget(void *context, const struct off_cpu *interval)
{
	(void)context;
	(void)interval;
}

static uint64_t realtime_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The rings are emptied as the recorder does it. */
static void wait_ms(struct off_cpu_recorder *r, int ms)
{
	for (; ms > 0; ms -= READ_MS) {
		int this_ms = ms < READ_MS ? ms : READ_MS;
		nanosleep(&(struct timespec){.tv_nsec = this_ms * 1000000L}, NULL);
		off_cpu_read(r, monotonic_ns(), forget, NULL);
	}
}

static int change(struct off_cpu_recorder *r, pid_t pid, int on)
{
	uint64_t begin_ns = realtime_ns();
	int error = 0;

	if (on)
		error = off_cpu_resume(r, &pid, 1);
	else
		off_cpu_stop(r);
	printf("%" PRIu64 " %" PRIu64 " %d %" PRIu64 "\n", begin_ns, realtime_ns(), on && !error,
		off_cpu_seen(r));
	return error;
}

static int record_in_turns(pid_t pid, int ms)
{
	struct off_cpu_recorder *r;
	int error = off_cpu_create(&r, pid);

	if (error)
		return error;
	for (int on = 0; !error; on = !on) {
		error = change(r, pid, on);
		wait_ms(r, ms);
	}
	off_cpu_destroy(r);
	return error == -ESRCH ? 0 : error;
}

int main(int argc, char **argv)
{
	int error = argc > 2 ? record_in_turns(atoi(argv[1]), atoi(argv[2]))
			     : measure(argc > 1 ? atoi(argv[1]) : 400);

	if (error)
		fprintf(stderr, "bench-switches: %s\n", brick_strerror(error));
	return error ? 77 : 0;
}
