/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that embeds Brick and makes an OpenCL queue for every piece of its work: a brick of one
 * fill each, by markers. Queues go before or after the times of their bricks have come. Exit 77:
 * there is no device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <CL/cl.h>
#include "brick/brick.h"
#include "brick/device.h"
#include "brick/opencl.h"

enum { QUEUES = 100, BYTES = 1 << 16 };

static void run_one(struct brick_device *d, cl_context context, cl_device_id device, cl_mem memory,
	int is_drained)
{
	cl_command_queue queue =
		clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, NULL);
	cl_int zero = 0;
	brick_device_span span = brick_device_begin(d, queue, BRICK_RMS_NORM, 0);

	clEnqueueFillBuffer(queue, memory, &zero, sizeof zero, 0, BYTES, 0, NULL, NULL);
	brick_device_end(d, queue, span, 0, 0, 0);
	if (is_drained) {
		clFinish(queue);
		brick_device_drain(d);
	}
	clReleaseCommandQueue(queue);
}

int main(void)
{
	struct brick_backend_options native = {.size = sizeof native};
	struct brick_device *d;
	cl_platform_id platform;
	cl_device_id device;
	char why[256];

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 77;
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, NULL);
	native.native[0] = context;
	native.native[1] = device;
	brick_session_start(NULL);
	if (brick_device_open(&d, brick_backend_find("opencl"), &native, why, sizeof why)) {
		puts(why);
		return 1;
	}
	for (int i = 0; i < QUEUES; i++)
		run_one(d, context, device, memory, i % 4 != 3);
	int error = brick_device_finish(d);
	brick_device_close(d);
	struct brick_stats stats = BRICK_STATS_INIT;
	brick_device_stats_get(BRICK_RMS_NORM, &stats);
	printf("%llu bricks, %s\n", (unsigned long long)stats.count,
		error < 0 ? brick_strerror(error) : "finished");
	clReleaseMemObject(memory);
	clReleaseContext(context);
	return error < 0;
}
