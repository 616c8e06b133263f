/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers of buffers and of shared virtual memory. */
#include "attach/opencl/hooks.h"

static uint64_t volume(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

HOOK cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
	size_t offset, size_t bytes, void *to, cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("ReadBuffer", BRICK_KERNEL_D2H, bytes);
	ENQUEUE(what, blocking,
		clEnqueueReadBuffer(
			queue, buffer, blocking, offset, bytes, to, count, list, EVENT));
}

HOOK cl_int clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
	size_t offset, size_t bytes, const void *from, cl_uint count, const cl_event *list,
	cl_event *event)
{
	WHAT("WriteBuffer", BRICK_KERNEL_H2D, bytes);
	ENQUEUE(what, blocking,
		clEnqueueWriteBuffer(
			queue, buffer, blocking, offset, bytes, from, count, list, EVENT));
}

HOOK cl_int clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
	const size_t *buffer_origin, const size_t *host_origin, const size_t *region,
	size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice, void *to,
	cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("ReadBufferRect", BRICK_KERNEL_D2H, volume(region));
	ENQUEUE(what, blocking,
		clEnqueueReadBufferRect(queue, buffer, blocking, buffer_origin, host_origin, region,
			buffer_row, buffer_slice, host_row, host_slice, to, count, list, EVENT));
}

HOOK cl_int clEnqueueWriteBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
	const size_t *buffer_origin, const size_t *host_origin, const size_t *region,
	size_t buffer_row, size_t buffer_slice, size_t host_row, size_t host_slice,
	const void *from, cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("WriteBufferRect", BRICK_KERNEL_H2D, volume(region));
	ENQUEUE(what, blocking,
		clEnqueueWriteBufferRect(queue, buffer, blocking, buffer_origin, host_origin,
			region, buffer_row, buffer_slice, host_row, host_slice, from, count, list,
			EVENT));
}

HOOK cl_int clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
	size_t to_offset, size_t bytes, cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("CopyBuffer", BRICK_KERNEL_D2D, bytes);
	ENQUEUE(what, CL_FALSE,
		clEnqueueCopyBuffer(
			queue, from, to, from_offset, to_offset, bytes, count, list, EVENT));
}

HOOK cl_int clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem from, cl_mem to,
	const size_t *from_origin, const size_t *to_origin, const size_t *region, size_t from_row,
	size_t from_slice, size_t to_row, size_t to_slice, cl_uint count, const cl_event *list,
	cl_event *event)
{
	WHAT("CopyBufferRect", BRICK_KERNEL_D2D, volume(region));
	ENQUEUE(what, CL_FALSE,
		clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region, from_row,
			from_slice, to_row, to_slice, count, list, EVENT));
}

HOOK cl_int clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer, const void *pattern,
	size_t pattern_bytes, size_t offset, size_t bytes, cl_uint count, const cl_event *list,
	cl_event *event)
{
	WHAT("FillBuffer", BRICK_KERNEL_FILL, bytes);
	ENQUEUE(what, CL_FALSE,
		clEnqueueFillBuffer(
			queue, buffer, pattern, pattern_bytes, offset, bytes, count, list, EVENT));
}

HOOK cl_int clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void *to, const void *from,
	size_t bytes, cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("SVMMemcpy", BRICK_KERNEL_D2D, bytes);
	ENQUEUE(what, blocking,
		clEnqueueSVMMemcpy(queue, blocking, to, from, bytes, count, list, EVENT));
}

HOOK cl_int clEnqueueSVMMemFill(cl_command_queue queue, void *memory, const void *pattern,
	size_t pattern_bytes, size_t bytes, cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("SVMMemFill", BRICK_KERNEL_FILL, bytes);
	ENQUEUE(what, CL_FALSE,
		clEnqueueSVMMemFill(
			queue, memory, pattern, pattern_bytes, bytes, count, list, EVENT));
}

HOOK cl_int clEnqueueSVMFree(cl_command_queue queue, cl_uint n, void **pointers,
	void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void **, void *), void *data,
	cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("SVMFree", BRICK_KERNEL_OTHER, 0);
	ENQUEUE(what, CL_FALSE,
		clEnqueueSVMFree(queue, n, pointers, function, data, count, list, EVENT));
}

HOOK cl_int clEnqueueSVMMap(cl_command_queue queue, cl_bool blocking, cl_map_flags flags,
	void *memory, size_t bytes, cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("SVMMap", BRICK_KERNEL_OTHER, bytes);
	ENQUEUE(what, blocking,
		clEnqueueSVMMap(queue, blocking, flags, memory, bytes, count, list, EVENT));
}

HOOK cl_int clEnqueueSVMUnmap(
	cl_command_queue queue, void *memory, cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("SVMUnmap", BRICK_KERNEL_OTHER, 0);
	ENQUEUE(what, CL_FALSE, clEnqueueSVMUnmap(queue, memory, count, list, EVENT));
}

HOOK cl_int clEnqueueSVMMigrateMem(cl_command_queue queue, cl_uint n, const void **pointers,
	const size_t *sizes, cl_mem_migration_flags flags, cl_uint count, const cl_event *list,
	cl_event *event)
{
	WHAT("SVMMigrateMem", BRICK_KERNEL_OTHER, 0);
	ENQUEUE(what, CL_FALSE,
		clEnqueueSVMMigrateMem(queue, n, pointers, sizes, flags, count, list, EVENT));
}
