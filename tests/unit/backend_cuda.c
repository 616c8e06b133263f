/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the CUDA backend on the driver's double: times of pairs are those of the events, a
 * long run does not lose precision, failed reads are errors, captured pairs are timed at each
 * replay while others are in flight, and every event is released.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/cuda/chain.h"
#include "backends/cuda/cuda.h"
#include "brick/brick.h"
#include "brick/cuda.h"
#include "brick/error.h"
#include "tests/doubles/cuda/double.h"

enum { MAX_COMPLETIONS = 4096 };

static const struct brick_backend *const backend = &brick__backend_cuda;
static struct brick_completion completions[MAX_COMPLETIONS];
static uint32_t completion_count;
static uint64_t lost;
static struct context *context;
static struct stream *stream;

static struct {
	int (*init)(unsigned);
	int (*context)(struct context **, unsigned, int);
	int (*stream)(struct stream **, unsigned), (*stream_destroy)(struct stream *);
	int (*event)(struct event **, unsigned);
	int (*event_destroy)(struct event *);
	int (*record)(struct event *, struct stream *);
	int (*fill)(uint64_t, uint32_t, size_t, void *);
	int (*alloc)(uint64_t *, size_t);
	int (*capture)(struct stream *, int);
	int (*end_capture)(struct stream *, struct graph **);
	int (*instantiate)(struct graph **, struct graph *, unsigned long long);
	int (*graph_destroy)(struct graph *), (*exec_destroy)(struct graph *);
	int (*sync)(struct stream *), (*context_sync)(void);
	int (*alive)(void);
	struct double_options *(*options)(void);
	uint64_t (*device_ns)(uint64_t);
	uint64_t (*now)(void);
} cu;

static void look_up(void *library, void *to, const char *name)
{
	void *function = dlsym(library, name);
	if (!function)
		fail_msg("the double has no %s", name);
	memcpy(to, &function, sizeof function);
}

static uint64_t memory;

/* Found by its name from now on, as the real one would be. */
static int open_double(void **state)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);

	path[n > 0 ? n : 0] = '\0';
	strcpy(strrchr(path, '/'), "/../lib/doubles/libcuda.so.1");
	void *library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return -1;
	}
	unsetenv("CUDA_INJECTION64_PATH");
	look_up(library, &cu.init, "cuInit");
	look_up(library, &cu.context, "cuCtxCreate_v2");
	look_up(library, &cu.stream, "cuStreamCreate");
	look_up(library, &cu.stream_destroy, "cuStreamDestroy_v2");
	look_up(library, &cu.event, "cuEventCreate");
	look_up(library, &cu.event_destroy, "cuEventDestroy_v2");
	look_up(library, &cu.record, "cuEventRecord");
	look_up(library, &cu.fill, "cuMemsetD32Async");
	look_up(library, &cu.alloc, "cuMemAlloc_v2");
	look_up(library, &cu.capture, "cuStreamBeginCapture_v2");
	look_up(library, &cu.end_capture, "cuStreamEndCapture");
	look_up(library, &cu.instantiate, "cuGraphInstantiateWithFlags");
	look_up(library, &cu.graph_destroy, "cuGraphDestroy");
	look_up(library, &cu.exec_destroy, "cuGraphExecDestroy");
	look_up(library, &cu.sync, "cuStreamSynchronize");
	look_up(library, &cu.context_sync, "cuCtxSynchronize");
	look_up(library, &cu.alive, "double_events_alive");
	look_up(library, &cu.options, "double_options");
	look_up(library, &cu.now, "double_now");
	look_up(library, &cu.device_ns, "double_device_ns");
	cu.init(0);
	cu.context(&context, 0, 0);
	cu.stream(&stream, 1);
	cu.alloc(&memory, 1 << 20);
	return 0;
}

static void complete(void *own, const struct brick_completion *completion)
{
	assert_true(completion_count < MAX_COMPLETIONS);
	completions[completion_count++] = *completion;
}

static void count_lost(void *own, uint64_t count)
{
	lost += count;
}

static struct brick_backend_device *open_device(uint32_t pairs)
{
	const struct brick_backend_host host = {
		.size = sizeof host, .complete = complete, .lost = count_lost};
	const struct brick_backend_options options = {.size = sizeof options, .pairs = pairs};
	struct brick_backend_device *device = NULL;

	completion_count = 0;
	lost = 0;
	assert_int_equal(backend->open(&device, &host, &options), 0);
	return device;
}

static void work(void)
{
	assert_int_equal(cu.fill(memory, 7, 1 << 10, stream), 0);
}

/* Whatever is put into the stream in the next time waits until then. */
static void occupy(unsigned us)
{
	stream->busy_until = cu.now() + us * 1000ull;
}

/* While a stream is busy, events that follow each other in it are passed at the same time. */
static void same_as_own_events(void **state)
{
	struct brick_backend_device *device = open_device(64);
	struct event *before[8], *after[8];

	occupy(30000);
	for (int i = 0; i < 8; i++) {
		cu.event(&before[i], 0);
		cu.event(&after[i], 0);
		cu.record(before[i], stream);
		assert_int_equal(backend->begin(device, stream, (uint64_t)i + 1), 0);
		work();
		assert_int_equal(backend->end(device, stream, (uint64_t)i + 1), 0);
		cu.record(after[i], stream);
	}
	assert_int_equal(backend->synchronise(device, stream), 0);
	assert_int_equal(backend->drain(device), 8);
	for (int i = 0; i < 8; i++) {
		const struct brick_completion *c = &completions[i];
		int64_t from = (int64_t)(cu.device_ns(before[i]->at) / 500 * 500);
		int64_t to = (int64_t)(cu.device_ns(after[i]->at) / 500 * 500);
		assert_int_equal(c->error, 0);
		assert_int_equal(c->ticket, i + 1);
		assert_true(llabs((int64_t)(c->end_ns - c->begin_ns) - (to - from)) <= 1);
		assert_true(!i || c->begin_ns >= completions[i - 1].end_ns);
		cu.event_destroy(before[i]);
		cu.event_destroy(after[i]);
	}
	backend->close(device);
	assert_int_equal(lost, 0);
	assert_int_equal(cu.alive(), 0);
}

/* The device's clock runs 301 times as fast: minutes of it pass. */
static void precise_after_minutes(void **state)
{
	struct brick_backend_device *device = open_device(16);
	struct event *first, *now;
	int64_t origin = 0, worst = 0;

	cu.options()->drift_ppm = 300000000;
	cu.event(&first, 0);
	cu.event(&now, 0);
	for (int i = 0; i < 400;) {
		occupy(1000);
		uint64_t busy_until = stream->busy_until;
		cu.record(i ? now : first, stream);
		assert_int_equal(backend->begin(device, stream, 1), 0);
		int is_together = cu.now() < busy_until; /* or somebody came in between */
		work();
		assert_int_equal(backend->end(device, stream, 1), 0);
		cu.sync(stream);
		while (backend->drain(device) == 0)
			usleep(50);
		if (!is_together) {
			completion_count--;
			continue;
		}
		int64_t truth = (int64_t)(cu.device_ns((i ? now : first)->at) / 500 * 500);
		int64_t seen = (int64_t)completions[completion_count - 1].begin_ns;
		if (!i)
			origin = truth - seen;
		int64_t off = llabs(truth - seen - origin);
		worst = off > worst ? off : worst;
		i++;
	}
	uint64_t span = completions[completion_count - 1].end_ns - completions[0].begin_ns;
	assert_true(span > 60000000000ull);
	assert_true(worst < 1500);
	cu.options()->drift_ppm = 0;
	cu.event_destroy(first);
	cu.event_destroy(now);
	backend->close(device);
	assert_int_equal(cu.alive(), 0);
}

static void failed_reads_are_errors(void **state)
{
	struct brick_backend_device *device = open_device(4);

	assert_int_equal(backend->begin(device, stream, 5), 0);
	work();
	assert_int_equal(backend->end(device, stream, 5), 0);
	cu.sync(stream);
	usleep(1000);
	cu.options()->failread = 1;
	assert_int_equal(backend->drain(device), 1);
	cu.options()->failread = 0;
	assert_int_equal(completions[0].error, BRICK_EDEVICE);
	assert_int_equal(completions[0].begin_ns, 0);
	assert_int_equal(backend->end(device, stream, 6), -ENOENT);
	assert_int_equal(backend->begin(device, stream, 0), -EINVAL);
	backend->close(device);
	assert_int_equal(cu.alive(), 0);
}

static void pool_is_bounded(void **state)
{
	struct brick_backend_device *device = open_device(2);

	for (uint64_t i = 1; i <= 2; i++) {
		assert_int_equal(backend->begin(device, stream, i), 0);
		work();
		assert_int_equal(backend->end(device, stream, i), 0);
	}
	assert_int_equal(backend->begin(device, stream, 3), -EAGAIN);
	cu.sync(stream);
	usleep(1000);
	assert_int_equal(backend->drain(device), 2);
	assert_int_equal(backend->begin(device, stream, 3), 0);
	backend->close(device);
	assert_int_equal(lost, 1);
	assert_int_equal(cu.alive(), 0);
}

static void nested_pairs(void **state)
{
	struct brick_backend_device *device = open_device(8);

	work();
	assert_int_equal(backend->begin(device, stream, 1), 0);
	assert_int_equal(backend->begin(device, stream, 2), 0);
	work();
	assert_int_equal(backend->end(device, stream, 2), 0);
	work();
	assert_int_equal(backend->end(device, stream, 1), 0);
	cu.sync(stream);
	usleep(1000);
	assert_int_equal(backend->drain(device), 2);
	assert_int_equal(completions[0].ticket, 2);
	assert_true(completions[1].begin_ns <= completions[0].begin_ns);
	assert_true(completions[1].end_ns > completions[0].end_ns);
	backend->close(device);
}

static void capture(struct brick_cuda_graph *timed, struct graph **graph)
{
	assert_int_equal(cu.capture(stream, 2), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(brick_cuda_graph_begin(timed, stream, BRICK_RMS_NORM, i), 0);
		assert_int_equal(brick_cuda_graph_begin(timed, stream, BRICK_QKV_PROJECTION, i), 0);
		work();
		assert_int_equal(brick_cuda_graph_end(timed, stream, 1, 2, 3), 0);
		assert_int_equal(brick_cuda_graph_end(timed, stream, 10, 20, 30), 0);
	}
	assert_int_equal(brick_cuda_graph_end(timed, stream, 0, 0, 0), -ENOENT);
	assert_int_equal(cu.end_capture(stream, graph), 0);
}

static struct brick_stats statistics_of(int brick)
{
	struct brick_stats s = BRICK_STATS_INIT;
	assert_int_equal(brick_device_stats_get(brick, &s), 0);
	return s;
}

/* Replays overtake nobody who reads: each has events of its own. */
static void replays_in_flight(void **state)
{
	struct brick_cuda_graph *timed = NULL;
	struct graph *graph, *exec;

	assert_int_equal(brick_session_start(NULL), 0);
	assert_int_equal(brick_cuda_graph_create(&timed, NULL, 64), 0);
	assert_int_equal(brick_cuda_graph_begin(timed, stream, BRICK_RMS_NORM, 0), BRICK_ESTATE);
	capture(timed, &graph);
	assert_int_equal(brick_cuda_graph_drain(timed), 0);
	cu.instantiate(&exec, graph, 0);
	occupy(20000);
	for (int i = 0; i < 5; i++)
		assert_int_equal(brick_cuda_graph_launch(timed, exec, stream), 0);
	assert_int_equal(brick_cuda_graph_begin(timed, stream, BRICK_RMS_NORM, 0), BRICK_ESTATE);
	cu.sync(stream);
	usleep(1000);
	assert_int_equal(brick_cuda_graph_drain(timed), 20);
	assert_int_equal(brick_cuda_graph_drain(timed), 0);
	struct brick_stats inner = statistics_of(BRICK_QKV_PROJECTION);
	assert_int_equal(inner.count, 10);
	assert_int_equal(inner.elements, 10);
	assert_int_equal(inner.bytes, 20);
	/* each took what the double's device takes, not the time to another replay's event */
	assert_true(inner.min_ns >= 19000 && inner.max_ns <= 23000);
	brick_cuda_graph_destroy(timed);
	cu.exec_destroy(exec);
	cu.graph_destroy(graph);
	assert_int_equal(brick_session_stop(), 0);
	assert_int_equal(cu.alive(), 0);
}

static void replay_needs_events(void **state)
{
	struct brick_cuda_graph *timed = NULL;
	struct graph *graph, *exec;

	assert_int_equal(brick_cuda_graph_create(&timed, NULL, 13), 0);
	capture(timed, &graph);
	cu.instantiate(&exec, graph, 0);
	assert_int_equal(brick_cuda_graph_launch(timed, exec, stream), 0);
	assert_int_equal(brick_cuda_graph_launch(timed, exec, stream), -EAGAIN);
	cu.sync(stream);
	usleep(1000);
	brick_cuda_graph_drain(timed);
	assert_int_equal(brick_cuda_graph_launch(timed, exec, stream), 0);
	brick_cuda_graph_destroy(timed);
	cu.exec_destroy(exec);
	cu.graph_destroy(graph);
	assert_int_equal(cu.alive(), 0);
}

static void not_in_a_capture(void **state)
{
	struct brick_backend_device *device = open_device(4);
	struct graph *graph;

	assert_int_equal(cu.capture(stream, 2), 0);
	assert_int_equal(backend->begin(device, stream, 1), BRICK_EUNSUPPORTED);
	assert_int_equal(cu.end_capture(stream, &graph), 0);
	cu.graph_destroy(graph);
	backend->close(device);
	assert_int_equal(lost, 0);
	assert_int_equal(cu.alive(), 0);
}

/* What the double does, as the guide says: a wait ends the capture that it concerns. */
static void waits_end_captures(void **state)
{
	struct stream *with_default;
	struct graph *graph;

	cu.stream(&with_default, 0);
	for (int i = 0; i < 3; i++) {
		struct stream *captured = i == 2 ? with_default : stream;
		assert_int_equal(cu.capture(captured, 2), 0);
		assert_int_equal(i == 0	  ? cu.sync(stream)
				 : i == 1 ? cu.context_sync()
					  : cu.sync(NULL),
			i == 2 ? CAPTURE_IMPLICIT : IN_CAPTURE);
		assert_int_equal(cu.fill(memory, 7, 1 << 10, captured), CAPTURE_INVALIDATED);
		assert_int_equal(cu.end_capture(captured, &graph), CAPTURE_INVALIDATED);
		assert_null(graph);
	}
	assert_int_equal(cu.capture(stream, 2), 0);
	assert_int_equal(cu.sync(NULL), 0); /* has nothing to do with that */
	assert_int_equal(cu.sync(with_default), 0);
	assert_int_equal(cu.end_capture(stream, &graph), 0);
	cu.graph_destroy(graph);
	cu.stream_destroy(with_default);
}

/* Nothing that waits is an end of a capture; what is in flight elsewhere is waited for. */
static void captures_survive(void **state)
{
	struct brick_backend_device *device = open_device(8);
	struct stream *streams[2];
	struct graph *graph;

	for (unsigned flags = 0; flags < 2; flags++) {
		cu.stream(&streams[0], flags);
		cu.stream(&streams[1], 1);
		streams[1]->busy_until = cu.now() + 20000000;
		assert_int_equal(backend->begin(device, streams[1], 1), 0);
		assert_int_equal(cu.fill(memory, 7, 1 << 10, streams[1]), 0);
		assert_int_equal(backend->end(device, streams[1], 1), 0);
		assert_int_equal(cu.capture(streams[0], 2), 0);
		assert_int_equal(backend->synchronise(device, streams[0]), BRICK_EUNSUPPORTED);
		assert_int_equal(backend->begin(device, NULL, 2), flags ? 0 : BRICK_EUNSUPPORTED);
		if (flags)
			assert_int_equal(backend->end(device, NULL, 2), 0);
		assert_int_equal(backend->synchronise(device, NULL), 0);
		assert_int_equal(backend->drain(device), flags ? 2 : 1);
		assert_int_equal(backend->synchronise(device, streams[1]), 0);
		assert_int_equal(cu.fill(memory, 7, 1 << 10, streams[0]), 0);
		assert_int_equal(cu.end_capture(streams[0], &graph), 0);
		assert_int_equal(backend->synchronise(device, streams[0]), 0);
		cu.graph_destroy(graph);
		cu.stream_destroy(streams[0]);
		cu.stream_destroy(streams[1]);
	}
	backend->close(device);
	assert_int_equal(lost, 0);
	assert_int_equal(cu.alive(), 0);
}

/* Bricks in a capture are counted as what cannot be timed; the device is as before. */
static void modes_in_a_capture(void **state)
{
	static const uint32_t modes[] = {
		BRICK_MODE_DEFERRED, BRICK_MODE_PER_LAYER, BRICK_MODE_IMMEDIATE};
	const struct brick_backend_options options = {.size = sizeof options, .pairs = 8};

	for (int i = 0; i < 3; i++) {
		struct brick_device *device = NULL;
		struct graph *graph;
		assert_int_equal(brick_session_start(NULL), 0);
		assert_int_equal(brick_device_open(&device, backend, &options, NULL, 0), 0);
		brick_device_mode_set(device, modes[i]);
		for (int captured = 0; captured < 2; captured++) {
			if (captured)
				assert_int_equal(cu.capture(stream, 2), 0);
			brick_device_span span =
				brick_device_begin(device, stream, BRICK_RMS_NORM, 0);
			assert_int_equal(span == 0, captured);
			work();
			brick_device_end(device, stream, span, 0, 0, 0);
			assert_int_equal(brick_device_layer_end(device, stream),
				captured && i == 1 ? BRICK_EUNSUPPORTED : 0);
			assert_true(brick_device_drain(device) >= 0);
			assert_true(brick_device_finish(device) >= 0);
		}
		assert_int_equal(cu.end_capture(stream, &graph), 0);
		cu.graph_destroy(graph);
		assert_int_equal(statistics_of(BRICK_RMS_NORM).count, 1);
		brick_device_close(device);
		assert_int_equal(brick_session_stop(), 0);
	}
	assert_int_equal(cu.alive(), 0);
}

static void half_in_a_graph(void **state)
{
	struct brick_backend_device *device = open_device(4);
	struct graph *graph;

	assert_int_equal(backend->begin(device, stream, 1), 0);
	assert_int_equal(cu.capture(stream, 2), 0);
	assert_int_equal(backend->end(device, stream, 1), BRICK_EUNSUPPORTED);
	assert_int_equal(cu.end_capture(stream, &graph), 0);
	cu.graph_destroy(graph);
	backend->close(device);
	assert_int_equal(cu.alive(), 0);
}

static void places_on_the_host(void **state)
{
	struct brick_backend_device *device = open_device(8);
	struct brick_correlation correlation;
	struct brick_reading readings[4];
	struct event *begin;

	brick_correlation_init(&correlation);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(backend->correlate(device, &readings[i]), 0);
		assert_true(readings[i].after_ns > readings[i].before_ns);
	}
	assert_int_equal(brick_correlation_add(&correlation, readings, 4), 0);
	occupy(5000);
	cu.event(&begin, 0);
	cu.record(begin, stream);
	assert_int_equal(backend->begin(device, stream, 1), 0);
	work();
	assert_int_equal(backend->end(device, stream, 1), 0);
	cu.sync(stream);
	usleep(1000);
	assert_int_equal(backend->drain(device), 1);
	uint64_t host = brick_correlation_host_ns(&correlation, completions[0].begin_ns);
	int64_t off = llabs((int64_t)(host - begin->at));
	assert_true(off <= (int64_t)correlation.residual_ns + 1000);
	cu.event_destroy(begin);
	backend->close(device);
}

static void probes(void **state)
{
	char reason[128] = "";

	assert_int_equal(backend->probe(reason, sizeof reason), 0);
	assert_string_equal(backend->name, "cuda");
	assert_int_equal(cuda_chain_ns(1.5f), 1500000);
	assert_int_equal(cuda_chain_ns(-0.001f), -1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probes),
		cmocka_unit_test(same_as_own_events),
		cmocka_unit_test(nested_pairs),
		cmocka_unit_test(precise_after_minutes),
		cmocka_unit_test(failed_reads_are_errors),
		cmocka_unit_test(pool_is_bounded),
		cmocka_unit_test(replays_in_flight),
		cmocka_unit_test(replay_needs_events),
		cmocka_unit_test(not_in_a_capture),
		cmocka_unit_test(waits_end_captures),
		cmocka_unit_test(captures_survive),
		cmocka_unit_test(modes_in_a_capture),
		cmocka_unit_test(half_in_a_graph),
		cmocka_unit_test(places_on_the_host),
	};
	return cmocka_run_group_tests(tests, open_double, NULL);
}
