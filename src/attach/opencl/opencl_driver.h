/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the OpenCL library that the program uses, behind the hooks. They are found once,
 * at the program's first call or dlsym() of such a function. A second OpenCL library in the process
 * is left alone. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <CL/cl.h>
#include <CL/cl_ext.h>

/* clang-format off */
/* Functions with hooks. A new function here needs its hook. */
#define DRIVER_HOOKED(X) \
	X(clCloneKernel) X(clCreateCommandQueue) X(clCreateCommandQueueWithProperties) \
	X(clCreateKernel) X(clCreateKernelsInProgram) X(clCreateProgramWithSource) \
	X(clCreateUserEvent) X(clEnqueueBarrierWithWaitList) X(clEnqueueCopyBuffer) \
	X(clEnqueueCopyBufferRect) X(clEnqueueCopyBufferToImage) X(clEnqueueCopyImage) \
	X(clEnqueueCopyImageToBuffer) X(clEnqueueFillBuffer) X(clEnqueueFillImage) \
	X(clEnqueueMapBuffer) X(clEnqueueMapImage) X(clEnqueueMarker) \
	X(clEnqueueMarkerWithWaitList) X(clEnqueueMigrateMemObjects) \
	X(clEnqueueNDRangeKernel) X(clEnqueueNativeKernel) X(clEnqueueReadBuffer) \
	X(clEnqueueReadBufferRect) X(clEnqueueReadImage) X(clEnqueueSVMFree) \
	X(clEnqueueSVMMap) X(clEnqueueSVMMemFill) X(clEnqueueSVMMemcpy) \
	X(clEnqueueSVMMigrateMem) X(clEnqueueSVMUnmap) X(clEnqueueTask) \
	X(clEnqueueUnmapMemObject) X(clEnqueueWriteBuffer) X(clEnqueueWriteBufferRect) \
	X(clEnqueueWriteImage) X(clFinish) X(clGetCommandQueueInfo) \
	X(clGetEventProfilingInfo) X(clGetExtensionFunctionAddress) \
	X(clGetExtensionFunctionAddressForPlatform) X(clReleaseCommandQueue) \
	X(clRetainCommandQueue) X(clSetCommandQueueProperty) X(clSetKernelArg) \
	X(clWaitForEvents)

/* Functions that are only called. */
#define DRIVER_CALLED(X) \
	X(clFlush) X(clGetDeviceAndHostTimer) X(clGetDeviceInfo) X(clGetEventInfo) \
	X(clGetImageInfo) X(clGetKernelInfo) X(clGetKernelWorkGroupInfo) X(clGetPlatformIDs) \
	X(clGetPlatformInfo) X(clGetProgramInfo) X(clReleaseEvent) X(clRetainEvent)
/* clang-format on */

/* A function that the library lacks is NULL. */
struct driver {
#define DRIVER_FIELD(name) __typeof__(name) *name;
	DRIVER_HOOKED(DRIVER_FIELD)
	DRIVER_CALLED(DRIVER_FIELD)
#undef DRIVER_FIELD
};

/* The functions; NULL: not found yet. */
const struct driver *driver_get(void);

/* The functions, found for a call from this address if need be; if there is no library, all are
 * NULL. */
const struct driver *driver_find(const void *return_address);

/* For the hooks: OpenCL's header has declared them already. Nobody here calls them. */
#define HOOK __attribute__((visibility("default")))
#define DRIVER() driver_find(__builtin_return_address(0))

/* Look for the functions by the handle of a library, unless they are found. */
void driver_offer(void *handle);

/* The library's own function of that name; NULL: it has none, or no library is known. */
void *driver_function(const char *name);

/* Does an address lie in this library? */
bool driver_is_ours(const void *address);

/* Address of the C library's dlsym(). */
void *driver_real_symbol(void);

/* The C library's dlsym(). RTLD_NEXT counts from this library. */
void *driver_symbol(void *handle, const char *name);

/* Notes for the recording, each fact once per session. */

/* Note the library, platform and device of a new queue. name: set to the device's name. */
void notes_device(cl_device_id device, char *name, size_t bytes);

/* Note how a device's clock was correlated with the host's, and the greatest error. */
void notes_clock(cl_device_id device, int by_timer, uint32_t anchors, uint64_t residual_ns);

/* Notes something that could not be done. */
void notes_fault(const char *what);

/* The program uses a further OpenCL library. */
void notes_second_driver(const void *function);
