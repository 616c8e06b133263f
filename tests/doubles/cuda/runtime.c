/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's double: start, devices, memory, streams, events, graphs (runtime.h). */
#include "tests/doubles/cuda/runtime.h"

#include <stdlib.h>
#include <string.h>

static struct context *primary;

static void make_primary(void)
{
	struct context *before;

	cuInit(0);
	cuCtxGetCurrent(&before);
	cuCtxCreate_v2(&primary, 0, 0);
	cuCtxSetCurrent(before);
}

void runtime_ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct context *current;

	pthread_once(&once, make_primary);
	cuCtxGetCurrent(&current);
	if (!current)
		cuCtxSetCurrent(primary);
}

/* ---- errors and devices ---- */

DOUBLE_API int cudaGetLastError(void)
{
	return FINE;
}

DOUBLE_API int cudaPeekAtLastError(void)
{
	return FINE;
}

DOUBLE_API const char *cudaGetErrorString(int error)
{
	return error ? "an error of the double" : "no error";
}

DOUBLE_API int cudaGetDeviceCount(int *count)
{
	*count = 1;
	return FINE;
}

DOUBLE_API int cudaGetDevice(int *device)
{
	*device = 0;
	return FINE;
}

DOUBLE_API int cudaSetDevice(int device)
{
	runtime_ready();
	return device ? 101 : FINE;
}

DOUBLE_API int cudaSetDeviceFlags(unsigned flags)
{
	(void)flags;
	return FINE;
}

DOUBLE_API int cudaDeviceSynchronize(void)
{
	runtime_ready();
	return cuCtxSynchronize();
}

DOUBLE_API int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	*can = 0;
	return device == peer;
}

DOUBLE_API int cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	return peer || flags ? INVALID_VALUE : FINE;
}

DOUBLE_API int cudaDeviceGetPCIBusId(char *text, int bytes, int device)
{
	strncpy(text, "0000:00:00.0", (size_t)bytes);
	return device ? 101 : FINE;
}

/* enum cudaDeviceAttr of CUDA 13. */
DOUBLE_API int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	static const int values[128] = {[10] = 32,
		[16] = MULTIPROCESSORS,
		[39] = 2048,
		[75] = CAPABILITY_MAJOR,
		[95] = 1,
		[97] = OPTIN_BYTES};

	*value = attribute >= 0 && attribute < 128 ? values[attribute] : 0;
	return device ? 101 : FINE;
}

/* struct cudaDeviceProp of CUDA 13, where it differs from 0. */
struct properties {
	char name[256];
	uint8_t ids[32];
	uint64_t memory, shared;
	int registers, warp;
	uint64_t pitch;
	int max_threads, max_block[3], max_grid[3], pad;
	uint64_t constants;
	int major, minor;
	uint64_t alignments[2];
	int processors, integrated, maps_host;
	uint8_t more[604 - 396];
	int threads_each;
	uint8_t caches[16];
	uint64_t shared_each;
	uint8_t yet_more[668 - 632];
	int cooperative;
	uint64_t optin;
	uint8_t last[1008 - 680];
};

_Static_assert(sizeof(struct properties) == 1008, "as CUDA 13 has it");
_Static_assert(offsetof(struct properties, memory) == 288, "as CUDA 13 has it");
_Static_assert(offsetof(struct properties, processors) == 384, "as CUDA 13 has it");
_Static_assert(offsetof(struct properties, optin) == 672, "as CUDA 13 has it");

DOUBLE_API int cudaGetDeviceProperties(struct properties *out, int device)
{
	*out = (struct properties){.name = "Double of a device",
		.memory = (uint64_t)MEMORY_MB << 20,
		.shared = 49152,
		.registers = 65536,
		.warp = 32,
		.max_threads = 1024,
		.max_block = {1024, 1024, 64},
		.max_grid = {INT32_MAX, 65535, 65535},
		.constants = 65536,
		.major = CAPABILITY_MAJOR,
		.processors = MULTIPROCESSORS,
		.threads_each = 2048,
		.shared_each = 233472,
		.cooperative = 1,
		.optin = OPTIN_BYTES};
	return device ? 101 : FINE;
}

/* ---- memory ---- */

DOUBLE_API int cudaMemGetInfo(size_t *free_bytes, size_t *all)
{
	*free_bytes = *all = (size_t)MEMORY_MB << 20;
	return FINE;
}

static int allocate(void **out, size_t bytes)
{
	uint64_t address;
	int error = cuMemAlloc_v2(&address, bytes ? bytes : 1);

	*out = (void *)(uintptr_t)address;
	return error;
}

DOUBLE_API int cudaMalloc(void **out, size_t bytes)
{
	runtime_ready();
	return allocate(out, bytes);
}

DOUBLE_API int cudaMallocManaged(void **out, size_t bytes, unsigned flags)
{
	return flags ? allocate(out, bytes) : INVALID_VALUE;
}

DOUBLE_API int cudaMallocHost(void **out, size_t bytes)
{
	return allocate(out, bytes);
}

DOUBLE_API int cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
	return flags <= 7 ? allocate(out, bytes) : INVALID_VALUE;
}

DOUBLE_API int cudaFree(void *address)
{
	return cuMemFree_v2((uintptr_t)address);
}

DOUBLE_API int cudaFreeHost(void *address)
{
	return cuMemFree_v2((uintptr_t)address);
}

DOUBLE_API int cudaHostRegister(void *address, size_t bytes, unsigned flags)
{
	return address && bytes && flags <= 15 ? FINE : INVALID_VALUE;
}

DOUBLE_API int cudaHostUnregister(void *address)
{
	return address ? FINE : INVALID_VALUE;
}

DOUBLE_API int cudaHostGetDevicePointer(void **out, void *address, unsigned flags)
{
	*out = address;
	return flags ? INVALID_VALUE : FINE;
}

enum { HOST_TO_DEVICE = 1, DEVICE_TO_HOST = 2 };

DOUBLE_API int cudaMemcpyAsync(
	void *to, const void *from, size_t bytes, int kind, struct stream *stream)
{
	runtime_ready();
	if (kind == HOST_TO_DEVICE)
		return cuMemcpyHtoDAsync_v2((uintptr_t)to, from, bytes, stream);
	if (kind == DEVICE_TO_HOST)
		return cuMemcpyDtoHAsync_v2(to, (uintptr_t)from, bytes, stream);
	return cuMemcpyDtoDAsync_v2((uintptr_t)to, (uintptr_t)from, bytes, stream);
}

DOUBLE_API int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
	size_t bytes, struct stream *stream)
{
	if (to_device || from_device)
		return 101;
	runtime_ready();
	return cuMemcpyDtoDAsync_v2((uintptr_t)to, (uintptr_t)from, bytes, stream);
}

DOUBLE_API int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
	size_t width, size_t height, int kind, struct stream *stream)
{
	int error = FINE;

	for (size_t i = 0; i < height && !error; i++)
		error = cudaMemcpyAsync((char *)to + i * to_pitch,
			(const char *)from + i * from_pitch, width, kind, stream);
	return error;
}

DOUBLE_API int cudaMemsetAsync(void *to, int value, size_t bytes, struct stream *stream)
{
	runtime_ready();
	memset((char *)to + bytes / 4 * 4, value, bytes % 4);
	return cuMemsetD32Async((uintptr_t)to, 0x01010101u * (uint8_t)value, bytes / 4, stream);
}

DOUBLE_API int cudaMemset(void *to, int value, size_t bytes)
{
	int error = cudaMemsetAsync(to, value, bytes, NULL);
	return error ? error : cuCtxSynchronize();
}

/* ---- streams, events, graphs ---- */

DOUBLE_API int cudaStreamCreateWithFlags(struct stream **out, unsigned flags)
{
	runtime_ready();
	return cuStreamCreate(out, flags);
}

DOUBLE_API int cudaStreamDestroy(struct stream *stream)
{
	return cuStreamDestroy_v2(stream);
}

DOUBLE_API int cudaStreamSynchronize(struct stream *stream)
{
	runtime_ready();
	return cuStreamSynchronize(stream);
}

DOUBLE_API int cudaStreamWaitEvent(struct stream *stream, struct event *event, unsigned flags)
{
	runtime_ready();
	return cuStreamWaitEvent(stream, event, flags);
}

DOUBLE_API int cudaStreamBeginCapture(struct stream *stream, int mode)
{
	return cuStreamBeginCapture_v2(stream, mode);
}

DOUBLE_API int cudaStreamEndCapture(struct stream *stream, struct graph **out)
{
	return cuStreamEndCapture(stream, out);
}

DOUBLE_API int cudaStreamIsCapturing(struct stream *stream, int *status)
{
	return cuStreamIsCapturing(stream, status);
}

DOUBLE_API int cudaEventCreateWithFlags(struct event **out, unsigned flags)
{
	runtime_ready();
	return cuEventCreate(out, flags);
}

DOUBLE_API int cudaEventDestroy(struct event *event)
{
	return cuEventDestroy_v2(event);
}

DOUBLE_API int cudaEventRecord(struct event *event, struct stream *stream)
{
	runtime_ready();
	return cuEventRecord(event, stream);
}

DOUBLE_API int cudaEventSynchronize(struct event *event)
{
	return cuEventSynchronize(event);
}

DOUBLE_API int cudaGraphInstantiate(
	struct graph **out, struct graph *graph, unsigned long long flags)
{
	return cuGraphInstantiateWithFlags(out, graph, flags);
}

DOUBLE_API int cudaGraphExecUpdate(struct graph *exec, struct graph *graph, void *result)
{
	return cuGraphExecUpdate_v2(exec, graph, result);
}

DOUBLE_API int cudaGraphDestroy(struct graph *graph)
{
	return cuGraphDestroy(graph);
}

DOUBLE_API int cudaGraphExecDestroy(struct graph *exec)
{
	return cuGraphExecDestroy(exec);
}

DOUBLE_API int cudaGraphLaunch(struct graph *exec, struct stream *stream)
{
	runtime_ready();
	return cuGraphLaunch(exec, stream);
}
