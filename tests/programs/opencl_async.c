/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of async_steps.h on an OpenCL device. Exit 77: there is none. */
#include <CL/cl.h>
#include "tests/programs/async_steps.h"

enum { ITEMS = 1024, ROUNDS = 4000 };

static const char *const source =
	"__kernel void spin(__global float *x, int n)\n"
	"{\n\tfloat v = x[get_global_id(0)];\n\tfor (int i = 0; i < n; i++)\n"
	"\t\tv = v * 0.5f + 1.0f;\n\tx[get_global_id(0)] = v;\n}\n";

static cl_command_queue queue;
static cl_kernel spin;
static cl_event events[2];

static void device_launch(int which)
{
	const cl_int rounds = ROUNDS * (1 + which);
	const size_t items = ITEMS;

	clSetKernelArg(spin, 1, sizeof rounds, &rounds);
	clEnqueueNDRangeKernel(queue, spin, 1, NULL, &items, NULL, 0, NULL, &events[which]);
	clFlush(queue);
}

static void device_wait(void)
{
	clFinish(queue);
}

static void device_print(void)
{
	for (int i = 0; i < 2; i++) {
		cl_ulong begin = 0, end = 0;
		clGetEventProfilingInfo(
			events[i], CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL);
		clGetEventProfilingInfo(
			events[i], CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
		clReleaseEvent(events[i]);
		printf("command %llu %llu\n", (unsigned long long)begin, (unsigned long long)end);
	}
}

int main(void)
{
	cl_platform_id platform;
	cl_device_id device;
	size_t items = 1;
	cl_int no_rounds = 1;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
		return 77;
	cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	cl_mem memory =
		clCreateBuffer(context, CL_MEM_READ_WRITE, ITEMS * sizeof(float), NULL, NULL);
	cl_program program =
		clCreateProgramWithSource(context, 1, (const char **)&source, NULL, NULL);
	queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, NULL);
	if (clBuildProgram(program, 1, &device, NULL, NULL, NULL) != CL_SUCCESS)
		return 1;
	spin = clCreateKernel(program, "spin", NULL);
	clSetKernelArg(spin, 0, sizeof memory, &memory);
	clSetKernelArg(spin, 1, sizeof no_rounds, &no_rounds);
	/* so that it is compiled */
	clEnqueueNDRangeKernel(queue, spin, 1, NULL, &items, NULL, 0, NULL, NULL);
	clFinish(queue);
	async_steps();
	return 0;
}
