/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peer beside bench-probe: a pair of LTTng-UST tracepoints and a begin/end pair of Brick's, in
 * one process and one run, as ratios to two readings of the counter. bench/peer/lttng.sh runs it in
 * a tracing session of its own; without one the tracepoints are off, and it says so.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/peer/lttng_tracepoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <string.h>
#include "brick/brick.h"
#include "lib/sys/ticks.h"

enum { PAIRS = 20000, ROUNDS = 41 };

enum variant { EMPTY, FLOOR, BRICK, LTTNG, VARIANTS };

static double time_loop(enum variant v)
{
	volatile uint64_t sink;
	uint64_t begin = brick__monotonic_ns();

	for (int i = 0; i < PAIRS; i++) {
		if (v == FLOOR) {
			uint64_t t = brick__counter();
			__asm__ __volatile__("" : : : "memory");
			sink = brick__counter() - t;
		} else if (v == BRICK) {
			brick_span span = brick_begin(BRICK_RMS_NORM);
			__asm__ __volatile__("" : : : "memory");
			brick_end(span);
		} else if (v == LTTNG) {
			lttng_ust_tracepoint(brick_peer, begin, i);
			__asm__ __volatile__("" : : : "memory");
			lttng_ust_tracepoint(brick_peer, end, i);
		} else {
			__asm__ __volatile__("" : : : "memory");
		}
	}
	(void)sink;
	return (double)(brick__monotonic_ns() - begin) / PAIRS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(void)
{
	static double results[VARIANTS][ROUNDS];
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	const struct timespec settle = {.tv_nsec = 20000000};

	char room[] = "/dev/shm/brick-peer-XXXXXX", recording[64];

	if (!mkdtemp(room))
		return 4;
	snprintf(recording, sizeof recording, "%s/peer.pftrace", room);
	options.output = recording;
	options.ring_records = 1 << 20;
	options.interval_ms = 5;
	if (brick_session_start(&options) < 0)
		return 4;
	for (int round = -1; round < ROUNDS; round++)
		for (int i = 0; i < VARIANTS; i++) { /* another order in each round */
			int v = (i * (round % 2 ? 1 : VARIANTS - 1) + round + 1) % VARIANTS;
			double ns = time_loop((enum variant)v);
			nanosleep(&settle, NULL); /* for either's consumer to have done */
			if (round >= 0)
				results[v][round] = ns;
		}
	struct brick_losses losses = BRICK_LOSSES_INIT;
	brick_losses_get(&losses);
	brick_session_stop();
	remove(options.output);
	for (int v = 0; v < VARIANTS; v++)
		qsort(results[v], ROUNDS, sizeof(double), by_value);
	double empty = results[EMPTY][ROUNDS / 2], floor = results[FLOOR][ROUNDS / 2] - empty;
	double lttng = results[LTTNG][ROUNDS / 2] - empty;
	double brick = results[BRICK][ROUNDS / 2] - empty;
	printf("floor = two TSC reads %.1f ns; Brick, recording, %.1f ns (%.2f; %llu dropped); "
	       "LTTng-UST %s, %.1f ns (%.2f)\n",
		floor, brick, brick / floor, (unsigned long long)losses.dropped,
		lttng_ust_tracepoint_enabled(brick_peer, begin) ? "recording" : "off (no session)",
		lttng, lttng / floor);
	remove(recording);
	return remove(room);
}
