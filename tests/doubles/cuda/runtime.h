/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA runtime that stands on the driver's double as the real one stands on the driver, so that
 * programs and libraries built with nvcc run without a device: memory is the host's, copies take
 * effect, kernels do nothing. What they compute is therefore nonsense, what they launch is not.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "tests/doubles/cuda/double.h"

struct dim3 {
	unsigned x, y, z;
};

enum { MULTIPROCESSORS = 132, CAPABILITY_MAJOR = 9, OPTIN_BYTES = 232448 };
enum { MEMORY_MB = 8192 };

/* The driver's entry points that the runtime calls. */
int cuInit(unsigned flags);
int cuCtxCreate_v2(struct context **out, unsigned flags, int device);
int cuCtxGetCurrent(struct context **context);
int cuCtxSetCurrent(struct context *context);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemFree_v2(uint64_t address);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream);
int cuMemsetD32Async(uint64_t to, uint32_t value, size_t count, void *stream);
int cuStreamCreate(struct stream **out, unsigned flags);
int cuStreamDestroy_v2(struct stream *stream);
int cuStreamSynchronize(struct stream *stream);
int cuStreamWaitEvent(struct stream *stream, struct event *event, unsigned flags);
int cuStreamBeginCapture_v2(struct stream *stream, int mode);
int cuStreamEndCapture(struct stream *stream, struct graph **out);
int cuStreamIsCapturing(struct stream *stream, int *status);
int cuEventCreate(struct event **out, unsigned flags);
int cuEventDestroy_v2(struct event *event);
int cuEventRecord(struct event *event, struct stream *stream);
int cuEventSynchronize(struct event *event);
int cuGraphInstantiateWithFlags(struct graph **out, struct graph *graph, unsigned long long flags);
int cuGraphExecUpdate_v2(struct graph *exec, struct graph *graph, void *result);
int cuGraphDestroy(struct graph *graph);
int cuGraphExecDestroy(struct graph *exec);
int cuGraphLaunch(struct graph *exec, struct stream *stream);
int cuModuleLoadData(struct module **out, const void *image);
int cuLaunchKernel(struct function *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned shared, struct stream *stream, void **arguments,
	void **extra);

/* The primary context is current on this thread. */
void runtime_ready(void);

/* Launch what does nothing. */
DOUBLE_API int runtime_launch(struct function *function, struct dim3 grid, struct dim3 block,
	size_t shared, struct stream *stream);
