/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA program that embeds Brick: bricks, timers and timed graphs on events of the driver, each
 * held against events that the program records itself around the same work. Prints one line per
 * check; exit 1: one was wrong, 77: no driver. Runs on the double and on a real one (tests/gpu).
 */
#include <stdlib.h>
#include <unistd.h>
#include "brick/brick.h"
#include "brick/cuda.h"
#include "brick/device.h"
#include "tests/programs/cuda_kit.h"

enum { ROUNDS = 200, LAYERS = 4, REPLAYS = 40, LAUNCHES = 20 };

static void expect(int is_right, const char *what, double found, double wanted)
{
	printf("%s %s: %.3f, the program's own events say %.3f\n", is_right ? "ok  " : "FAIL", what,
		found, wanted);
	failures += !is_right;
}

/* Ours lie inside of the program's own, and hold at least half of it: kernels, not launches. */
static int is_inside(double brick_us, double own_us)
{
	return brick_us >= own_us / 2 && brick_us <= own_us + 1;
}

static double own_ms(void *from, void *to)
{
	float ms = 0;

	check(cu.event_sync(to), "event sync");
	check(cu.elapsed(&ms, from, to), "elapsed");
	return ms;
}

static double mean_us(int brick, uint64_t *count)
{
	struct brick_stats stats = BRICK_STATS_INIT;

	if (brick_device_stats_get(brick, &stats) < 0)
		stats.count = 0;
	*count = stats.count;
	return stats.count ? (double)stats.total_ns / (double)stats.count / 1e3 : 0;
}

static struct brick_device *open_device(void)
{
	struct brick_device *device = NULL;
	char why[256] = "";
	const struct brick_backend_options options = {.size = sizeof options, .native = {context}};
	int error =
		brick_device_open(&device, brick_backend_find("cuda"), &options, why, sizeof why);

	if (error)
		printf("FAIL device: %s: %s\n", brick_strerror(error), why);
	failures += error != 0;
	return device;
}

/* Our events lie outside of Brick's, so that they take longer: by records of events, a few us. */
static void time_bricks(struct brick_device *device, address x, void *stream)
{
	void *from, *to;
	double sum_ms = 0;
	uint64_t count;

	check(cu.event(&from, 0), "event");
	check(cu.event(&to, 0), "event");
	for (int i = 0; i < ROUNDS; i++) {
		check(cu.record(from, stream), "record");
		brick_device_span span = brick_device_begin(device, stream, BRICK_RMS_NORM, i % 8);
		for (int k = 0; k < LAUNCHES; k++)
			launch_scale(x, k % 2 ? 2.0f : 0.5f, stream);
		brick_device_end(device, stream, span, N, 2 * N * sizeof(float), N);
		check(cu.record(to, stream), "record");
		sum_ms += own_ms(from, to);
		if (i + 1 < ROUNDS)
			brick_device_drain(device);
	}
	brick_device_finish(device); /* waits: as far as it knows the last one is on its way */
	double brick_us = mean_us(BRICK_RMS_NORM, &count), own_us = sum_ms * 1e3 / ROUNDS;
	expect(count == ROUNDS, "bricks", (double)count, ROUNDS);
	expect(is_inside(brick_us, own_us), "us in a brick", brick_us, own_us);
	check(cu.event_destroy(from), "destroy");
	check(cu.event_destroy(to), "destroy");
}

static void time_with_timer(struct brick_device *device, address x, void *stream)
{
	struct brick_timer *timer = NULL;
	uint64_t ns = 0;
	void *from, *to;

	check(cu.event(&from, 0), "event");
	check(cu.event(&to, 0), "event");
	failures += brick_timer_create(&timer, device) != 0;
	expect(brick_timer_elapsed_ns(timer, &ns) < 0, "error before it has started", 1, 1);
	check(cu.record(from, stream), "record");
	brick_timer_start(timer, stream);
	for (int i = 0; i < LAUNCHES; i++)
		launch_scale(x, i % 2 ? 2.0f : 0.5f, stream);
	brick_timer_stop(timer, stream);
	check(cu.record(to, stream), "record");
	double own_us = own_ms(from, to) * 1e3;
	int error = brick_timer_elapsed_ns(timer, &ns);
	expect(!error && is_inside((double)ns / 1e3, own_us), "us of a timer", (double)ns / 1e3,
		own_us);
	brick_timer_destroy(timer);
	check(cu.event_destroy(from), "destroy");
	check(cu.event_destroy(to), "destroy");
}

static void capture(struct brick_cuda_graph *timed, address x, address y, void *stream)
{
	for (int i = 0; i < LAYERS; i++) {
		failures += brick_cuda_graph_begin(timed, stream, BRICK_QKV_PROJECTION, i) != 0;
		launch_scale(x, 0.5f, stream);
		launch_add(x, y, stream);
		failures += brick_cuda_graph_end(timed, stream, N, 0, 0) != 0;
	}
}

/* All replays are in flight before one is read. */
static void time_graph(address x, address y, void *stream)
{
	struct brick_cuda_graph *timed = NULL;
	void *graph, *exec, *from, *to;
	uint64_t count;

	check(cu.event(&from, 0), "event");
	check(cu.event(&to, 0), "event");
	failures += brick_cuda_graph_create(&timed, context, 0) != 0;
	check(cu.capture(stream, 2), "capture");
	capture(timed, x, y, stream);
	check(cu.end_capture(stream, &graph), "end capture");
	check(cu.instantiate(&exec, graph, 0), "instantiate");
	check(cu.record(from, stream), "record");
	for (int i = 0; i < REPLAYS; i++)
		failures += brick_cuda_graph_launch(timed, exec, stream) != 0;
	check(cu.record(to, stream), "record");
	double own_us = own_ms(from, to) * 1e3;
	usleep(1000);
	int recorded = brick_cuda_graph_drain(timed);
	double brick_us = mean_us(BRICK_QKV_PROJECTION, &count) * (double)count;
	expect(recorded == LAYERS * REPLAYS, "bricks of replays", recorded, LAYERS * REPLAYS);
	/* between replays the device is told of the next one's events */
	expect(brick_us >= own_us / 4 && brick_us <= own_us + 1, "us in bricks of replays",
		brick_us, own_us);
	brick_cuda_graph_destroy(timed);
	check(cu.exec_destroy(exec), "destroy");
	check(cu.graph_destroy(graph), "destroy");
	check(cu.event_destroy(from), "destroy");
	check(cu.event_destroy(to), "destroy");
}

int main(int argc, char **argv)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	void *stream = NULL;

	if (!open_driver()) {
		fputs("no CUDA driver\n", stderr);
		return 77;
	}
	start();
	options.output = argc > 1 ? argv[1] : NULL;
	failures += brick_session_start(&options) != 0;
	address x = buffer(1), y = buffer(2);
	check(cu.stream(&stream, 1), "stream");
	struct brick_device *device = open_device();
	if (device) {
		time_bricks(device, x, stream);
		time_with_timer(device, x, stream);
		brick_device_close(device);
		time_graph(x, y, stream);
	}
	failures += brick_session_stop() != 0;
	return failures != 0;
}
