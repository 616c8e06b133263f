/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a CUDA program that embeds Brick may do beside timing bricks, for runs under `brick record`:
 * every kernel of its own is to be told once, by whoever times it. Runs on the double of the driver
 * and on a real one. Exit 1: something failed, 77: no driver.
 *
 *   cuda_embed timer     ten kernels, each between a start and an end of a timer
 *   cuda_embed closed    a brick with a kernel, the device is closed, ten kernels
 *   cuda_embed graph     a replay that is refused, and ten kernels in its stream
 *   cuda_embed capture   in every mode, bricks in a stream that is captured, and the replay of that
 */
#include <stdlib.h>
#include "brick/brick.h"
#include "brick/cuda.h"
#include "brick/device.h"
#include "tests/programs/cuda_kit.h"

enum { KERNELS = 10 };

static address x;
static void *stream;

static void expect(int is_right, const char *what)
{
	if (!is_right)
		printf("FAIL %s\n", what);
	failures += !is_right;
}

static struct brick_device *open_device(void)
{
	const struct brick_backend_options options = {.size = sizeof options, .native = {context}};
	struct brick_device *device = NULL;
	char why[256] = "";

	if (brick_device_open(&device, brick_backend_find("cuda"), &options, why, sizeof why)) {
		puts(why);
		exit(1);
	}
	return device;
}

static void launch_kernels(void)
{
	for (int i = 0; i < KERNELS; i++)
		launch_scale(x, i % 2 ? 2.0f : 0.5f, stream);
	check(cu.stream_sync(stream), "sync");
}

static brick_device_span time_kernel(struct brick_device *device)
{
	brick_device_span span = brick_device_begin(device, stream, BRICK_RMS_NORM, 0);

	launch_scale(x, 1.0f, stream);
	brick_device_end(device, stream, span, N, 0, 0);
	return span;
}

static void run_timer(void)
{
	struct brick_device *device = open_device();
	struct brick_timer *timer = NULL;
	uint64_t ns;

	expect(!brick_timer_create(&timer, device), "timer");
	for (int i = 0; i < KERNELS; i++) {
		brick_timer_start(timer, stream);
		launch_scale(x, 1.0f, stream);
		brick_timer_stop(timer, stream);
		check(cu.stream_sync(stream), "sync");
		while (brick_timer_elapsed_ns(timer, &ns))
			;
	}
	brick_timer_destroy(timer);
	brick_device_close(device);
}

static void run_closed(void)
{
	struct brick_device *device = open_device();

	time_kernel(device);
	expect(brick_device_finish(device) == 1, "the brick");
	brick_device_close(device);
	launch_kernels();
}

/* A replay of a graph that was not timed is refused: the program launches it itself. */
static void run_graph(void)
{
	struct brick_cuda_graph *timed = NULL;
	void *graph, *other, *exec;

	expect(!brick_cuda_graph_create(&timed, context, 0), "timed graph");
	check(cu.capture(stream, 2), "capture");
	expect(!brick_cuda_graph_begin(timed, stream, BRICK_RMS_NORM, 0), "begin");
	launch_scale(x, 1.0f, stream);
	expect(!brick_cuda_graph_end(timed, stream, N, 0, 0), "end");
	check(cu.end_capture(stream, &graph), "end capture");
	check(cu.capture(stream, 2), "capture");
	launch_scale(x, 1.0f, stream);
	check(cu.end_capture(stream, &other), "end capture");
	check(cu.instantiate(&exec, other, 0), "instantiate");
	expect(brick_cuda_graph_launch(timed, exec, stream) < 0, "it is refused");
	launch_kernels();
	brick_cuda_graph_destroy(timed);
	check(cu.exec_destroy(exec), "destroy");
	check(cu.graph_destroy(graph), "destroy");
	check(cu.graph_destroy(other), "destroy");
}

static void run_capture(void)
{
	static const uint32_t modes[] = {
		BRICK_MODE_DEFERRED, BRICK_MODE_PER_LAYER, BRICK_MODE_IMMEDIATE};
	struct brick_device *device = open_device();
	void *graph, *exec;

	for (int i = 0; i < 3; i++) {
		brick_device_mode_set(device, modes[i]);
		check(cu.capture(stream, 2), "capture");
		expect(!time_kernel(device), "it is refused");
		brick_device_layer_end(device, stream);
		expect(brick_device_finish(device) >= 0, "finish");
		check(cu.end_capture(stream, &graph), "end capture");
		check(cu.instantiate(&exec, graph, 0), "instantiate");
		check(cu.replay(exec, stream), "replay");
		check(cu.stream_sync(stream), "sync");
		check(cu.exec_destroy(exec), "destroy");
		check(cu.graph_destroy(graph), "destroy");
	}
	brick_device_close(device);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!open_driver()) {
		fputs("no CUDA driver\n", stderr);
		return 77;
	}
	start();
	x = buffer(1);
	check(cu.stream(&stream, 0), "stream"); /* the default stream waits for it */
	if (!strcmp(what, "timer"))
		run_timer();
	else if (!strcmp(what, "closed"))
		run_closed();
	else if (!strcmp(what, "graph"))
		run_graph();
	else
		run_capture();
	return failures != 0;
}
