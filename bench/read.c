/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a recording of ten million samples (or as many as the argument says): seconds, and the
 * memory that the reading process needed at most. The recording is made by another process, so
 * that its memory does not count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock_ns.h"
#include "base/number.h"
#include "bench/trace_demo.h"
#include "trace/load.h"

static double seconds(clockid_t id)
{
	return 1e-9 * (double)clock_ns(id);
}

static int make(const char *path, uint64_t samples)
{
	static struct demo demo;
	struct demo_result result;

	demo_init(&demo, DEMO_LAYERS);
	int error = demo_write(&demo, path, 1, samples, 0, 1, &result);
	if (!error)
		printf("written: %llu samples, %.1f MB, %.2f bytes/pair, %.1f ns/pair\n",
			(unsigned long long)result.samples, (double)result.bytes / 1e6,
			(double)result.bytes / (double)result.pairs,
			result.cpu_seconds * 1e9 / (double)result.pairs);
	fflush(stdout);
	return error;
}

static int read_it(const char *path)
{
	struct run *run;
	struct load_error error;
	struct rusage usage;
	double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	int result = run_load(&run, path, &error);

	wall = seconds(CLOCK_MONOTONIC) - wall;
	cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	if (result) {
		fprintf(stderr, "%s at %llu: %s\n", path, (unsigned long long)error.offset,
			error.text);
		return result;
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("read: %zu samples, %zu steps in %.2f s (%.2f s of CPU time), %.0f MB at most\n",
		run->lanes[0].sample_count, run->step_count, wall, cpu,
		(double)usage.ru_maxrss / 1024);
	run_destroy(run);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t samples = 10000000;
	char path[64];
	int status = 1;

	if (argc > 1 && number_u64(argv[1], 1, UINT32_MAX, &samples)) {
		fprintf(stderr, "bench-read: %s: not a number of samples\n", argv[1]);
		return 2;
	}
	snprintf(path, sizeof path, "trace-read-%d.pftrace", (int)getpid());
	pid_t child = fork();
	if (!child)
		_exit(make(path, samples) ? 1 : 0);
	if (child > 0 && waitpid(child, &status, 0) == child && !status)
		status = read_it(path) != 0;
	unlink(path);
	return status != 0;
}
