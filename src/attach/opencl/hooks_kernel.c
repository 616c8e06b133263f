/* SPDX-License-Identifier: Apache-2.0 */
/* Programs, kernels and their launches. */
#include "attach/opencl/opencl_hooks.h"
#include "attach/opencl/opencl_kernels.h"
#include "brick/brick.h"

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

/* What a launch is needs the queue's device: asked only for what is recorded. */
static const struct command_what *launch_of(struct command_what *what,
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

	ENQUEUE(launch_of(&what, &command, kernel, dimensions, global, local), CL_FALSE,
		clEnqueueNDRangeKernel(
			queue, kernel, dimensions, offset, global, local, count, list, EVENT));
}

HOOK cl_int clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint count,
	const cl_event *list, cl_event *event)
{
	static const size_t one = 1;
	struct command_what what = {0};

	ENQUEUE(launch_of(&what, &command, kernel, 1, &one, &one), CL_FALSE,
		clEnqueueTask(queue, kernel, count, list, EVENT));
}

ENQUEUES(NativeKernel, BRICK_KERNEL_COMPUTE, 0, CL_FALSE,
	(void(CL_CALLBACK * function)(void *), void *arguments, size_t bytes, cl_uint n,
		const cl_mem *memory, const void **places),
	(function, arguments, bytes, n, memory, places))
