/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCL's functions, as far as the tests' programs and Brick call them (double.h): platform,
 * device, contexts, queues, kernels and buffers. Commands and events are in commands.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tests/doubles/opencl/double.h"

static char the_platform, the_device;
static void *const platform_id = &the_platform, *const device_id = &the_device;
static cl_command_queue all_queues;

static void *make(long *alive, size_t bytes, cl_int *error)
{
	struct counted *c = calloc(1, sizeof *c + bytes);

	__atomic_add_fetch(alive, 1, __ATOMIC_RELAXED);
	c->references = 1;
	c->alive = alive;
	c->bytes = bytes;
	if (error)
		*error = CL_SUCCESS;
	return c;
}

static cl_int drop(void *object)
{
	struct counted *c = object;

	if (!__atomic_sub_fetch(&c->references, 1, __ATOMIC_RELAXED)) {
		__atomic_sub_fetch(c->alive, 1, __ATOMIC_RELAXED);
		free(c);
	}
	return CL_SUCCESS;
}

cl_int double_answer(const void *value, size_t bytes, size_t capacity, void *out, size_t *out_bytes)
{
	if (out && capacity < bytes)
		return CL_INVALID_VALUE;
	if (out)
		memcpy(out, value, bytes);
	if (out_bytes)
		*out_bytes = bytes;
	return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t capacity, void *out, size_t *bytes)
{
	return double_answer(text, strlen(text) + 1, capacity, out, bytes);
}

/* ---- platform, device, context ---- */

API cl_int clGetPlatformIDs(cl_uint capacity, cl_platform_id *out, cl_uint *count)
{
	if (out && capacity)
		*out = platform_id;
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

API cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint capacity,
	cl_device_id *out, cl_uint *count)
{
	if (out && capacity)
		*out = device_id;
	if (count)
		*count = 1;
	return CL_SUCCESS;
}

API cl_int clGetPlatformInfo(
	cl_platform_id platform, cl_platform_info what, size_t capacity, void *out, size_t *bytes)
{
	return answer_text("Test Double", capacity, out, bytes);
}

API cl_int clGetDeviceInfo(
	cl_device_id device, cl_device_info what, size_t capacity, void *out, size_t *bytes)
{
	void *platform = platform_id;

	if (what == CL_DEVICE_PLATFORM)
		return double_answer(&platform, sizeof platform, capacity, out, bytes);
	return answer_text("double", capacity, out, bytes);
}

API cl_int clGetDeviceAndHostTimer(cl_device_id device, cl_ulong *device_ns, cl_ulong *host_ns)
{
	const char *off = getenv("DOUBLE_TIMER_OFF_US");

	if (!getenv("DOUBLE_TIMER"))
		return CL_INVALID_OPERATION;
	*host_ns = double_now_ns();
	*device_ns = double_device_ns(*host_ns) + (cl_ulong)(off ? 1000 * atol(off) : 0);
	return CL_SUCCESS;
}

API cl_context clCreateContext(const cl_context_properties *properties, cl_uint count,
	const cl_device_id *devices,
	void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data,
	cl_int *error)
{
	return make(&double_alive.contexts, 0, error);
}

API cl_int clRetainContext(cl_context context)
{
	__atomic_add_fetch(&((struct counted *)(void *)context)->references, 1, __ATOMIC_RELAXED);
	return CL_SUCCESS;
}

API cl_int clReleaseContext(cl_context context)
{
	return drop(context);
}

/* ---- queues ---- */

/* As with real drivers, one that has gone lends its handle to the next. */
static cl_command_queue take_place(void)
{
	pthread_mutex_lock(&double_lock);
	cl_command_queue q = all_queues;
	while (q && (q->references || q->event_count))
		q = q->other;
	if (q) {
		*q = (struct _cl_command_queue){.other = q->other};
	} else {
		q = calloc(1, sizeof *q);
		q->other = all_queues;
		all_queues = q;
	}
	q->references = 1;
	q->last = &q->first;
	double_alive.queues++;
	pthread_mutex_unlock(&double_lock);
	return q;
}

static cl_command_queue create_queue(
	cl_command_queue_properties bits, const cl_queue_properties *list, cl_int *error)
{
	uint32_t n = 0;
	cl_int status = CL_SUCCESS;

	for (; list && list[n]; n += 2)
		if (list[n] != CL_QUEUE_PROPERTIES)
			status = CL_INVALID_VALUE;
		else
			bits = list[n + 1];
	if ((bits & CL_QUEUE_PROFILING_ENABLE) && double_has_fault("queue-profiling"))
		status = CL_INVALID_QUEUE_PROPERTIES;
	if (error)
		*error = status;
	if (status != CL_SUCCESS)
		return NULL;
	cl_command_queue q = take_place();
	q->in_order = !(bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
	q->has_times = (bits & CL_QUEUE_PROFILING_ENABLE) != 0;
	if (list) {
		q->property_count = n + 1;
		memcpy(q->properties, list, q->property_count * sizeof *list);
	}
	return q;
}

API cl_command_queue clCreateCommandQueue(cl_context context, cl_device_id device,
	cl_command_queue_properties properties, cl_int *error)
{
	return create_queue(properties, NULL, error);
}

API cl_command_queue clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
	const cl_queue_properties *properties, cl_int *error)
{
	return create_queue(0, properties, error);
}

API cl_int clGetCommandQueueInfo(
	cl_command_queue q, cl_command_queue_info what, size_t capacity, void *out, size_t *bytes)
{
	cl_command_queue_properties bits =
		(q->has_times ? CL_QUEUE_PROFILING_ENABLE : 0) |
		(q->in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);

	if (what == CL_QUEUE_PROPERTIES)
		return double_answer(&bits, sizeof bits, capacity, out, bytes);
	return double_answer(
		q->properties, q->property_count * sizeof *q->properties, capacity, out, bytes);
}

API cl_int clRetainCommandQueue(cl_command_queue q)
{
	__atomic_add_fetch(&q->references, 1, __ATOMIC_RELAXED);
	return CL_SUCCESS;
}

API cl_int clFinish(cl_command_queue q)
{
	if (!__atomic_load_n(&q->references, __ATOMIC_RELAXED))
		return CL_INVALID_COMMAND_QUEUE;
	for (;;) {
		pthread_mutex_lock(&double_lock);
		double_plan(q);
		int is_done = !q->first && double_now_ns() >= q->free_ns;
		pthread_mutex_unlock(&double_lock);
		if (is_done)
			return CL_SUCCESS;
		nanosleep(&(struct timespec){0, 50000}, NULL);
	}
}

API cl_int clFlush(cl_command_queue q)
{
	return CL_SUCCESS;
}

/* Its memory stays: events know their queue, as their programs may ask. */
API cl_int clReleaseCommandQueue(cl_command_queue q)
{
	clFinish(q);
	if (!__atomic_sub_fetch(&q->references, 1, __ATOMIC_RELAXED))
		__atomic_sub_fetch(&double_alive.queues, 1, __ATOMIC_RELAXED);
	return CL_SUCCESS;
}

/* ---- programs, kernels, buffers ---- */

API cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
	const size_t *lengths, cl_int *error)
{
	return make(&double_alive.programs, 0, error);
}

API cl_int clBuildProgram(cl_program program, cl_uint count, const cl_device_id *devices,
	const char *options, void(CL_CALLBACK *notify)(cl_program, void *), void *data)
{
	return CL_SUCCESS;
}

API cl_int clReleaseProgram(cl_program program)
{
	return drop(program);
}

API cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error)
{
	struct counted *c = make(&double_alive.kernels, 0, error);

	snprintf(c->name, sizeof c->name, "%s", name);
	return (cl_kernel)(void *)c;
}

API cl_int clReleaseKernel(cl_kernel kernel)
{
	return drop(kernel);
}

API cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t bytes, const void *value)
{
	return CL_SUCCESS;
}

API cl_int clGetKernelInfo(
	cl_kernel kernel, cl_kernel_info what, size_t capacity, void *out, size_t *bytes)
{
	if (what == CL_KERNEL_FUNCTION_NAME)
		return answer_text(((struct counted *)(void *)kernel)->name, capacity, out, bytes);
	return CL_INVALID_VALUE;
}

API cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
	cl_kernel_work_group_info what, size_t capacity, void *out, size_t *bytes)
{
	cl_ulong local = 256;

	if (what == CL_KERNEL_LOCAL_MEM_SIZE)
		return double_answer(&local, sizeof local, capacity, out, bytes);
	return CL_INVALID_VALUE;
}

API cl_mem clCreateBuffer(
	cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *error)
{
	return make(&double_alive.buffers, bytes, error);
}

API cl_int clReleaseMemObject(cl_mem memory)
{
	return drop(memory);
}

char *double_place(cl_mem memory, size_t offset, size_t bytes)
{
	struct counted *c = (void *)memory;

	return offset <= c->bytes && bytes <= c->bytes - offset ? c->data + offset : NULL;
}
