/* SPDX-License-Identifier: Apache-2.0 */
/* Mapping, migrating, markers and barriers. */
#include "attach/opencl/opencl_hooks.h"

/* Those that return a pointer, with the error elsewhere. */
#define MAP(what, call)                                              \
	do {                                                         \
		const struct driver *d = DRIVER();                   \
		struct command command;                              \
		cl_int status = CL_SUCCESS;                          \
		void *pointer;                                       \
		command_begin(&command, queue, event, blocking);     \
		pointer = d->call;                                   \
		if (command_was_too_much(&command, status))          \
			pointer = d->call;                           \
		if (command_is_recorded(&command, status))           \
			command_end(&command, &(what), count, list); \
		if (error)                                           \
			*error = status;                             \
		return pointer;                                      \
	} while (0)

HOOK void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
	cl_map_flags flags, size_t offset, size_t bytes, cl_uint count, const cl_event *list,
	cl_event *event, cl_int *error)
{
	WHAT("MapBuffer", BRICK_KERNEL_OTHER, bytes);

	MAP(what, clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes, count, list,
			  EVENT, &status));
}

HOOK void *clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
	cl_map_flags flags, const size_t *origin, const size_t *region, size_t *row, size_t *slice,
	cl_uint count, const cl_event *list, cl_event *event, cl_int *error)
{
	WHAT("MapImage", BRICK_KERNEL_OTHER, 0);

	MAP(what, clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice,
			  count, list, EVENT, &status));
}

HOOK cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *pointer,
	cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("Unmap", BRICK_KERNEL_OTHER, 0);

	ENQUEUE(&what, CL_FALSE,
		clEnqueueUnmapMemObject(queue, memory, pointer, count, list, EVENT));
}

ENQUEUES(MigrateMemObjects, BRICK_KERNEL_OTHER, 0, CL_FALSE,
	(cl_uint n, const cl_mem *objects, cl_mem_migration_flags flags), (n, objects, flags))

HOOK cl_int clEnqueueMarkerWithWaitList(
	cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("Marker", BRICK_KERNEL_OTHER, 0);

	ENQUEUE(&what, CL_FALSE, clEnqueueMarkerWithWaitList(queue, count, list, EVENT));
}

HOOK cl_int clEnqueueBarrierWithWaitList(
	cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("Barrier", BRICK_KERNEL_OTHER, 0);

	ENQUEUE(&what, CL_FALSE, clEnqueueBarrierWithWaitList(queue, count, list, EVENT));
}

/* Of OpenCL 1.0; without an event it is an error, which ours would hide. */
HOOK cl_int clEnqueueMarker(cl_command_queue queue, cl_event *event)
{
	WHAT("Marker", BRICK_KERNEL_OTHER, 0);
	const cl_uint count = 0;
	const cl_event *list = NULL;

	if (!event)
		return DRIVER()->clEnqueueMarker(queue, event);
	ENQUEUE(&what, CL_FALSE, clEnqueueMarker(queue, EVENT));
}
