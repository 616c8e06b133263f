/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a recording of as many samples as asked for, made up as bench/trace_demo.h does: for tests
 * of how the page and the server cope with a long run.
 *
 *   program-demo_recording OUTPUT SAMPLES [LAYERS [THREADS]]   several wait behind each node
 */
#include <stdio.h>
#include <stdlib.h>
#include "bench/trace_demo.h"

int main(int argc, char **argv)
{
	static struct demo demo;
	struct demo_result result;
	uint32_t threads = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 1;

	if (argc < 3 || !threads || threads > 16)
		return 2;
	demo_init(&demo, argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : DEMO_LAYERS);
	return demo_write(&demo, argv[1], threads, strtoull(argv[2], NULL, 10), threads > 1, 1,
		       &result) != 0;
}
