/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of OpenCL that tests/programs/opencl.c calls. */
#pragma once

#define FUNCTIONS(X)                          \
	X(clBuildProgram)                     \
	X(clCreateBuffer)                     \
	X(clCreateCommandQueue)               \
	X(clCreateCommandQueueWithProperties) \
	X(clCreateContext)                    \
	X(clCreateKernel)                     \
	X(clCreateProgramWithSource)          \
	X(clCreateUserEvent)                  \
	X(clEnqueueBarrierWithWaitList)       \
	X(clEnqueueCopyBuffer)                \
	X(clEnqueueFillBuffer)                \
	X(clEnqueueMapBuffer)                 \
	X(clEnqueueMarkerWithWaitList)        \
	X(clEnqueueNDRangeKernel)             \
	X(clEnqueueReadBuffer)                \
	X(clEnqueueUnmapMemObject)            \
	X(clEnqueueWriteBuffer)               \
	X(clFinish)                           \
	X(clFlush)                            \
	X(clGetCommandQueueInfo)              \
	X(clGetDeviceIDs)                     \
	X(clGetEventProfilingInfo)            \
	X(clGetKernelWorkGroupInfo)           \
	X(clGetPlatformIDs)                   \
	X(clReleaseCommandQueue)              \
	X(clReleaseContext)                   \
	X(clReleaseEvent)                     \
	X(clReleaseKernel)                    \
	X(clReleaseMemObject)                 \
	X(clReleaseProgram)                   \
	X(clSetKernelArg)                     \
	X(clSetUserEventStatus)               \
	X(clWaitForEvents)
