/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs a thread that its times off the CPU are recorded, for each of them, as a recording
 * measures it at its end (record/switch_cost.h).
 *
 *   bench-switches [BLOCKS]
 */
#include <stdio.h>
#include <stdlib.h>
#include "brick/error.h"
#include "record/switch_cost.h"

enum { MAX_BLOCKS = 100000 };

int main(int argc, char **argv)
{
	static double more_ns[MAX_BLOCKS];
	int blocks = argc > 1 ? atoi(argv[1]) : 400;

	blocks = blocks < 4 ? 4 : blocks > MAX_BLOCKS ? MAX_BLOCKS : blocks;
	int error = switch_cost_measure(more_ns, blocks);
	if (error) {
		fprintf(stderr, "bench-switches: %s\n", brick_strerror(error));
		return 77;
	}
	printf("recording a time off the CPU: %.0f ns at the lower quartile, %.0f in the middle, "
	       "%.0f at the upper quartile\n",
		more_ns[blocks / 4], more_ns[blocks / 2], more_ns[blocks * 3 / 4]);
	return 0;
}
