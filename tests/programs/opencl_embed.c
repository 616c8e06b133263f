/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An OpenCL program that embeds Brick, for runs under `brick record`: every kernel of its own is to
 * be told once, by whoever times it. Exit 1: something failed, 77: no driver.
 *
 *   opencl_embed timer     ten kernels, each between a start and an end of a timer
 *   opencl_embed closed    a brick with a kernel, the device is closed, ten kernels
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <CL/cl.h>
#include "brick/brick.h"
#include "brick/device.h"

#define FUNCTIONS(X)                 \
	X(clBuildProgram)            \
	X(clCreateBuffer)            \
	X(clCreateCommandQueue)      \
	X(clCreateContext)           \
	X(clCreateKernel)            \
	X(clCreateProgramWithSource) \
	X(clEnqueueNDRangeKernel)    \
	X(clFinish)                  \
	X(clGetDeviceIDs)            \
	X(clGetPlatformIDs)          \
	X(clReleaseCommandQueue)     \
	X(clSetKernelArg)

static struct {
#define FIELD(name) __typeof__(name) *name;
	FUNCTIONS(FIELD)
} cl;

enum { KERNELS = 10, BYTES = 4096 };

static const char *source = "__kernel void one(__global uchar *x) { x[get_global_id(0)] += 1; }\n";

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;

static int open_library(void)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	cl_platform_id platform;

	if (!library)
		return 0;
#define LOAD(name)                                            \
	{                                                     \
		void *function = dlsym(library, #name);       \
		memcpy(&cl.name, &function, sizeof function); \
	}
	FUNCTIONS(LOAD)
	return !cl.clGetPlatformIDs(1, &platform, NULL) &&
	       !cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL);
}

static void start(void)
{
	cl_int error;

	context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	queue = cl.clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &error);
	cl_program program = cl.clCreateProgramWithSource(context, 1, &source, NULL, &error);
	cl.clBuildProgram(program, 1, &device, "", NULL, NULL);
	kernel = cl.clCreateKernel(program, "one", &error);
	cl_mem buffer = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
	cl.clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
}

static int launch(void)
{
	const size_t items = BYTES;
	return cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL) != 0;
}

static struct brick_device *open_device(void)
{
	const struct brick_backend_options options = {
		.size = sizeof options, .native = {context, device}};
	struct brick_device *opened = NULL;
	char why[256] = "";

	if (brick_device_open(&opened, brick_backend_find("opencl"), &options, why, sizeof why)) {
		puts(why);
		exit(1);
	}
	return opened;
}

static int run_timer(struct brick_device *timing)
{
	struct brick_timer *timer = NULL;
	uint64_t ns;
	int failures = brick_timer_create(&timer, timing) != 0;

	for (int i = 0; i < KERNELS; i++) {
		failures += brick_timer_start(timer, queue) != 0;
		failures += launch();
		failures += brick_timer_stop(timer, queue) != 0;
		cl.clFinish(queue);
		failures += brick_timer_elapsed_ns(timer, &ns) != 0;
	}
	brick_timer_destroy(timer);
	brick_device_close(timing);
	return failures;
}

static int run_closed(struct brick_device *timing)
{
	brick_device_span span = brick_device_begin(timing, queue, BRICK_RMS_NORM, 0);
	int failures = launch();

	brick_device_end(timing, queue, span, BYTES, 0, 0);
	cl.clFinish(queue);
	failures += brick_device_drain(timing) != 1;
	brick_device_close(timing);
	for (int i = 0; i < KERNELS; i++)
		failures += launch();
	return failures;
}

int main(int argc, char **argv)
{
	if (!open_library())
		return 77;
	start();
	struct brick_device *timing = open_device();
	int failures =
		argc > 1 && !strcmp(argv[1], "timer") ? run_timer(timing) : run_closed(timing);
	cl.clFinish(queue);
	cl.clReleaseCommandQueue(queue);
	return failures != 0;
}
