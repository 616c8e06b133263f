/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA program for tests: two kernels, copies and fills, with bricks of its own around its
 * launches. Runs on the double of the driver and on a real one (tests/gpu). What it prints depends
 * on its arguments alone.
 *
 *   cuda_work plain|graph|paced|streams|events|many|early|threads|starting|pause|contexts|
 *             devices|refused [COUNT]
 *
 * CUDA_WORK_PAUSE: seconds that "paced" pauses. With CUDA_WORK_TIME in the environment it also says
 * on stderr how long it took from its first launch on; with CUDA_WORK_EVENTS=FILE "many" and
 * "graph" time their launches themselves, by events, into a recording of their own.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "brick/cuda.h"
#include "brick/device.h"
#include "tests/programs/cuda_layers.h"

static void run_plain(int count)
{
	address x = buffer(1), y = buffer(2);

	for (int i = 0; i < count; i++) {
		brick_span step = brick_step_begin(BRICK_PHASE_DECODE, 1);
		layer(x, y, NULL, 0);
		layer(x, y, NULL, 1);
		check(cu.context_sync(), "sync");
		brick_end(step);
	}
	check(cu.fill(y, 0x3f800000, N, NULL), "fill");
	print_sum(x);
	print_sum(y);
	check(cu.release(x), "free");
	check(cu.release(y), "free");
}

static struct brick_device *device; /* with CUDA_WORK_EVENTS */
static struct brick_cuda_graph *timed;

static void start_events(const char *file)
{
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	const struct brick_backend_options native = {
		.size = sizeof native, .native = {context}, .pairs = 32768};
	char why[256] = "";

	options.output = file;
	if (brick_session_start(&options) < 0 ||
		brick_device_open(&device, brick_backend_find("cuda"), &native, why, sizeof why) <
			0 ||
		brick_cuda_graph_create(&timed, context, 65536) < 0) {
		fprintf(stderr, "events: %s\n", why);
		failures++;
	}
}

static void finish_events(void)
{
	brick_device_finish(device);
	brick_device_close(device);
	brick_cuda_graph_drain(timed);
	brick_cuda_graph_destroy(timed);
	failures += brick_session_stop() != 0;
}

/* One launch of a graph; timed by events if that was asked for. */
static int replay(void *exec, void *stream)
{
	int error;

	if (!timed)
		return cu.replay(exec, stream);
	while ((error = brick_cuda_graph_launch(timed, exec, stream)) == -EAGAIN)
		brick_cuda_graph_drain(timed);
	return error;
}

static void layer_of_graph(address x, address y, void *stream, int index)
{
	if (timed)
		failures += brick_cuda_graph_begin(timed, stream, BRICK_RMS_NORM, index) != 0;
	layer(x, y, stream, index);
	if (timed)
		failures += brick_cuda_graph_end(timed, stream, 0, 0, 0) != 0;
}

/* Captured once; replayed with other bricks open than at capture. */
static void run_graph(int count)
{
	address x = buffer(1), y = buffer(2);
	void *stream, *graph, *exec;

	check(cu.stream(&stream, 1), "stream");
	check(cu.capture(stream, 2), "capture");
	layer_of_graph(x, y, stream, 3);
	layer_of_graph(x, y, stream, 4);
	check(cu.end_capture(stream, &graph), "end capture");
	check(cu.instantiate(&exec, graph, 0), "instantiate");
	for (int i = 0; i < count; i++) {
		brick_span span = brick_begin(BRICK_LM_HEAD);
		check(replay(exec, stream), "replay");
		brick_end(span);
	}
	check(cu.stream_sync(stream), "sync");
	print_sum(x);
	check(cu.exec_destroy(exec), "destroy");
	check(cu.graph_destroy(graph), "destroy");
	check(cu.stream_destroy(stream), "destroy");
}

/* Replays of a graph of its own; after some a pause, in which a recorder can look at them. */
static void *replay_paced(void *count)
{
	enum { BEFORE = 10 };
	const char *pause = getenv("CUDA_WORK_PAUSE");
	void *stream, *graph, *exec;

	check(cu.context_set(context), "current");
	address x = buffer(1), y = buffer(2);
	check(cu.stream(&stream, 1), "stream");
	check(cu.capture(stream, 2), "capture");
	layer(x, y, stream, 3);
	layer(x, y, stream, 4);
	check(cu.end_capture(stream, &graph), "end capture");
	check(cu.instantiate(&exec, graph, 0), "instantiate");
	for (int i = 0; i < *(int *)count; i++) {
		brick_span span = brick_begin(BRICK_LM_HEAD);
		check(cu.replay(exec, stream), "replay");
		brick_end(span);
		check(cu.stream_sync(stream), "sync");
		if (i + 1 == BEFORE && pause)
			sleep((unsigned)atoi(pause));
	}
	return NULL;
}

static void run_paced(int count)
{
	enum { THREADS = 3 };
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, replay_paced, &count);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("paced");
}

/* A graph that cannot be made executable; then as always. */
static void run_refused(int count)
{
	address x = buffer(1);
	void *stream, *graph, *exec;

	check(cu.stream(&stream, 1), "stream");
	check(cu.capture(stream, 2), "capture");
	launch_scale(x, 1.0f, stream);
	check(cu.end_capture(stream, &graph), "end capture");
	if (!cu.instantiate(&exec, graph, 0))
		check(cu.exec_destroy(exec), "destroy");
	check(cu.graph_destroy(graph), "destroy");
	run_graph(count);
}

/* The context goes away while its device is at work. */
static void run_early(int count)
{
	address x = buffer(1);

	for (int i = 0; i < count; i++)
		launch_scale(x, 2.0f, NULL);
	check(cu.context_destroy(context), "destroy");
	puts("destroyed");
}

static void run_streams(int count)
{
	enum { STREAMS = 4 };
	address x[STREAMS], y = buffer(1);
	void *streams[STREAMS];

	for (int i = 0; i < STREAMS; i++) {
		x[i] = buffer((float)i);
		check(cu.stream(&streams[i], 1), "stream");
	}
	for (int i = 0; i < count; i++)
		layer(x[i % STREAMS], y, streams[i % STREAMS], i % STREAMS);
	for (int i = 0; i < STREAMS; i++) {
		check(cu.stream_sync(streams[i]), "sync");
		print_sum(x[i]);
	}
}

/* The event stands for what the stream was given; the other stream goes on behind that. */
static void go_on_behind(void *stream, void *event, void *other)
{
	check(cu.record(event, stream), "record");
	check(cu.wait_event(other, event, 0), "wait");
}

/*
 * A norm in one stream, behind it a projection in another, and the next norm behind that; at the
 * end a copy behind both. Then the same captured into a graph, and launched behind an event.
 */
static void run_events(int count)
{
	static const float zero[N];
	address x = buffer(1), y = buffer(2), z = buffer(3);
	void *one, *other, *event, *graph, *exec;

	check(cu.stream(&one, 1), "stream");
	check(cu.stream(&other, 1), "stream");
	check(cu.event(&event, 2), "event"); /* without timing */
	for (int i = 0; i < count; i++) {
		launch_scale(x, 0.5f, one);
		go_on_behind(one, event, other);
		launch_add(x, y, other);
		go_on_behind(other, event, one);
	}
	check(cu.to_device_async(z, zero, sizeof zero, one), "copy");
	check(cu.record(event, one), "record");
	check(cu.event_sync(event), "event");
	check(cu.capture(one, 2), "capture");
	launch_scale(x, 2.0f, one);
	go_on_behind(one, event, other);
	launch_add(x, y, other);
	go_on_behind(other, event, one);
	check(cu.end_capture(one, &graph), "end capture");
	check(cu.instantiate(&exec, graph, 0), "instantiate");
	launch_add(x, y, other);
	go_on_behind(other, event, one);
	check(cu.replay(exec, one), "replay");
	go_on_behind(one, event, other);
	launch_scale(z, 1.0f, other);
	check(cu.stream_sync(other), "sync");
	print_sum(x);
	check(cu.exec_destroy(exec), "destroy");
	check(cu.graph_destroy(graph), "destroy");
	check(cu.event_destroy(event), "destroy");
}

static void run_many(int count)
{
	address x = buffer(1);
	void *stream;

	check(cu.stream(&stream, 1), "stream");
	for (int i = 0; i < count; i++) {
		brick_device_span span =
			device ? brick_device_begin(device, stream, BRICK_RMS_NORM, -1) : 0;
		launch_scale(x, i % 2 ? 2.0f : 0.5f, stream);
		if (device)
			brick_device_end(device, stream, span, 0, 0, 0);
	}
	check(cu.stream_sync(stream), "sync");
	print_sum(x);
}

static void *work(void *count)
{
	void *stream;

	check(cu.context_set(context), "current");
	address x = buffer(1), y = buffer(3);
	check(cu.stream(&stream, 1), "stream");
	for (int i = 0; i < *(int *)count; i++)
		layer(x, y, stream, i % 8);
	check(cu.stream_sync(stream), "sync");
	return NULL;
}

static void run_threads(int count)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, &count);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	puts("threads done");
}

static void *start_late(void *ns)
{
	struct timespec delay = {.tv_nsec = *(long *)ns};
	address x = 0;
	void *stream;

	check(cu.context_set(context), "current");
	check(cu.alloc(&x, N * sizeof(float)), "alloc");
	check(cu.stream(&stream, 1), "stream");
	nanosleep(&delay, NULL);
	launch_scale(x, 1.0f, stream);
	check(cu.stream_sync(stream), "sync");
	return NULL;
}

/* Threads whose first command is a kernel, one soon after the other; how the first is left. */
static void run_starting(int count)
{
	enum { MOST = 64, APART_NS = 500000 };
	pthread_t threads[MOST];
	long delays[MOST] = {0};
	int (*exchange)(int *) = NULL, mode = 0;
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	void *found = library ? dlsym(library, "cuThreadExchangeStreamCaptureMode") : NULL;

	memcpy(&exchange, &found, sizeof exchange);
	for (int i = 0; i < count && i < MOST; i++) {
		delays[i] = (i + 1L) * APART_NS;
		pthread_create(&threads[i], NULL, start_late, &delays[i]);
	}
	start_late(&(long){0});
	for (int i = 0; i < count && i < MOST; i++)
		pthread_join(threads[i], NULL);
	if (exchange)
		check(exchange(&mode), "mode");
	printf("captures of the first thread: mode %d\n", mode);
}

/* Kernels while nothing is recorded, whose records come when something is again. */
static void run_pause(int count)
{
	address x = buffer(1), y = buffer(2);

	layer(x, y, NULL, 0);
	brick_pause();
	for (int i = 0; i < count; i++)
		launch_scale(x, 0.5f, NULL);
	brick_resume();
	layer(x, y, NULL, 1);
	check(cu.context_sync(), "sync");
	usleep(500000);
	layer(x, y, NULL, 2);
	check(cu.context_sync(), "sync");
	print_sum(x);
}

/* Contexts that go while another is current, and the next one, whose handle may be the same. */
static void run_contexts(int count)
{
	address x = buffer(1);

	for (int i = 0; i < count; i++) {
		void *other;
		check(cu.context(&other, 0, 0), "context"); /* it is current now */
		check(cu.context_sync(), "sync");	    /* for nothing */
		check(cu.fill(x, 0, N, NULL), "fill");
		check(cu.context_sync(), "sync"); /* then it is complete as its context goes */
		check(cu.context_set(context), "current");
		check(cu.context_destroy(other), "destroy");
	}
	launch_scale(x, 1.0f, NULL);
	check(cu.context_sync(), "sync");
	print_sum(x);
}

/* The same on two devices, whose default streams have one number. */
static void run_devices(int count)
{
	address x = buffer(1);

	for (int ordinal = 0; ordinal < 2; ordinal++) {
		void *other;
		int number;
		check(cu.device(&number, ordinal), "device");
		check(cu.context(&other, 0, number), "context");
		for (int i = 0; i < count; i++)
			launch_scale(x, 1.0f, NULL);
		check(cu.context_sync(), "sync");
		check(cu.context_set(context), "current");
	}
	print_sum(x);
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run(const char *what, int count)
{
	if (!strcmp(what, "graph"))
		run_graph(count);
	else if (!strcmp(what, "paced"))
		run_paced(count);
	else if (!strcmp(what, "refused"))
		run_refused(count);
	else if (!strcmp(what, "streams"))
		run_streams(count);
	else if (!strcmp(what, "events"))
		run_events(count);
	else if (!strcmp(what, "many"))
		run_many(count);
	else if (!strcmp(what, "early"))
		run_early(count);
	else if (!strcmp(what, "pause"))
		run_pause(count);
	else if (!strcmp(what, "devices"))
		run_devices(count);
	else if (!strcmp(what, "contexts"))
		run_contexts(count);
	else if (!strcmp(what, "threads"))
		run_threads(count);
	else if (!strcmp(what, "starting"))
		run_starting(count);
	else
		run_plain(count);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain";
	int count = argc > 2 ? atoi(argv[2]) : 4;

	if (!open_driver()) {
		fputs("no CUDA driver\n", stderr);
		return 77;
	}
	start();
	const char *events = getenv("CUDA_WORK_EVENTS");
	if (events)
		start_events(events);
	double begin = now_s();
	run(what, count);
	if (getenv("CUDA_WORK_TIME"))
		fprintf(stderr, "loop %.6f s\n", now_s() - begin);
	if (events)
		finish_events();
	return failures != 0;
}
