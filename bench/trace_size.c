/* SPDX-License-Identifier: Apache-2.0 */
/* What a begin/end pair costs in the file, and how much CPU time the writer takes for it. */
#include <stdio.h>
#include <unistd.h>
#include "bench/trace_demo.h"

static void measure(const char *what, uint32_t layers, uint32_t lanes, int waits, int compress)
{
	static struct demo demo;
	struct demo_result result;
	char path[64];

	snprintf(path, sizeof path, "trace-size-%d.pftrace", (int)getpid());
	demo_init(&demo, layers);
	int error = demo_write(&demo, path, lanes, 2000000, waits, compress, &result);
	unlink(path);
	if (error) {
		fprintf(stderr, "%s: error %d\n", path, error);
		return;
	}
	printf("%-44s %6.2f bytes/pair %6.2f bytes/sample %6.1f ns/pair %6.1f ns/sample\n", what,
		(double)result.bytes / (double)result.pairs,
		(double)result.bytes / (double)result.samples,
		result.cpu_seconds * 1e9 / (double)result.pairs,
		result.cpu_seconds * 1e9 / (double)result.samples);
}

int main(void)
{
	measure("1 thread, plain", DEMO_LAYERS, 1, 0, 0);
	measure("1 thread, compressed", DEMO_LAYERS, 1, 0, 1);
	measure("2 threads with waits, plain", DEMO_LAYERS, 2, 1, 0);
	measure("2 threads with waits, compressed", DEMO_LAYERS, 2, 1, 1);
	measure("80 layers, 2 threads with waits, compressed", 80, 2, 1, 1);
	measure("160 layers, 2 threads with waits, compressed", 160, 2, 1, 1);
	return 0;
}
