/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one begin/end pair costs here and now: batches of pairs on a lane of their own, which is
 * thrown away. Reports multiply it by the number of executions to state their own distortion.
 */
#include <stdlib.h>
#include "lib/pair_cost.h"
#include "lib/sys/ticks.h"
#include "lib/thread.h"

enum { BATCHES = 48, PAIRS = 64, RING = 4096 };

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void run_batches(uint64_t *cost)
{
	for (int i = 0; i < BATCHES; i++) {
		brick__thread.lane->limit = brick__thread.lane->head + PAIRS + 1;
		uint64_t begin = brick__now();
		for (int k = 0; k < PAIRS; k++)
			brick__end(brick__begin(BRICK_EMBEDDING));
		cost[i] = ((brick__now() - begin) << 8) / PAIRS;
	}
}

void brick__pair_cost_measure(struct brick_session_header *header)
{
	struct brick__thread self = brick__thread;
	struct brick_lane *lane = calloc(1, sizeof *lane);
	struct brick_record *ring = calloc(RING, sizeof *ring);
	uint32_t on = brick__on;
	uint64_t cost[BATCHES];

	if (lane && ring) {
		lane->capacity = RING;
		brick__thread = (struct brick__thread){
			.lane = lane, .ring = ring, .mask = RING - 1, .serial = on, .tag = on << 8};
		run_batches(cost);
		brick__thread = self;
		qsort(cost, BATCHES, sizeof *cost, by_value);
		header->pair_cost_low = cost[BATCHES / 4];
		header->pair_cost = cost[BATCHES / 2];
		header->pair_cost_high = cost[3 * BATCHES / 4];
	}
	free(lane);
	free(ring);
}
