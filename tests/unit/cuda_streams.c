/* SPDX-License-Identifier: Apache-2.0 */
/* Description: streams that are left to the program, calls by their names, and what
 * events put in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include "attach/common/newest_numbers.h"
#include "attach/cuda/call_names.h"
#include "attach/cuda/cuda_streams.h"

void brick_cuda_exclude(void *context, void *stream, void *owner);
void brick_cuda_include(void *owner);

/* Handles are used again by what is made next, which nobody has taken over. */
static void streams_that_are_excluded(void **state)
{
	char context, other, streams[300], owner;

	assert_false(excluded_has(&streams[0]));
	brick_cuda_exclude(&context, &streams[0], &owner);
	brick_cuda_exclude(&context, &streams[0], &owner);
	brick_cuda_exclude(&context, CUDA_STREAM_LEGACY, &owner);
	brick_cuda_exclude(&other, NULL, &owner);
	assert_true(excluded_has(&streams[0]));
	assert_true(excluded_has(&context)); /* its default stream */
	assert_true(excluded_has(&other));
	excluded_forget(&streams[0]);
	assert_false(excluded_has(&streams[0]));
	for (int i = 0; i < 300; i++) /* more than there is room for */
		brick_cuda_exclude(&context, &streams[i], &owner);
	assert_true(excluded_has(&streams[253]));
	assert_false(excluded_has(&streams[254]));
	excluded_forget(&context);
	for (int i = 0; i < 300; i++)
		assert_false(excluded_has(&streams[i]));
	assert_false(excluded_has(&context));
	assert_true(excluded_has(&other));
	brick_cuda_exclude(&context, &streams[299], &owner);
	assert_true(excluded_has(&streams[299]));
}

/* Until their owner is done with them; whoever claimed a stream last is its owner. */
static void yields_end(void **state)
{
	char context, streams[3], owner, another;

	brick_cuda_exclude(&context, &streams[0], &owner);
	brick_cuda_exclude(&context, &streams[1], &owner);
	brick_cuda_exclude(&context, &streams[1], &another);
	brick_cuda_exclude(&context, &streams[2], &another);
	brick_cuda_include(&owner);
	assert_false(excluded_has(&streams[0]));
	assert_true(excluded_has(&streams[1]));
	assert_true(excluded_has(&streams[2]));
	brick_cuda_include(&another);
	assert_false(excluded_has(&streams[1]));
	assert_false(excluded_has(&streams[2]));
}

static cuda_handle launched_per_thread(void)
{
	const struct cuda_launch_kernel kernel = {.stream = CUDA_STREAM_PER_THREAD};
	struct call_shape shape = call_shape_of_driver("cuLaunchKernel");
	cuda_handle stream;

	assert_true(call_stream(&shape, &kernel, &stream));
	return stream;
}

static void *yield_own_stream(void *context)
{
	brick_cuda_exclude(context, CUDA_STREAM_PER_THREAD, context);
	return excluded_has(launched_per_thread()) ? launched_per_thread() : NULL;
}

/* The thread's default stream is told apart from other threads', also from later ones'. */
static void own_streams_yield(void **state)
{
	char context;
	void *streams[2];

	for (int i = 0; i < 2; i++) {
		pthread_t thread;
		assert_int_equal(pthread_create(&thread, NULL, yield_own_stream, &context), 0);
		pthread_join(thread, &streams[i]);
		assert_true(excluded_has(streams[i]));
	}
	assert_ptr_not_equal(streams[0], streams[1]);
	assert_false(excluded_has(launched_per_thread()));
	brick_cuda_include(&context);
	assert_false(excluded_has(streams[0]));
}

static void expect_call(const char *name, uint32_t kind, const void *parameters, cuda_handle stream)
{
	struct call_shape shape = call_shape_of_driver(name);
	cuda_handle found;

	assert_int_equal(shape.kind, kind);
	assert_true(call_stream(&shape, parameters, &found));
	assert_ptr_equal(found, stream);
}

static void calls_by_name(void **state)
{
	int a;
	const cuda_handle words[] = {NULL, NULL, NULL, &a, NULL, NULL};
	const cuda_handle legacy[] = {NULL, NULL, NULL, CUDA_STREAM_LEGACY};
	const cuda_handle none[] = {NULL, NULL, NULL, NULL};
	const struct cuda_launch_kernel kernel = {.stream = &a};
	const struct cuda_launch_config config = {.stream = &a};
	const struct cuda_launch_kernel_ex ex = {&config}, bare = {NULL};
	const struct cuda_stream_wait wait = {&a, NULL};
	cuda_handle own, other;

	expect_call("cuLaunchKernel", CALL_KERNEL, &kernel, &a);
	expect_call("cuLaunchKernel_ptsz", CALL_KERNEL, &kernel, &a);
	expect_call("cuLaunchCooperativeKernel", CALL_KERNEL, &kernel, &a);
	expect_call("cuLaunchKernelEx", CALL_KERNEL, &ex, &a);
	expect_call("cuMemcpyHtoDAsync_v2", CALL_COPY, words, &a);
	expect_call("cuMemsetD32Async", CALL_COPY, words, &a);
	expect_call("cuMemsetD32Async", CALL_COPY, legacy, NULL);
	expect_call("cuMemcpyHtoD_v2", CALL_COPY, NULL, NULL);
	expect_call("cuStreamWaitEvent", CALL_AFTER_EVENT, &wait, &a);
	assert_int_equal(call_shape_of_driver("cuCtxDestroy_v2").kind, CALL_CONTEXT_GOES);
	assert_int_equal(call_shape_of_driver("cuDevicePrimaryCtxReset").kind, CALL_PRIMARY_GOES);
	assert_int_equal(call_shape_of_driver("cuLaunchHostFunc").kind, CALL_NONE);
	assert_int_equal(call_shape_of_driver("cuMemAlloc_v2").kind, CALL_NONE);
	assert_int_equal(call_shape_of_runtime("cudaMemcpyAsync").kind, CALL_COPY);
	assert_int_equal(call_shape_of_runtime("cudaMalloc").kind, CALL_NONE);
	assert_int_equal(call_shape_of_runtime("__cudaLaunchKernel_v13000").kind, CALL_COPY);
	assert_int_equal(call_shape_of_runtime("__cudaLaunchKernel_ptsz_v13000").kind, CALL_COPY);
	assert_int_equal(call_shape_of_runtime("__cudaGetKernel_v13000").kind, CALL_NONE);
	assert_int_equal(
		call_shape_of_driver("cuGraphInstantiateWithParams_ptsz").kind, CALL_INSTANTIATE);
	assert_int_equal(call_shape_of_driver("cuGraphNodeSetEnabled").kind, CALL_NODE_SWITCH);

	struct call_shape shape = call_shape_of_driver("cuLaunchKernelEx");
	assert_false(call_stream(&shape, &bare, &own));
	shape = call_shape_of_driver("cuMemcpyOfTheFutureAsync");
	assert_int_equal(shape.kind, CALL_COPY);
	assert_false(call_stream(&shape, words, &own));
	/* the thread's own default stream is none of the others */
	shape = call_shape_of_driver("cuMemsetD8Async_ptsz");
	assert_true(call_stream(&shape, none, &own));
	shape = call_shape_of_driver("cuMemcpy_ptds");
	assert_true(call_stream(&shape, none, &other));
	assert_non_null(own);
	assert_ptr_equal(own, other);
}

static void what_events_put_in_order(void **state)
{
	char context, streams[20], event, another;
	uint64_t numbers[MAX_EVENTS_AFTER];

	events_waited(&context, &streams[1], &event); /* it has never been recorded */
	events_launched(&streams[1], 1);
	assert_int_equal(events_after(1, numbers), 0);
	assert_int_equal(events_number(&event), 0);
	events_recorded(&context, &event, &streams[0], 5);
	assert_int_equal(events_number(&event), 5);
	events_waited(&context, &streams[1], &event);
	events_launched(&streams[0], 2);
	assert_int_equal(events_after(2, numbers), 0);
	/* handed on by a stream that was given nothing in between */
	events_recorded(&context, &another, &streams[1], 3);
	events_waited(&context, &streams[2], &another);
	events_launched(&streams[2], 3);
	assert_int_equal(events_after(3, numbers), 2);
	assert_int_equal(numbers[0] + numbers[1], 5 + 3);
	events_launched(&streams[1], 4);
	assert_int_equal(events_after(4, numbers), 1);
	assert_int_equal(numbers[0], 5);
	events_launched(&streams[1], 5); /* only the next one waits */
	assert_int_equal(events_after(5, numbers), 0);
	/* what is made next may have the same handle */
	events_waited(&context, &streams[1], &event);
	events_forget_stream(&streams[1]);
	events_launched(&streams[1], 7);
	assert_int_equal(events_after(7, numbers), 0);
	events_forget(&event);
	assert_int_equal(events_number(&event), 0);
	/* the oldest of too many are left out */
	for (uint64_t i = 0; i < MAX_EVENTS_AFTER + 4; i++) {
		events_recorded(&context, &event, &streams[i + 4], 100 + i);
		events_waited(&context, &streams[3], &event);
		events_waited(&context, &streams[3], &event);
	}
	events_launched(&streams[3], 6);
	assert_int_equal(events_after(6, numbers), MAX_EVENTS_AFTER);
	for (int i = 0; i < MAX_EVENTS_AFTER; i++)
		assert_in_range(numbers[i], 104, 111);
}

/* Streams that are captured together order nothing of what is launched later. */
static void what_is_captured_orders_nothing(void **state)
{
	char context, stream, other, third, event, outside;
	uint64_t numbers[MAX_EVENTS_AFTER];

	events_recorded(&context, &outside, &third, 7);
	events_capture(&context, &stream);
	events_recorded(&context, &event, &stream, 8);
	assert_int_equal(events_number(&event), 0);
	events_waited(&context, &other, &event);
	events_waited(&context, &other, &outside);
	events_recorded(&context, &event, &other, 9);
	events_waited(&context, &stream, &event);
	events_capture_end(&stream);
	events_launched(&stream, 70);
	events_launched(&other, 71);
	assert_int_equal(events_after(70, numbers) + events_after(71, numbers), 0);
	events_waited(&context, &other, &event); /* the capture that it was part of is over */
	events_recorded(&context, &event, &stream, 10);
	events_waited(&context, &other, &event);
	events_launched(&other, 72);
	assert_int_equal(events_after(72, numbers), 1);
	assert_int_equal(numbers[0], 10);
}

/* An event of one stream stands for a command; how many the next one of the other comes after. */
static uint32_t after_event(cuda_handle stream, cuda_handle waiting, uint32_t command)
{
	static char event, context;
	uint64_t numbers[MAX_EVENTS_AFTER];

	events_recorded(&context, &event, stream, command);
	events_waited(&context, waiting, &event);
	events_launched(waiting, command);
	return events_after(command, numbers);
}

/* However many streams there are, so that each place of theirs has been another's. */
static void captures_end_all_the_same(void **state)
{
	static char streams[20000];
	char context, origin, joined, event, other, third;

	for (int is_destroyed = 0; is_destroyed < 2; is_destroyed++) {
		uint32_t command = 1000 + 10 * (uint32_t)is_destroyed;
		events_capture(&context, &origin);
		events_recorded(&context, &event, &origin, 0);
		events_waited(&context, &joined, &event);
		assert_int_equal(after_event(&other, &joined, command), 0); /* is captured */
		events_recorded(&context, &event, &other, 5);
		for (size_t i = 0; i < sizeof streams; i++)
			if (&streams[i] != &joined)
				events_waited(&context, &streams[i], &event);
		events_recorded(&context, &event, &origin, 0);
		events_waited(&context, &joined, &event); /* its place was taken, too */
		if (is_destroyed)
			events_forget_stream(&origin);
		else
			events_capture_end(&origin);
		assert_int_equal(after_event(&other, &joined, command + 1), 1);
		assert_int_equal(after_event(&joined, &third, command + 2), 1);
	}
	/* those that never end make room for others */
	for (int i = 0; i < 200; i++)
		events_capture(&context, &streams[i]);
	events_recorded(&context, &event, &streams[199], 8);
	assert_int_equal(events_number(&event), 0);
	events_forget_context(&context);
	assert_int_equal(after_event(&streams[199], &other, 1100), 1);
}

/* Many at a time, wherever they lie in memory: nobody takes another's place. */
static void none_is_in_the_way(void **state)
{
	enum { STREAMS = 100, APART = 0x140, ROUNDS = 20 };
	static struct newest_number places[512];
	struct newest_numbers tails = NEWEST_NUMBERS(places);
	char context;
	uint64_t numbers[MAX_EVENTS_AFTER];

	for (uint64_t round = 0; round < ROUNDS; round++) {
		cuda_handle streams = (cuda_handle)((round << 32) + 0x7f0000001000);
		cuda_handle events = (cuda_handle)((round << 32) + 0x550000002000);
		uint32_t first = 2000 + STREAMS * (uint32_t)round;
		for (uint32_t i = 0; i < STREAMS; i++) {
			events_recorded(&context, (char *)events + i * APART, &context, first + i);
			events_waited(
				&context, (char *)streams + i * APART, (char *)events + i * APART);
			newest_numbers_set(&tails, 1, (uintptr_t)streams + i * APART, first + i);
		}
		for (uint32_t i = 0; i < STREAMS; i++) {
			events_launched((char *)streams + i * APART, first + i);
			assert_int_equal(events_after(first + i, numbers), 1);
			assert_int_equal(numbers[0], first + i);
			assert_int_equal(events_number((char *)events + i * APART), first + i);
			assert_int_equal(
				newest_numbers_get(&tails, 1, (uintptr_t)streams + i * APART),
				first + i);
		}
		events_forget_context(&context);
		newest_numbers_forget_all(&tails, 1);
	}
}

/* Handles of its streams and events may be the next context's. */
static void contexts_go(void **state)
{
	char context, another, stream, event, waiting, kept;
	uint64_t numbers[MAX_EVENTS_AFTER];

	events_recorded(&context, &event, &stream, 5);
	events_recorded(&another, &kept, &stream, 6);
	events_waited(&context, &waiting, &event);
	events_forget_context(&context);
	events_launched(&waiting, 1200);
	assert_int_equal(events_after(1200, numbers), 0);
	assert_int_equal(events_number(&event), 0);
	assert_int_equal(events_number(&kept), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_that_are_excluded),
		cmocka_unit_test(yields_end),
		cmocka_unit_test(own_streams_yield),
		cmocka_unit_test(calls_by_name),
		cmocka_unit_test(what_events_put_in_order),
		cmocka_unit_test(what_is_captured_orders_nothing),
		cmocka_unit_test(captures_end_all_the_same),
		cmocka_unit_test(none_is_in_the_way),
		cmocka_unit_test(contexts_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
