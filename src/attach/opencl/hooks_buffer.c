/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers of buffers and of shared virtual memory. */
#include "attach/opencl/opencl_hooks.h"

static uint64_t volume(const size_t *region)
{
	return region ? (uint64_t)region[0] * region[1] * region[2] : 0;
}

ENQUEUES(ReadBuffer, BRICK_KERNEL_D2H, bytes, blocking,
	(cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes, void *to),
	(buffer, blocking, offset, bytes, to))

ENQUEUES(WriteBuffer, BRICK_KERNEL_H2D, bytes, blocking,
	(cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes, const void *from),
	(buffer, blocking, offset, bytes, from))

ENQUEUES(ReadBufferRect, BRICK_KERNEL_D2H, volume(region), blocking,
	(cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *host_origin,
		const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row,
		size_t host_slice, void *to),
	(buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row,
		host_slice, to))

ENQUEUES(WriteBufferRect, BRICK_KERNEL_H2D, volume(region), blocking,
	(cl_mem buffer, cl_bool blocking, const size_t *buffer_origin, const size_t *host_origin,
		const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row,
		size_t host_slice, const void *from),
	(buffer, blocking, buffer_origin, host_origin, region, buffer_row, buffer_slice, host_row,
		host_slice, from))

ENQUEUES(CopyBuffer, BRICK_KERNEL_D2D, bytes, CL_FALSE,
	(cl_mem from, cl_mem to, size_t from_offset, size_t to_offset, size_t bytes),
	(from, to, from_offset, to_offset, bytes))

ENQUEUES(CopyBufferRect, BRICK_KERNEL_D2D, volume(region), CL_FALSE,
	(cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
		const size_t *region, size_t from_row, size_t from_slice, size_t to_row,
		size_t to_slice),
	(from, to, from_origin, to_origin, region, from_row, from_slice, to_row, to_slice))

ENQUEUES(FillBuffer, BRICK_KERNEL_FILL, bytes, CL_FALSE,
	(cl_mem buffer, const void *pattern, size_t pattern_bytes, size_t offset, size_t bytes),
	(buffer, pattern, pattern_bytes, offset, bytes))

ENQUEUES(SVMMemcpy, BRICK_KERNEL_D2D, bytes, blocking,
	(cl_bool blocking, void *to, const void *from, size_t bytes), (blocking, to, from, bytes))

ENQUEUES(SVMMemFill, BRICK_KERNEL_FILL, bytes, CL_FALSE,
	(void *memory, const void *pattern, size_t pattern_bytes, size_t bytes),
	(memory, pattern, pattern_bytes, bytes))

ENQUEUES(SVMFree, BRICK_KERNEL_OTHER, 0, CL_FALSE,
	(cl_uint n, void **pointers,
		void(CL_CALLBACK *function)(cl_command_queue, cl_uint, void **, void *),
		void *data),
	(n, pointers, function, data))

ENQUEUES(SVMMap, BRICK_KERNEL_OTHER, bytes, blocking,
	(cl_bool blocking, cl_map_flags flags, void *memory, size_t bytes),
	(blocking, flags, memory, bytes))

ENQUEUES(SVMUnmap, BRICK_KERNEL_OTHER, 0, CL_FALSE, (void *memory), (memory))

ENQUEUES(SVMMigrateMem, BRICK_KERNEL_OTHER, 0, CL_FALSE,
	(cl_uint n, const void **pointers, const size_t *sizes, cl_mem_migration_flags flags),
	(n, pointers, sizes, flags))
