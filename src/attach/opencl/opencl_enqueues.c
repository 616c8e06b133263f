/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of all that a program puts into a queue, and of its programs and kernels. They call the
 * driver as the program would have, with an event of ours where it gave none, and hand the command
 * to whoever waits for its times.
 */
#include "attach/opencl/opencl_command.h"
#include "attach/opencl/opencl_driver.h"
#include "attach/opencl/opencl_kernels.h"
#include "brick/brick.h"

/*
 * A hook's kind of command, and the bytes that it moves: the arguments of a call are looked into
 * when the driver has taken it, since it refuses many that lead nowhere.
 */
#define WHAT(text, which) static struct command_kind kind = {text, which, 0}
#define MOVED(size) (&(struct command_what){.kind = &kind, .bytes = (size)})

/*
 * The body of a hook that enqueues something. `what` says it where it is recorded; `call` is the
 * call of the driver, with EVENT in place of the program's event. Needs parameters named queue,
 * count, list and event.
 */
#define EVENT command.event
#define ENQUEUE(what, is_blocking, call)                            \
	do {                                                        \
		const struct driver *d = DRIVER();                  \
		struct command command;                             \
		cl_int status;                                      \
		command_begin(&command, queue, event, is_blocking); \
		status = d->call;                                   \
		if (command_was_too_much(&command, status))         \
			status = d->call;                           \
		if (command_is_recorded(&command, status))          \
			command_end(&command, what, count, list);   \
		return status;                                      \
	} while (0)

/*
 * The hook of clEnqueue<name>, which moves so many bytes: the parameters that it has between the
 * queue and the list and event, and what the driver gets for them.
 */
#define BARE(...) __VA_ARGS__
#define ENQUEUES(name, which, size, is_blocking, parameters, arguments)                     \
	HOOK cl_int clEnqueue##name(cl_command_queue queue, BARE parameters, cl_uint count, \
		const cl_event *list, cl_event *event)                                      \
	{                                                                                   \
		WHAT(#name, which);                                                         \
		ENQUEUE(MOVED(size), is_blocking,                                           \
			clEnqueue##name(queue, BARE arguments, count, list, EVENT));        \
	}

/* Programs, kernels and their launches. */

HOOK cl_program clCreateProgramWithSource(cl_context context, cl_uint count, const char **strings,
	const size_t *lengths, cl_int *error)
{
	const struct driver *d = DRIVER();
	cl_program program = d->clCreateProgramWithSource(context, count, strings, lengths, error);

	if (program && brick_enabled())
		kernels_program(program, count, strings, lengths);
	return program;
}

HOOK cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error)
{
	cl_kernel kernel = DRIVER()->clCreateKernel(program, name, error);

	if (kernel && brick_enabled())
		kernels_created(kernel);
	return kernel;
}

HOOK cl_int clCreateKernelsInProgram(
	cl_program program, cl_uint capacity, cl_kernel *kernels, cl_uint *count)
{
	const struct driver *d = DRIVER();
	cl_uint n = 0;
	cl_int status = d->clCreateKernelsInProgram(program, capacity, kernels, &n);

	if (status == CL_SUCCESS && count)
		*count = n;
	for (cl_uint i = 0; status == CL_SUCCESS && kernels && brick_enabled() && i < n; i++)
		kernels_created(kernels[i]);
	return status;
}

HOOK cl_kernel clCloneKernel(cl_kernel source, cl_int *error)
{
	cl_kernel kernel = DRIVER()->clCloneKernel(source, error);

	if (kernel && brick_enabled())
		kernels_created(kernel);
	return kernel;
}

/* No value: local memory (or no buffer). */
HOOK cl_int clSetKernelArg(cl_kernel kernel, cl_uint index, size_t bytes, const void *value)
{
	cl_int status = DRIVER()->clSetKernelArg(kernel, index, bytes, value);

	if (!value && status == CL_SUCCESS && brick_enabled())
		kernels_local_changed(kernel);
	return status;
}

/* Describes a launch. That needs the queue's device, so it is asked only for recorded commands. */
static const struct command_what *enqueues_launch_of(struct command_what *what,
	const struct command *command, cl_kernel kernel, cl_uint dimensions, const size_t *global,
	const size_t *local)
{
	what->kernel = kernels_launch(kernel, command->queue->device, dimensions, global, local);
	return what;
}

HOOK cl_int clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
	const size_t *offset, const size_t *global, const size_t *local, cl_uint count,
	const cl_event *list, cl_event *event)
{
	struct command_what what = {0};

	ENQUEUE(enqueues_launch_of(&what, &command, kernel, dimensions, global, local), CL_FALSE,
		clEnqueueNDRangeKernel(
			queue, kernel, dimensions, offset, global, local, count, list, EVENT));
}

HOOK cl_int clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count,
	const cl_event *list, cl_event *event)
{
	static const size_t one = 1;
	struct command_what what = {0};

	ENQUEUE(enqueues_launch_of(&what, &command, kernel, 1, &one, &one), CL_FALSE,
		clEnqueueTask(queue, kernel, count, list, EVENT));
}

ENQUEUES(NativeKernel, BRICK_KERNEL_COMPUTE, 0, CL_FALSE,
	(void(CL_CALLBACK * function)(void *), void *arguments, size_t bytes, cl_uint n,
		const cl_mem *memory, const void **places),
	(function, arguments, bytes, n, memory, places))

/* Buffers and shared virtual memory. */

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

/* Images: their bytes are the region's pixels times the size of one. */

static uint64_t image_bytes(cl_mem image, const size_t *region)
{
	const struct driver *d = driver_get();
	size_t each = 0;

	if (!d || !region || !d->clGetImageInfo ||
		d->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(each), &each, NULL) !=
			CL_SUCCESS)
		return 0;
	return (uint64_t)region[0] * region[1] * region[2] * each;
}

ENQUEUES(ReadImage, BRICK_KERNEL_D2H, image_bytes(image, region), blocking,
	(cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
		size_t slice, void *to),
	(image, blocking, origin, region, row, slice, to))

ENQUEUES(WriteImage, BRICK_KERNEL_H2D, image_bytes(image, region), blocking,
	(cl_mem image, cl_bool blocking, const size_t *origin, const size_t *region, size_t row,
		size_t slice, const void *from),
	(image, blocking, origin, region, row, slice, from))

ENQUEUES(CopyImage, BRICK_KERNEL_D2D, image_bytes(from, region), CL_FALSE,
	(cl_mem from, cl_mem to, const size_t *from_origin, const size_t *to_origin,
		const size_t *region),
	(from, to, from_origin, to_origin, region))

ENQUEUES(CopyImageToBuffer, BRICK_KERNEL_D2D, image_bytes(from, region), CL_FALSE,
	(cl_mem from, cl_mem to, const size_t *origin, const size_t *region, size_t offset),
	(from, to, origin, region, offset))

ENQUEUES(CopyBufferToImage, BRICK_KERNEL_D2D, image_bytes(to, region), CL_FALSE,
	(cl_mem from, cl_mem to, size_t offset, const size_t *origin, const size_t *region),
	(from, to, offset, origin, region))

ENQUEUES(FillImage, BRICK_KERNEL_FILL, image_bytes(image, region), CL_FALSE,
	(cl_mem image, const void *colour, const size_t *origin, const size_t *region),
	(image, colour, origin, region))

/* Mapping, migrating, markers and barriers. */

/* Those that return a pointer, with the error elsewhere. */
#define MAP(what, call)                                           \
	do {                                                      \
		const struct driver *d = DRIVER();                \
		struct command command;                           \
		cl_int status = CL_SUCCESS;                       \
		void *pointer;                                    \
		command_begin(&command, queue, event, blocking);  \
		pointer = d->call;                                \
		if (command_was_too_much(&command, status))       \
			pointer = d->call;                        \
		if (command_is_recorded(&command, status))        \
			command_end(&command, what, count, list); \
		if (error)                                        \
			*error = status;                          \
		return pointer;                                   \
	} while (0)

HOOK void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
	cl_map_flags flags, size_t offset, size_t bytes, cl_uint count, const cl_event *list,
	cl_event *event, cl_int *error)
{
	WHAT("MapBuffer", BRICK_KERNEL_OTHER);

	MAP(MOVED(bytes), clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, bytes, count,
				  list, EVENT, &status));
}

HOOK void *clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
	cl_map_flags flags, const size_t *origin, const size_t *region, size_t *row, size_t *slice,
	cl_uint count, const cl_event *list, cl_event *event, cl_int *error)
{
	WHAT("MapImage", BRICK_KERNEL_OTHER);

	MAP(MOVED(0), clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice,
			      count, list, EVENT, &status));
}

HOOK cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem memory, void *pointer,
	cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("Unmap", BRICK_KERNEL_OTHER);

	ENQUEUE(MOVED(0), CL_FALSE,
		clEnqueueUnmapMemObject(queue, memory, pointer, count, list, EVENT));
}

ENQUEUES(MigrateMemObjects, BRICK_KERNEL_OTHER, 0, CL_FALSE,
	(cl_uint n, const cl_mem *objects, cl_mem_migration_flags flags), (n, objects, flags))

HOOK cl_int clEnqueueMarkerWithWaitList(
	cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("Marker", BRICK_KERNEL_OTHER);

	ENQUEUE(MOVED(0), CL_FALSE, clEnqueueMarkerWithWaitList(queue, count, list, EVENT));
}

HOOK cl_int clEnqueueBarrierWithWaitList(
	cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event)
{
	WHAT("Barrier", BRICK_KERNEL_OTHER);

	ENQUEUE(MOVED(0), CL_FALSE, clEnqueueBarrierWithWaitList(queue, count, list, EVENT));
}

/* From OpenCL 1.0. Without an event it is an error, which ours would hide. */
HOOK cl_int clEnqueueMarker(cl_command_queue queue, cl_event *event)
{
	WHAT("Marker", BRICK_KERNEL_OTHER);
	const cl_uint count = 0;
	const cl_event *list = NULL;

	if (!event)
		return DRIVER()->clEnqueueMarker(queue, event);
	ENQUEUE(MOVED(0), CL_FALSE, clEnqueueMarker(queue, EVENT));
}
