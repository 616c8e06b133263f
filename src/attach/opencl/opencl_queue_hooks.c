/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command queues. They are created with profiling, which the program does not get to see: what it
 * asks about a queue or an event is answered as if the queue were the one that it asked for.
 */
#include <stdbool.h>
#include <string.h>
#include "attach/opencl/opencl_completions.h"
#include "attach/opencl/opencl_events.h"
#include "attach/opencl/opencl_command.h"
#include "attach/opencl/opencl_driver.h"
#include "attach/opencl/opencl_queue.h"
#include "base/clock_ns.h"
#include "brick/brick.h"

/* True if the error can come from our additions. */
static bool may_be_ours(cl_int error)
{
	return error == CL_INVALID_QUEUE_PROPERTIES || error == CL_INVALID_VALUE ||
	       error == CL_OUT_OF_RESOURCES || error == CL_OUT_OF_HOST_MEMORY;
}

static void queue_hooks_note_refusal(void)
{
	notes_fault("a queue could not be created with profiling, and is not timed");
}

/* Commands in a queue that is not timed are counted as unsupported. */
static cl_command_queue queue_hooks_made(
	cl_command_queue queue, cl_device_id device, const struct queue_wish *wish, bool is_timed)
{
	is_timed |= wish->is_timed;
	if (queue && queue_created(queue, device, wish, is_timed) && is_timed)
		completions_start();
	return queue;
}

HOOK cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
	cl_command_queue_properties properties, cl_int *error)
{
	const struct driver *d = DRIVER();
	struct queue_wish wish = {
		.is_timed = (properties & CL_QUEUE_PROFILING_ENABLE) != 0,
		.in_order = !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE),
	};
	cl_int status = CL_SUCCESS;

	if (!brick_enabled() || wish.is_timed) {
		cl_command_queue queue =
			d->clCreateCommandQueue(context, device, properties, error);
		return brick_enabled() ? queue_hooks_made(queue, device, &wish, 0) : queue;
	}
	cl_command_queue queue = d->clCreateCommandQueue(
		context, device, properties | CL_QUEUE_PROFILING_ENABLE, &status);
	bool is_timed = queue != NULL;
	if (!queue && may_be_ours(status)) {
		queue = d->clCreateCommandQueue(context, device, properties, &status);
		if (queue)
			queue_hooks_note_refusal();
	}
	if (error)
		*error = status;
	return queue_hooks_made(queue, device, &wish, is_timed);
}

/* The program's list, understood; 0 when it is not for us: on the device, too long. */
static int read_wish(struct queue_wish *wish, const cl_queue_properties *list)
{
	memset(wish, 0, sizeof(*wish));
	wish->in_order = 1;
	if (!list)
		return 1;
	uint32_t n = 0;
	while (list[n]) {
		if (n + 3 > QUEUE_PROPERTIES)
			return 0;
		if (list[n] == CL_QUEUE_PROPERTIES) {
			if (list[n + 1] & CL_QUEUE_ON_DEVICE)
				return 0;
			wish->is_timed = (list[n + 1] & CL_QUEUE_PROFILING_ENABLE) != 0;
			wish->in_order = !(list[n + 1] & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
		}
		n += 2;
	}
	wish->property_count = n + 1;
	memcpy(wish->properties, list, wish->property_count * sizeof(*list));
	return 1;
}

/* The same list with profiling; `list` has room for another pair. */
static void add_profiling(cl_queue_properties *list, const struct queue_wish *wish)
{
	uint32_t n = wish->property_count ? wish->property_count - 1 : 0;

	memcpy(list, wish->properties, n * sizeof(*list));
	list[n] = 0;
	for (uint32_t i = 0; i < n; i += 2)
		if (list[i] == CL_QUEUE_PROPERTIES) {
			list[i + 1] |= CL_QUEUE_PROFILING_ENABLE;
			return;
		}
	list[n] = CL_QUEUE_PROPERTIES;
	list[n + 1] = CL_QUEUE_PROFILING_ENABLE;
	list[n + 2] = 0;
}

HOOK cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
	const cl_queue_properties *properties, cl_int *error)
{
	const struct driver *d = DRIVER();
	cl_queue_properties list[QUEUE_PROPERTIES + 2];
	struct queue_wish wish;
	cl_int status = CL_SUCCESS;

	if (!brick_enabled() || !read_wish(&wish, properties))
		return d->clCreateCommandQueueWithProperties(context, device, properties, error);
	if (wish.is_timed)
		return queue_hooks_made(
			d->clCreateCommandQueueWithProperties(context, device, properties, error),
			device, &wish, 0);
	add_profiling(list, &wish);
	cl_command_queue queue =
		d->clCreateCommandQueueWithProperties(context, device, list, &status);
	bool is_timed = queue != NULL;
	if (!queue && may_be_ours(status)) {
		queue = d->clCreateCommandQueueWithProperties(context, device, properties, &status);
		if (queue)
			queue_hooks_note_refusal();
	}
	if (error)
		*error = status;
	return queue_hooks_made(queue, device, &wish, is_timed);
}

/* As drivers answer: too little capacity is an error, none asks for the size only. */
static cl_int queue_hooks_answer(
	const void *value, size_t bytes, size_t capacity, void *out, size_t *out_bytes)
{
	if (out && capacity < bytes)
		return CL_INVALID_VALUE;
	if (out)
		memcpy(out, value, bytes);
	if (out_bytes)
		*out_bytes = bytes;
	return CL_SUCCESS;
}

/* True if this queue has profiling that its program did not ask for. */
static const struct queue *disguised(cl_command_queue handle)
{
	const struct queue *q = queue_find(handle);

	return q && q->is_timed && !q->asked_timing ? q : NULL;
}

HOOK cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info what,
	size_t capacity, void *value, size_t *bytes)
{
	const struct driver *d = DRIVER();
	const struct queue *q = disguised(queue);
	cl_command_queue_properties properties;
	size_t n;

	if (!q || (what != CL_QUEUE_PROPERTIES && what != CL_QUEUE_PROPERTIES_ARRAY))
		return d->clGetCommandQueueInfo(queue, what, capacity, value, bytes);
	if (what == CL_QUEUE_PROPERTIES) {
		cl_int status = d->clGetCommandQueueInfo(
			queue, what, sizeof(properties), &properties, NULL);
		if (status != CL_SUCCESS)
			return status;
		properties &= ~(cl_command_queue_properties)CL_QUEUE_PROFILING_ENABLE;
		return queue_hooks_answer(&properties, sizeof(properties), capacity, value, bytes);
	}
	cl_int status = d->clGetCommandQueueInfo(queue, what, 0, NULL, &n);
	if (status != CL_SUCCESS)
		return status;
	return queue_hooks_answer(
		q->properties, q->property_count * sizeof(*q->properties), capacity, value, bytes);
}

HOOK cl_int clSetCommandQueueProperty(cl_command_queue queue,
	cl_command_queue_properties properties, cl_bool enable, cl_command_queue_properties *former)
{
	const struct driver *d = DRIVER();
	struct queue *q = queue_find(queue);

	if (!q || !q->is_timed || !d->clSetCommandQueueProperty)
		return d->clSetCommandQueueProperty
			       ? d->clSetCommandQueueProperty(queue, properties, enable, former)
			       : CL_INVALID_OPERATION;
	cl_command_queue_properties ours = CL_QUEUE_PROFILING_ENABLE, kept = properties;
	if (!enable)
		kept &= ~ours;
	cl_int status = d->clSetCommandQueueProperty(queue, kept, enable, former);
	if (status == CL_SUCCESS && former && !q->asked_timing)
		*former &= ~ours;
	if (status == CL_SUCCESS && (properties & ours))
		q->asked_timing = enable != CL_FALSE;
	return status;
}

HOOK cl_int clGetEventProfilingInfo(
	cl_event event, cl_profiling_info what, size_t capacity, void *value, size_t *bytes)
{
	const struct driver *d = DRIVER();
	cl_command_queue queue = NULL;

	if (d->clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, NULL) ==
			CL_SUCCESS &&
		queue && disguised(queue))
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return d->clGetEventProfilingInfo(event, what, capacity, value, bytes);
}

HOOK cl_int clRetainCommandQueue(cl_command_queue queue)
{
	cl_int status = DRIVER()->clRetainCommandQueue(queue);

	if (status == CL_SUCCESS)
		queue_retained(queue);
	return status;
}

/* Before the call: behind it the handle may be another thread's new queue. */
HOOK cl_int clReleaseCommandQueue(cl_command_queue queue)
{
	const struct driver *d = DRIVER();

	queue_releasing(queue);
	completions_wake();
	int entered = command_enter();
	cl_int status = d->clReleaseCommandQueue(queue);
	command_leave(entered);
	return status;
}

/*
 * For the library inside of the program, when it times the bricks of this queue itself: what it
 * puts into the queue, and what is in between, is not to be told twice.
 */
HOOK void brick_opencl_exclude(void *queue, void *owner);
HOOK void brick_opencl_exclude(void *queue, void *owner)
{
	struct queue *q = queue_find(queue);

	if (q)
		__atomic_store_n(&q->excluded_for, owner, __ATOMIC_RELAXED);
}

/* The owner times nothing any more. */
HOOK void brick_opencl_include(void *owner);
HOOK void brick_opencl_include(void *owner)
{
	for (struct queue *q = queue_next(NULL); q; q = q->next) {
		void *of = owner;
		__atomic_compare_exchange_n(
			&q->excluded_for, &of, NULL, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

HOOK cl_int clFinish(cl_command_queue queue)
{
	const struct driver *d = DRIVER();
	uint64_t begin = command_wait_begin();
	struct queue *q = begin ? queue_find(queue) : NULL;
	uint64_t ahead = q ? queue_head(q) : 0;
	struct brick__waits waits = {.count = 0};
	/* Of now: commands that other threads enqueue meanwhile are not waited for. Not known where
	 * the program's own libbrick tells. */
	if (q)
		brick__waits_add(
			&waits, __atomic_load_n(&q->excluded_for, __ATOMIC_RELAXED)
					? 0
					: __atomic_load_n(&q->last_number, __ATOMIC_RELAXED));
	cl_int status = d->clFinish(queue);

	if (q && status == CL_SUCCESS)
		queue_waited(q, ahead, monotonic_ns());
	command_wait_end(begin, &waits);
	return status;
}

HOOK cl_int clWaitForEvents(cl_uint count, const cl_event *list)
{
	const struct driver *d = DRIVER();
	struct brick__waits waits = {.count = 0};
	uint64_t begin = command_wait_begin();

	for (cl_uint i = 0; begin && list && i < count; i++)
		brick__waits_add(&waits, events_number(list[i]));
	cl_int status = d->clWaitForEvents(count, list);
	uint64_t end_ns = waits.count ? monotonic_ns() : 0;
	for (cl_uint i = 0; waits.count && status == CL_SUCCESS && i < count; i++)
		events_waited(list[i], end_ns);
	command_wait_end(begin, &waits);
	return status;
}

HOOK cl_event clCreateUserEvent(cl_context context, cl_int *error)
{
	cl_event event = DRIVER()->clCreateUserEvent(context, error);

	if (event)
		events_forget(event);
	return event;
}
