/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of OpenCL that program-opencl leaves out: rectangles, images, shared virtual memory,
 * migration, tasks, native kernels, old markers, cloned kernels. Opens the library at run time, as
 * many programs do, prints a checksum behind each command, and the error of what the driver lacks.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <CL/cl.h>

#define FUNCTIONS(X)                                \
	X(clBuildProgram)                           \
	X(clCloneKernel)                            \
	X(clCreateBuffer)                           \
	X(clCreateCommandQueue)                     \
	X(clCreateContext)                          \
	X(clCreateImage)                            \
	X(clCreateKernelsInProgram)                 \
	X(clCreateProgramWithSource)                \
	X(clEnqueueCopyBufferRect)                  \
	X(clEnqueueCopyBufferToImage)               \
	X(clEnqueueCopyImage)                       \
	X(clEnqueueCopyImageToBuffer)               \
	X(clEnqueueFillImage)                       \
	X(clEnqueueMapImage)                        \
	X(clEnqueueMarker)                          \
	X(clEnqueueMarkerWithWaitList)              \
	X(clEnqueueMigrateMemObjects)               \
	X(clEnqueueNDRangeKernel)                   \
	X(clEnqueueNativeKernel)                    \
	X(clEnqueueReadBuffer)                      \
	X(clEnqueueReadBufferRect)                  \
	X(clEnqueueReadImage)                       \
	X(clEnqueueSVMFree)                         \
	X(clEnqueueSVMMap)                          \
	X(clEnqueueSVMMemFill)                      \
	X(clEnqueueSVMMemcpy)                       \
	X(clEnqueueSVMMigrateMem)                   \
	X(clEnqueueSVMUnmap)                        \
	X(clEnqueueTask)                            \
	X(clEnqueueUnmapMemObject)                  \
	X(clEnqueueWriteBuffer)                     \
	X(clEnqueueWriteBufferRect)                 \
	X(clEnqueueWriteImage)                      \
	X(clFinish)                                 \
	X(clGetDeviceIDs)                           \
	X(clGetExtensionFunctionAddressForPlatform) \
	X(clGetPlatformIDs)                         \
	X(clReleaseCommandQueue)                    \
	X(clReleaseContext)                         \
	X(clReleaseEvent)                           \
	X(clRetainCommandQueue)                     \
	X(clSVMAlloc)                               \
	X(clSetKernelArg)

static struct {
#define FIELD(name) __typeof__(name) *name;
	FUNCTIONS(FIELD)
} cl;

enum { SIDE = 32, BYTES = SIDE * SIDE * 4 };

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;
static cl_mem a, b;
static unsigned char data[BYTES], result[BYTES];

static const char *const source[] = {
	"__kernel void one(__global uchar *x) { x[get_global_id(0)] += 1; }\n"
	"__kernel void two(__global uchar *x) { x[get_global_id(0)] ^= 85; }\n"};

static void show(const char *what, cl_int status)
{
	unsigned long sum = 0;

	cl.clFinish(queue);
	for (int i = 0; i < BYTES; i++)
		sum = sum * 31 + result[i];
	printf("%s: %d %lx\n", what, status, sum);
}

static void fetch(const char *what, cl_mem from, cl_int status)
{
	memset(result, 0, sizeof result);
	cl.clEnqueueReadBuffer(queue, from, CL_TRUE, 0, BYTES, result, 0, NULL, NULL);
	show(what, status);
}

static void rectangles(void)
{
	const size_t host[] = {4, 3, 0}, there[] = {8, 5, 1}, region[] = {16, 6, 2};
	const size_t row = 64, slice = row * 16, host_row = 48, host_slice = host_row * 12;
	cl_int status = cl.clEnqueueWriteBufferRect(queue, a, CL_FALSE, there, host, region, row,
		slice, host_row, host_slice, data, 0, NULL, NULL);

	fetch("WriteBufferRect", a, status);
	status = cl.clEnqueueCopyBufferRect(
		queue, a, b, there, host, region, row, slice, host_row, host_slice, 0, NULL, NULL);
	fetch("CopyBufferRect", b, status);
	memset(result, 0, sizeof result);
	status = cl.clEnqueueReadBufferRect(queue, a, CL_TRUE, there, host, region, row, slice,
		host_row, host_slice, result, 0, NULL, NULL);
	show("ReadBufferRect", status);
}

static cl_mem make_image(void)
{
	const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
	const cl_image_desc shape = {
		.image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = SIDE, .image_height = SIDE};
	cl_int error;
	cl_mem image = cl.clCreateImage(context, CL_MEM_READ_WRITE, &format, &shape, NULL, &error);

	printf("image: %d\n", error);
	return image;
}

static void images(void)
{
	const size_t zero[3] = {0}, origin[] = {3, 5, 0}, part[] = {16, 8, 1},
		     all[] = {SIDE, SIDE, 1};
	const cl_uint colour[] = {1, 2, 3, 4};
	cl_mem x = make_image(), y = make_image();
	size_t row = 0, slice = 0;
	cl_event event = NULL;
	cl_int status, error = 0;

	status = cl.clEnqueueFillImage(queue, x, colour, zero, all, 0, NULL, NULL);
	status |= cl.clEnqueueFillImage(queue, y, colour, zero, all, 0, NULL, NULL);
	status |= cl.clEnqueueWriteImage(
		queue, x, CL_FALSE, origin, part, 80, 0, data, 0, NULL, NULL);
	status |= cl.clEnqueueCopyImage(queue, x, y, origin, zero, part, 0, NULL, &event);
	status |= cl.clEnqueueCopyImageToBuffer(queue, y, b, zero, all, 0, 1, &event, NULL);
	fetch("images", b, status);
	status = cl.clEnqueueCopyBufferToImage(queue, a, y, 64, origin, part, 0, NULL, NULL);
	memset(result, 0, sizeof result);
	status |= cl.clEnqueueReadImage(queue, y, CL_TRUE, zero, all, 0, 0, result, 0, NULL, NULL);
	show("ReadImage", status);
	unsigned char *at = cl.clEnqueueMapImage(
		queue, x, CL_TRUE, CL_MAP_READ, origin, part, &row, &slice, 0, NULL, NULL, &error);
	printf("MapImage: %d %d, row %zu, slice %zu\n", error, at ? at[row + 5] : -1, row, slice);
	show("Unmap", cl.clEnqueueUnmapMemObject(queue, x, at, 0, NULL, NULL));
	if (event)
		cl.clReleaseEvent(event);
}

static void shared_memory(void)
{
	unsigned char *x = cl.clSVMAlloc(context, CL_MEM_READ_WRITE, BYTES, 0);
	const size_t bytes = BYTES;
	cl_int status;

	printf("SVM: %d\n", x != NULL);
	if (!x)
		return;
	status = cl.clEnqueueSVMMemFill(queue, x, "xyz!", 4, BYTES, 0, NULL, NULL);
	status |= cl.clEnqueueSVMMemcpy(queue, CL_TRUE, x + 100, data, 200, 0, NULL, NULL);
	status |= cl.clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, x, BYTES, 0, NULL, NULL);
	memcpy(result, x, BYTES);
	status |= cl.clEnqueueSVMUnmap(queue, x, 0, NULL, NULL);
	show("SVM", status);
	printf("SVMMigrateMem: %d\n",
		cl.clEnqueueSVMMigrateMem(queue, 1, (const void *[]){x}, &bytes, 0, 0, NULL, NULL));
	printf("SVMFree: %d\n",
		cl.clEnqueueSVMFree(queue, 1, (void *[]){x}, NULL, NULL, 0, NULL, NULL));
	cl.clFinish(queue);
}

static void CL_CALLBACK native(void *argument)
{
	int *const *value = argument;

	**value += 41;
}

static void kernels(void)
{
	const size_t items = BYTES;
	cl_kernel all[2], copy;
	cl_uint count = 0;
	cl_int error;
	cl_program program = cl.clCreateProgramWithSource(
		context, 1, (const char **)(uintptr_t)source, NULL, &error);
	int value = 1, *pointer = &value;

	cl.clBuildProgram(program, 1, &device, "", NULL, NULL);
	error = cl.clCreateKernelsInProgram(program, 2, all, &count);
	printf("kernels: %d %u\n", error, count);
	for (cl_uint i = 0; i < count; i++) {
		cl.clSetKernelArg(all[i], 0, sizeof b, &b);
		cl.clEnqueueNDRangeKernel(queue, all[i], 1, NULL, &items, NULL, 0, NULL, NULL);
	}
	fetch("two kernels", b, error);
	copy = cl.clCloneKernel ? cl.clCloneKernel(all[0], &error) : NULL;
	printf("clone: %d\n", error);
	if (copy)
		fetch("task", b, cl.clEnqueueTask(queue, copy, 0, NULL, NULL));
	error = cl.clEnqueueNativeKernel(
		queue, native, &pointer, sizeof pointer, 0, NULL, NULL, 0, NULL, NULL);
	cl.clFinish(queue);
	printf("native: %d %d\n", error, value);
}

static void others(void)
{
	cl_event event = NULL;

	printf("migrate: %d\n", cl.clEnqueueMigrateMemObjects(
					queue, 1, &a, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
	printf("marker: %d", cl.clEnqueueMarker(queue, &event));
	printf(" %d\n", event != NULL);
	printf("marker without an event: %d\n", cl.clEnqueueMarker(queue, NULL));
	printf("marker that waits: %d\n",
		cl.clEnqueueMarkerWithWaitList(queue, event != NULL, event ? &event : NULL, NULL));
	printf("by its address: %d\n", cl.clGetExtensionFunctionAddressForPlatform(
					       platform, "clEnqueueNoSuchThing") != NULL);
	cl.clFinish(queue);
	if (event)
		cl.clReleaseEvent(event);
}

int main(void)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	cl_int error;

	if (!library)
		return 77;
#define LOAD(name)                                            \
	{                                                     \
		void *function = dlsym(library, #name);       \
		memcpy(&cl.name, &function, sizeof function); \
	}
	FUNCTIONS(LOAD)
	if (cl.clGetPlatformIDs(1, &platform, NULL) ||
		cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL))
		return 77;
	context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	queue = cl.clCreateCommandQueue(context, device, 0, &error);
	a = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
	b = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
	for (int i = 0; i < BYTES; i++)
		data[i] = (unsigned char)(i * 7 + i / 256);
	cl.clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, BYTES, data, 0, NULL, NULL);
	cl.clEnqueueWriteBuffer(queue, b, CL_TRUE, 0, BYTES, data, 0, NULL, NULL);
	rectangles();
	images();
	shared_memory();
	kernels();
	others();
	printf("queue: %d", cl.clRetainCommandQueue(queue));
	printf(" %d", cl.clReleaseCommandQueue(queue));
	printf(" %d\n", cl.clReleaseCommandQueue(queue));
	return cl.clReleaseContext(context);
}
