/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of the OpenCL library that the program uses, behind our hooks: found once, when
 * the program first calls one of them or asks dlsym() for one. A second library of OpenCL in the
 * same process is left alone. Any thread.
 */
#pragma once

#include <CL/cl.h>
#include "base/members.h"

/* Those that we stand in front of. */
#define DRIVER_HOOKED(X)                                                                           \
	EACH_NAME(X, clCloneKernel, clCreateCommandQueue, clCreateCommandQueueWithProperties,      \
		clCreateKernel, clCreateKernelsInProgram, clCreateProgramWithSource,               \
		clCreateUserEvent)                                                                 \
	EACH_NAME(X, clEnqueueBarrierWithWaitList, clEnqueueCopyBuffer, clEnqueueCopyBufferRect,   \
		clEnqueueCopyBufferToImage, clEnqueueCopyImage, clEnqueueCopyImageToBuffer,        \
		clEnqueueFillBuffer, clEnqueueFillImage, clEnqueueMapBuffer, clEnqueueMapImage,    \
		clEnqueueMarker, clEnqueueMarkerWithWaitList, clEnqueueMigrateMemObjects,          \
		clEnqueueNDRangeKernel, clEnqueueNativeKernel)                                     \
	EACH_NAME(X, clEnqueueReadBuffer, clEnqueueReadBufferRect, clEnqueueReadImage,             \
		clEnqueueSVMFree, clEnqueueSVMMap, clEnqueueSVMMemFill, clEnqueueSVMMemcpy,        \
		clEnqueueSVMMigrateMem, clEnqueueSVMUnmap, clEnqueueTask, clEnqueueUnmapMemObject, \
		clEnqueueWriteBuffer, clEnqueueWriteBufferRect, clEnqueueWriteImage)               \
	EACH_NAME(X, clFinish, clGetCommandQueueInfo, clGetEventProfilingInfo,                     \
		clGetExtensionFunctionAddress, clGetExtensionFunctionAddressForPlatform,           \
		clReleaseCommandQueue, clRetainCommandQueue, clSetCommandQueueProperty,            \
		clSetKernelArg, clWaitForEvents)

/* Those that we only call. */
#define DRIVER_CALLED(X)                                                                     \
	EACH_NAME(X, clFlush, clGetDeviceAndHostTimer, clGetDeviceInfo, clGetEventInfo,      \
		clGetImageInfo, clGetKernelInfo, clGetKernelWorkGroupInfo, clGetPlatformIDs, \
		clGetPlatformInfo, clGetProgramInfo, clReleaseEvent, clRetainEvent)

/* A function that the library lacks is NULL. */
struct driver {
#define DRIVER_FIELD(name) __typeof__(name) *name;
	DRIVER_HOOKED(DRIVER_FIELD)
	DRIVER_CALLED(DRIVER_FIELD)
#undef DRIVER_FIELD
};

/* NULL until it has been found; complete from then on. */
const struct driver *driver_get(void);

/* Find it for a call that came from this address; all NULL where there is none. */
const struct driver *driver_find(const void *return_address);

/* For the hooks. */
#define DRIVER() driver_find(__builtin_return_address(0))

/*
 * The program asked the handle of a library for `name` and would get `function`. Returns our hook
 * where that is a function of the driver that we stand in front of, else NULL. is_another: it is
 * one of a further driver.
 */
void *driver_adopt(void *handle, const char *name, void *function, int *is_another);

/* The hook of that name, NULL if there is none. */
void *driver_hook(const char *name);

/* Path of the library; "" while none was found. */
const char *driver_path(void);

/* Does an address lie in this library? */
int driver_is_ours(const void *address);

/* Address of the C library's dlsym(). */
void *driver_real_symbol(void);

/* dlsym() as it is without us. Calls count as made from here. */
void *driver_symbol(void *handle, const char *name);
