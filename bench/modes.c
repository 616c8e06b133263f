/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sync modes cost: steps of an engine on the simulated device, each mode in turn within
 * every round, as ratios to mode none. The device runs a kernel per brick, and starts late after it
 * was idle, as devices do. So a mode that waits pays for the wait and for the start. The bench also
 * prints how far a mode's times are from what the device really did, and what a begin/end costs the
 * host without a device.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/backends/null/null_device.h"
#include "brick/brick.h"
#include "lib/sys/ticks.h"

enum { ROUNDS = 15, STEPS = 8, LAYERS = 16, BRICKS = 6, MODES = 4, SPANS = 2000 };

static const char *const mode_names[MODES] = {"deferred", "per-layer", "immediate", "none"};
static const uint64_t kernel_ns[BRICKS] = {8000, 30000, 20000, 25000, 60000, 40000};

struct bench {
	struct brick_null *sim;
	struct brick_device *device;
	double step_ns[MODES][ROUNDS];
	double error_share[MODES][ROUNDS]; /* of the mean length of a brick */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double ranked(const double *values, int rank)
{
	double sorted[ROUNDS];

	memcpy(sorted, values, sizeof sorted);
	qsort(sorted, ROUNDS, sizeof *sorted, by_value);
	return sorted[rank];
}

static double median(const double *values)
{
	return ranked(values, ROUNDS / 2);
}

/* What the machine does when nobody else wants it. */
static double best(const double *values)
{
	return ranked(values, 0);
}

static void run_step(struct bench *b)
{
	for (int layer = 0; layer < LAYERS; layer++) {
		for (uint32_t i = 0; i < BRICKS; i++) {
			brick_device_span span = brick_device_begin(b->device, NULL, i, layer);
			brick_null_submit(b->sim, NULL, kernel_ns[i]);
			brick_device_end(b->device, NULL, span, 0, 0, 0);
		}
		brick_device_layer_end(b->device, NULL);
	}
}

/* The engine itself waits once a step, for its token. */
static double run_steps(struct bench *b)
{
	uint64_t begin = brick__monotonic_ns();

	for (int i = 0; i < STEPS; i++) {
		run_step(b);
		brick_device_finish(b->device);
	}
	return (double)(brick__monotonic_ns() - begin) / STEPS;
}

/* How far off a brick's mean length as recorded is, of what its kernel took: median of bricks. */
static double share_of_error(void)
{
	double shares[BRICKS];

	for (int i = 0; i < BRICKS; i++) {
		struct brick_stats stats = BRICK_STATS_INIT;
		if (brick_device_stats_get(i, &stats))
			return NAN;
		shares[i] = fabs(
			(double)stats.total_ns / (double)stats.count / (double)kernel_ns[i] - 1);
	}
	qsort(shares, BRICKS, sizeof *shares, by_value);
	return (shares[BRICKS / 2 - 1] + shares[BRICKS / 2]) / 2;
}

static void run_mode(struct bench *b, uint32_t mode, int round)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;

	options.mode = mode;
	if (brick_session_start(&options) < 0)
		exit(4);
	b->step_ns[mode][round] = run_steps(b);
	b->error_share[mode][round] = share_of_error();
	brick_session_stop();
}

static void open_bench(struct bench *b)
{
	struct brick_backend_options options = {.size = sizeof options};
	struct brick_null_config config = BRICK_NULL_CONFIG_INIT;

	config.rate_ppb = 20000;
	config.latency_ns = 8000;
	config.completion_ns = 4000;
	if (brick_null_create(&b->sim, &config) < 0)
		exit(4);
	options.native[0] = b->sim;
	if (brick_device_open(&b->device, brick_backend_find("null"), &options, NULL, 0) < 0)
		exit(4);
}

static void print_modes(const struct bench *b)
{
	double none = median(b->step_ns[BRICK_MODE_NONE]),
	       least = best(b->step_ns[BRICK_MODE_NONE]);

	printf("a step of %d bricks on the simulated device, best and median of %d rounds\n",
		LAYERS * BRICKS, ROUNDS);
	for (int mode = 0; mode < MODES; mode++) {
		const double *ns = b->step_ns[mode];
		printf("  %-10s %8.1f us  %5.3f of none  %8.1f us  %5.3f of none", mode_names[mode],
			best(ns) / 1000, best(ns) / least, median(ns) / 1000, median(ns) / none);
		if (mode != BRICK_MODE_NONE)
			printf("   brick times off by %5.2f %% of the kernels'",
				100 * median(b->error_share[mode]));
		printf("\n");
	}
}

static double time_spans(struct brick_device *device)
{
	uint64_t begin = brick__monotonic_ns();

	for (int i = 0; i < SPANS; i++)
		brick_device_end(device, NULL, brick_device_begin(device, NULL, 1, 0), 0, 0, 0);
	return (double)(brick__monotonic_ns() - begin) / SPANS;
}

/* The host's side alone: everything but a driver. */
static void print_host_side(void)
{
	static const char *const names[] = {"off", "cpu", "null"};
	double ns[3][ROUNDS], floor[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		volatile uint64_t sink;
		uint64_t begin = brick__monotonic_ns();
		for (int i = 0; i < SPANS; i++)
			sink = brick__now() - brick__now();
		(void)sink;
		floor[round] = (double)(brick__monotonic_ns() - begin) / SPANS;
		for (int i = 0; i < 3; i++) {
			struct brick_device *device;
			if (brick_device_open(&device, brick_backend_find(i == 2 ? "null" : "cpu"),
				    NULL, NULL, 0) < 0)
				exit(4);
			if (i)
				brick_session_start(NULL);
			time_spans(device);
			ns[i][round] = time_spans(device);
			brick_device_finish(device);
			brick_device_close(device);
			if (i)
				brick_session_stop();
		}
	}
	printf("a begin/end on the host; floor = two readings of the clock = %.1f ns\n",
		median(floor));
	for (int i = 0; i < 3; i++)
		printf("  %-10s %8.1f ns  %6.2f of the floor\n", names[i], median(ns[i]),
			median(ns[i]) / median(floor));
}

int main(void)
{
	static struct bench bench;

	brick_clock_get();
	open_bench(&bench);
	for (int round = 0; round < ROUNDS; round++)
		for (uint32_t k = 0; k < MODES; k++)
			run_mode(&bench, (k + (uint32_t)round) % MODES, round);
	print_modes(&bench);
	brick_device_close(bench.device);
	brick_null_destroy(bench.sim);
	print_host_side();
	return 0;
}
