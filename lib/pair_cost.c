/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one begin/end pair costs here and now: pairs on a lane of their own, which is thrown away.
 * Reports multiply it by the number of executions to state their own distortion. Batches of pairs
 * say what it costs while its data stay in the caches; single pairs behind a memset that went
 * through them, what it costs between bricks that stream.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/pair_cost.h"
#include "lib/sys/ticks.h"
#include "lib/thread.h"

enum { BATCHES = 48, PAIRS = 64, RING = 4096, STREAMED = 20, STREAM_BYTES = 2 << 20 };

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

/* The upper quartile of one pair behind STREAM_BYTES, less that of none; 0: no memory. */
static uint64_t run_streamed(void)
{
	uint64_t cost[STREAMED], none[STREAMED];
	char *bytes = malloc(STREAM_BYTES);

	if (!bytes)
		return 0;
	memset(bytes, 1, STREAM_BYTES); /* its page faults evict nothing later on */
	for (int i = 0; i < STREAMED; i++) {
		brick__thread.lane->limit = brick__thread.lane->head + 2;
		memset(bytes, i, STREAM_BYTES);
		uint64_t begin = brick__now();
		brick__end(brick__begin(BRICK_EMBEDDING));
		uint64_t end = brick__now();
		none[i] = brick__now() - end;
		cost[i] = end - begin;
		__asm__ volatile("" : : "r"(bytes) : "memory");
	}
	free(bytes);
	qsort(cost, STREAMED, sizeof *cost, by_value);
	qsort(none, STREAMED, sizeof *none, by_value);
	uint64_t high = cost[3 * STREAMED / 4], least = none[STREAMED / 2];
	return high > least ? (high - least) << 8 : 0;
}

void brick__pair_cost_measure(struct brick_session_header *header)
{
	struct brick__thread self = brick__thread;
	struct brick_lane *lane = calloc(1, sizeof *lane);
	struct brick_record *ring = calloc(RING, sizeof *ring);
	uint32_t on = brick__on;
	static uint64_t streamed; /* measured once: it takes 2 ms */
	uint64_t cost[BATCHES];

	if (lane && ring) {
		lane->capacity = RING;
		brick__thread = (struct brick__thread){
			.lane = lane, .ring = ring, .mask = RING - 1, .serial = on, .tag = on << 8};
		run_batches(cost);
		if (!streamed)
			streamed = run_streamed();
		brick__thread = self;
		qsort(cost, BATCHES, sizeof *cost, by_value);
		header->pair_cost_low = cost[BATCHES / 4];
		header->pair_cost = cost[BATCHES / 2];
		uint64_t warm = cost[3 * BATCHES / 4];
		header->pair_cost_high = warm > streamed ? warm : streamed;
	}
	free(lane);
	free(ring);
}
