/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of OpenCL (device_queue.h), by its loader, opened at run time. */
#include "base/members.h"
#include "analysis/machine/device_queue.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <CL/cl.h>

#define FUNCTIONS(X)                                                                       \
	EACH_NAME(X, clGetPlatformIDs, clGetDeviceIDs, clGetDeviceInfo, clCreateContext,   \
		clCreateCommandQueue, clCreateBuffer, clEnqueueFillBuffer,                 \
		clCreateProgramWithSource, clBuildProgram, clCreateKernel, clSetKernelArg, \
		clEnqueueNDRangeKernel, clFinish, clReleaseKernel, clReleaseProgram,       \
		clReleaseMemObject, clReleaseCommandQueue, clReleaseContext)

struct opencl {
#define X(name) __typeof__(name) *name;
	FUNCTIONS(X)
#undef X
	cl_mem buffer;
	cl_program program;
	cl_kernel kernels[DEVICE_JOBS];
};

/* Sums and chains end in a store that never happens, so that nobody can leave them out. */
static const char device_opencl_source[] =
	"#define KEEP(x) if (all((x) == (float4)(-1.0f))) data[0] = (x)\n"
	"kernel void read(global float4 *data, uint rounds, uint share, uint mask) {\n"
	"	uint n = get_local_size(0), first = get_group_id(0) * share;\n"
	"	float4 a = 0.0f, b = a, c = a, d = a;\n"
	"	for (uint r = 0; r < rounds; r++)\n"
	"		for (uint i = first + get_local_id(0); i < first + share; i += 4 * n) {\n"
	"			a += data[i & mask];\n"
	"			b += data[(i + n) & mask];\n"
	"			c += data[(i + 2 * n) & mask];\n"
	"			d += data[(i + 3 * n) & mask];\n"
	"		}\n"
	"	KEEP(a + b + c + d);\n"
	"}\n"
	"#define CHAINS(name, STEP) \\\n"
	"kernel void name(global float4 *data, uint rounds, uint share, uint mask) { \\\n"
	"	float4 x = 0.5f, y = 0.25f, a = (float)get_global_id(0), b = a + 1, c = a + 2; \\\n"
	"	float4 d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7; \\\n"
	"	for (uint r = 0; r < rounds; r++) { \\\n"
	"		a = STEP(a); b = STEP(b); c = STEP(c); d = STEP(d); \\\n"
	"		e = STEP(e); f = STEP(f); g = STEP(g); h = STEP(h); \\\n"
	"	} \\\n"
	"	KEEP(a + b + c + d + e + f + g + h); \\\n"
	"}\n"
	"#define FMA(a) fma(a, x, y)\n"
	"#define MUL_ADD(a) ((a) * x + y)\n"
	"CHAINS(fma_, FMA)\n"
	"CHAINS(mul_add, MUL_ADD)\n";

static int device_opencl_load(struct opencl *cl)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -ENODEV;
#define X(name)                                                          \
	cl->name = (__typeof__(name) *)(uintptr_t)dlsym(library, #name); \
	if (!cl->name)                                                   \
		return -ENODEV;
	FUNCTIONS(X)
#undef X
	return 0;
}

static cl_device_id device_at(const struct opencl *cl, unsigned index)
{
	enum { MAX = 16 };
	cl_platform_id platforms[MAX];
	cl_device_id devices[MAX];
	cl_uint count = 0, found;

	if (cl->clGetPlatformIDs(MAX, platforms, &count) != CL_SUCCESS)
		return NULL;
	for (cl_uint i = 0; i < count && i < MAX; i++) {
		if (cl->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MAX, devices, &found) !=
			CL_SUCCESS)
			continue;
		if (index < found && index < MAX)
			return devices[index];
		index -= found;
	}
	return NULL;
}

static int device_opencl_build(struct opencl *cl, cl_context context, cl_device_id device)
{
	static const char *const names[DEVICE_JOBS] = {"read", "fma_", "mul_add"};
	const char *text = device_opencl_source;
	cl_int error;

	cl->program = cl->clCreateProgramWithSource(context, 1, &text, NULL, &error);
	if (!cl->program || cl->clBuildProgram(cl->program, 1, &device, "", NULL, NULL))
		return -EIO;
	for (int i = 0; i < DEVICE_JOBS; i++) {
		cl->kernels[i] = cl->clCreateKernel(cl->program, names[i], &error);
		if (!cl->kernels[i] ||
			cl->clSetKernelArg(cl->kernels[i], 0, sizeof(cl->buffer), &cl->buffer))
			return -EIO;
	}
	return 0;
}

static int device_opencl_create(struct device_queue *q, struct opencl *cl, cl_device_id device)
{
	const cl_float half = 0.5f;
	cl_ulong most = 0;
	cl_int error;

	cl->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(q->name) - 1, q->name, NULL);
	cl->clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, NULL);
	q->bytes = device_bytes(most / 2);
	q->native[0] = cl->clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	q->native[1] = device;
	if (!q->native[0])
		return -EIO;
	q->queue =
		cl->clCreateCommandQueue(q->native[0], device, CL_QUEUE_PROFILING_ENABLE, &error);
	cl->buffer = cl->clCreateBuffer(q->native[0], CL_MEM_READ_WRITE, q->bytes, NULL, &error);
	if (!q->queue || !cl->buffer)
		return -EIO;
	error = cl->clEnqueueFillBuffer(
		q->queue, cl->buffer, &half, sizeof(half), 0, q->bytes, 0, NULL, NULL);
	return error || cl->clFinish(q->queue) ? -EIO
					       : device_opencl_build(cl, q->native[0], device);
}

/* The loader stays: drivers do not always like to be unloaded. */
static void device_opencl_close_device(struct device_queue *q)
{
	struct opencl *cl = q->own;

	for (int i = 0; cl && i < DEVICE_JOBS; i++)
		if (cl->kernels[i])
			cl->clReleaseKernel(cl->kernels[i]);
	if (cl && cl->program)
		cl->clReleaseProgram(cl->program);
	if (cl && cl->buffer)
		cl->clReleaseMemObject(cl->buffer);
	if (q->queue)
		cl->clReleaseCommandQueue(q->queue);
	if (q->native[0])
		cl->clReleaseContext(q->native[0]);
	free(cl);
	memset(q, 0, sizeof(*q));
}

static int device_opencl_open_device(struct device_queue *q, unsigned index)
{
	struct opencl *cl = calloc(1, sizeof(*cl));
	cl_device_id device = NULL;

	*q = (struct device_queue){.own = cl};
	int rc = cl ? device_opencl_load(cl) : -ENOMEM;
	if (!rc) {
		device = device_at(cl, index);
		rc = device ? device_opencl_create(q, cl, device) : -ENODEV;
	}
	if (rc)
		device_opencl_close_device(q);
	return rc;
}

static int device_opencl_prepare(struct device_queue *q)
{
	return 0;
}

static int device_opencl_run(struct device_queue *q, const struct device_run *r)
{
	const struct opencl *cl = q->own;
	cl_kernel kernel = cl->kernels[r->job];
	const cl_uint arguments[] = {r->rounds, r->share, r->set - 1};
	size_t group = r->group, items = group * r->groups;

	for (cl_uint i = 0; i < 3; i++)
		if (cl->clSetKernelArg(kernel, i + 1, sizeof(*arguments), &arguments[i]))
			return -EIO;
	return cl->clEnqueueNDRangeKernel(q->queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL)
		       ? -EIO
		       : 0;
}

const struct device_kind device_opencl = {"opencl", device_opencl_open_device,
	device_opencl_prepare, device_opencl_run, device_opencl_close_device};
