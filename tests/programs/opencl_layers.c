/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine in miniature on an OpenCL device that embeds Brick: opencl_layers MODE OUT runs four
 * steps of two layers of two bricks through brick/device.h in that mode, with its own events, and
 * writes a recording. Prints what its events say: "brick layer begin length" a line, in ns of the
 * device's clock; then "stats CATEGORY COUNT NS", as the library says it while the session runs.
 * Exit 77: no driver.
 */
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "brick/brick.h"
#include "brick/device.h"
#include "brick/opencl.h"

#define FUNCTIONS(X)                 \
	X(clBuildProgram)            \
	X(clCreateBuffer)            \
	X(clCreateCommandQueue)      \
	X(clCreateContext)           \
	X(clCreateKernel)            \
	X(clCreateProgramWithSource) \
	X(clEnqueueNDRangeKernel)    \
	X(clFinish)                  \
	X(clFlush)                   \
	X(clGetDeviceIDs)            \
	X(clGetEventProfilingInfo)   \
	X(clGetPlatformIDs)          \
	X(clSetKernelArg)

static struct {
#define FIELD(name) __typeof__(name) *name;
	FUNCTIONS(FIELD)
} cl;

enum { STEPS = 4, LAYERS = 2, PIECES = STEPS * LAYERS * 2, ITEMS = 1024 };

static const uint32_t bricks[2] = {BRICK_UP_PROJECTION, BRICK_RMS_NORM};
static const int rounds[2] = {20000, 5000};
static const char *source = "__kernel void spin(__global uint *x, int rounds) {\n"
			    "\tuint v = x[get_global_id(0)];\n"
			    "\tfor (int i = 0; i < rounds; i++) v = v * 1664525u + 1013904223u;\n"
			    "\tx[get_global_id(0)] = v;\n}\n";

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_kernel kernel;
static cl_event events[PIECES];

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
	kernel = cl.clCreateKernel(program, "spin", &error);
	cl_mem buffer = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, 4 * ITEMS, NULL, &error);
	cl.clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
}

static void run_piece(struct brick_device *d, int piece, int layer)
{
	const size_t items = ITEMS;
	brick_device_span span = brick_device_begin(d, queue, bricks[piece % 2], layer);

	cl.clSetKernelArg(kernel, 1, sizeof(int), &rounds[piece % 2]);
	if (cl.clEnqueueNDRangeKernel(
		    queue, kernel, 1, NULL, &items, NULL, 0, NULL, &events[piece]))
		exit(1);
	if (span)
		brick_opencl_event(queue, events[piece]);
	brick_device_end(d, queue, span, ITEMS, 4 * ITEMS, 0);
}

static void run_steps(struct brick_device *d)
{
	for (int step = 0; step < STEPS; step++) {
		brick_span whole = brick_step_begin(BRICK_PHASE_DECODE, 1);
		for (int layer = 0; layer < LAYERS; layer++) {
			for (int i = 0; i < 2; i++)
				run_piece(d, (step * LAYERS + layer) * 2 + i, layer);
			brick_device_layer_end(d, queue);
		}
		cl.clFinish(queue); /* the engine's own wait, of which nobody tells Brick */
		brick_end(whole);
		brick_device_drain(d);
	}
	if (brick_device_finish(d) < 0)
		exit(1);
}

static cl_ulong time_of(int piece, cl_profiling_info which)
{
	cl_ulong ns = 0;

	cl.clGetEventProfilingInfo(events[piece], which, sizeof ns, &ns, NULL);
	return ns;
}

static void say_own(void)
{
	for (int i = 0; i < PIECES; i++) {
		cl_ulong begin = time_of(i, CL_PROFILING_COMMAND_START);
		printf("%s %d %llu %llu\n", brick_name((int)bricks[i % 2]), i / 2 % LAYERS,
			(unsigned long long)begin,
			(unsigned long long)(time_of(i, CL_PROFILING_COMMAND_END) - begin));
	}
}

static void say_stats(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct brick_stats stats = BRICK_STATS_INIT;
		uint32_t category = brick_category_of(bricks[i]);
		if (!brick_category_stats_get(category, &stats))
			printf("stats %s %llu %llu\n", brick_category_name((int)category),
				(unsigned long long)stats.count,
				(unsigned long long)stats.total_ns);
	}
}

int main(int argc, char **argv)
{
	static const char *const modes[] = {"deferred", "per-layer", "immediate", "none"};
	struct brick_session_options options = BRICK_SESSION_OPTIONS_INIT;
	struct brick_backend_options native = {.size = sizeof native};
	struct brick_device *d = NULL;
	char why[256] = "";

	if (argc != 3)
		return 2;
	if (!open_library())
		return 77;
	while (options.mode < 3 && strcmp(argv[1], modes[options.mode]))
		options.mode++;
	options.output = argv[2];
	start();
	native.native[0] = context;
	native.native[1] = device;
	native.native[2] = (void *)(uintptr_t)BRICK_OPENCL_EVENTS;
	if (brick_session_start(&options) ||
		brick_device_open(&d, brick_backend_find("opencl"), &native, why, sizeof why)) {
		puts(why);
		return 1;
	}
	run_steps(d);
	say_own();
	say_stats();
	brick_device_close(d);
	return brick_session_stop() != 0;
}
