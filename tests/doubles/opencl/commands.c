/* SPDX-License-Identifier: Apache-2.0 */
/* What is enqueued, and its events (double.h). */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tests/doubles/opencl/double.h"

/* ---- commands ---- */

API cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel kernel, cl_uint dimensions,
	const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
	const cl_event *list, cl_event *event)
{
	if (dimensions < 1 || dimensions > 3)
		return CL_INVALID_WORK_DIMENSION;
	if (local && global[0] % local[0])
		return CL_INVALID_WORK_GROUP_SIZE;
	const char *ms = getenv("DOUBLE_KERNEL_MS");
	uint64_t cost_ns = ms ? strtoull(ms, NULL, 10) * 1000000 : 1000 + 20 * global[0];

	return double_enqueue(q, cost_ns, count, list, event);
}

API cl_int clEnqueueWriteBuffer(cl_command_queue q, cl_mem memory, cl_bool blocking, size_t offset,
	size_t bytes, const void *from, cl_uint count, const cl_event *list, cl_event *event)
{
	char *at = double_place(memory, offset, bytes);

	if (!at)
		return CL_INVALID_VALUE;
	cl_int status = double_enqueue(q, bytes, count, list, event);
	if (status == CL_SUCCESS)
		memcpy(at, from, bytes);
	return status == CL_SUCCESS && blocking ? clFinish(q) : status;
}

API cl_int clEnqueueReadBuffer(cl_command_queue q, cl_mem memory, cl_bool blocking, size_t offset,
	size_t bytes, void *to, cl_uint count, const cl_event *list, cl_event *event)
{
	char *at = double_place(memory, offset, bytes);

	if (!at)
		return CL_INVALID_VALUE;
	cl_int status = double_enqueue(q, bytes, count, list, event);
	if (status == CL_SUCCESS)
		memcpy(to, at, bytes);
	return status == CL_SUCCESS && blocking ? clFinish(q) : status;
}

API cl_int clEnqueueCopyBuffer(cl_command_queue q, cl_mem from, cl_mem to, size_t from_offset,
	size_t to_offset, size_t bytes, cl_uint count, const cl_event *list, cl_event *event)
{
	char *source = double_place(from, from_offset, bytes),
	     *target = double_place(to, to_offset, bytes);

	if (!source || !target)
		return CL_INVALID_VALUE;
	cl_int status = double_enqueue(q, bytes, count, list, event);
	if (status == CL_SUCCESS)
		memcpy(target, source, bytes);
	return status;
}

API cl_int clEnqueueFillBuffer(cl_command_queue q, cl_mem memory, const void *pattern,
	size_t pattern_bytes, size_t offset, size_t bytes, cl_uint count, const cl_event *list,
	cl_event *event)
{
	return double_enqueue(q, bytes, count, list, event);
}

API void *clEnqueueMapBuffer(cl_command_queue q, cl_mem memory, cl_bool blocking,
	cl_map_flags flags, size_t offset, size_t bytes, cl_uint count, const cl_event *list,
	cl_event *event, cl_int *error)
{
	char *at = double_place(memory, offset, bytes);
	cl_int status = at ? double_enqueue(q, 500, count, list, event) : CL_INVALID_VALUE;

	if (status == CL_SUCCESS && blocking)
		clFinish(q);
	if (error)
		*error = status;
	return status == CL_SUCCESS ? at : NULL;
}

API cl_int clEnqueueUnmapMemObject(cl_command_queue q, cl_mem memory, void *pointer, cl_uint count,
	const cl_event *list, cl_event *event)
{
	return double_enqueue(q, 500, count, list, event);
}

API cl_int clEnqueueMarkerWithWaitList(
	cl_command_queue q, cl_uint count, const cl_event *list, cl_event *event)
{
	return double_enqueue(q, 10, count, list, event);
}

API cl_int clEnqueueBarrierWithWaitList(
	cl_command_queue q, cl_uint count, const cl_event *list, cl_event *event)
{
	return double_enqueue(q, 10, count, list, event);
}

/* ---- events ---- */

API cl_event clCreateUserEvent(cl_context context, cl_int *error)
{
	struct _cl_event *e = calloc(1, sizeof *e);

	e->references = 1;
	__atomic_add_fetch(&double_alive.events, 1, __ATOMIC_RELAXED);
	if (error)
		*error = CL_SUCCESS;
	return e;
}

API cl_int clSetUserEventStatus(cl_event e, cl_int status)
{
	pthread_mutex_lock(&double_lock);
	e->begin_ns = e->end_ns = double_now_ns();
	pthread_mutex_unlock(&double_lock);
	return CL_SUCCESS;
}

API cl_int clWaitForEvents(cl_uint count, const cl_event *list)
{
	if (!count || !list)
		return CL_INVALID_VALUE;
	for (cl_uint i = 0; i < count;) {
		pthread_mutex_lock(&double_lock);
		cl_int status = double_status(list[i]);
		pthread_mutex_unlock(&double_lock);
		if (status > CL_COMPLETE)
			nanosleep(&(struct timespec){0, 50000}, NULL);
		else if (status < 0)
			return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
		else
			i++;
	}
	return CL_SUCCESS;
}

API cl_int clRetainEvent(cl_event e)
{
	if (double_has_fault("retain"))
		return CL_OUT_OF_RESOURCES;
	pthread_mutex_lock(&double_lock);
	e->references++;
	pthread_mutex_unlock(&double_lock);
	return CL_SUCCESS;
}

API cl_int clReleaseEvent(cl_event e)
{
	pthread_mutex_lock(&double_lock);
	double_release_event(e);
	pthread_mutex_unlock(&double_lock);
	return CL_SUCCESS;
}

API cl_int clGetEventInfo(cl_event e, cl_event_info what, size_t capacity, void *out, size_t *bytes)
{
	if (what == CL_EVENT_COMMAND_QUEUE)
		return double_answer(&e->queue, sizeof e->queue, capacity, out, bytes);
	pthread_mutex_lock(&double_lock);
	cl_int status = double_status(e);
	double_alive.event_queries++;
	pthread_mutex_unlock(&double_lock);
	return double_answer(&status, sizeof status, capacity, out, bytes);
}

API cl_int clGetEventProfilingInfo(
	cl_event e, cl_profiling_info what, size_t capacity, void *out, size_t *bytes)
{
	pthread_mutex_lock(&double_lock);
	cl_int status = double_status(e);
	uint64_t host = what == CL_PROFILING_COMMAND_QUEUED   ? e->queued_ns
			: what == CL_PROFILING_COMMAND_SUBMIT ? e->queued_ns + 500
			: what == CL_PROFILING_COMMAND_START  ? e->begin_ns
							      : e->end_ns;
	cl_ulong ns = double_device_ns(host);
	pthread_mutex_unlock(&double_lock);
	if (!e->queue || !e->queue->has_times || status > CL_COMPLETE || double_has_fault("times"))
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	return double_answer(&ns, sizeof ns, capacity, out, bytes);
}
