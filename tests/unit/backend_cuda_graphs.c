/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Description: the CUDA backend and graphs on the driver's double: captured pairs are timed at each
 * replay while others are in flight, and captures are never disturbed.
 */
#include "tests/unit/backend_cuda.h"

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
	occupy(200000);
	for (int i = 0; i < 5; i++)
		assert_int_equal(brick_cuda_graph_launch(timed, exec, stream), 0);
	assert_int_equal(brick_cuda_graph_begin(timed, stream, BRICK_RMS_NORM, 0), BRICK_ESTATE);
	cu.sync(stream);
	pass(1000);
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
	occupy(200000);
	assert_int_equal(brick_cuda_graph_launch(timed, exec, stream), 0);
	assert_int_equal(brick_cuda_graph_launch(timed, exec, stream), -EAGAIN);
	cu.sync(stream);
	pass(1000);
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
		streams[1]->busy_until = cu.now() + 200000000;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replays_in_flight),
		cmocka_unit_test(replay_needs_events),
		cmocka_unit_test(not_in_a_capture),
		cmocka_unit_test(waits_end_captures),
		cmocka_unit_test(captures_survive),
		cmocka_unit_test(modes_in_a_capture),
		cmocka_unit_test(half_in_a_graph),
	};
	return cmocka_run_group_tests(tests, open_double, NULL);
}
