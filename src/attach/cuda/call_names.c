/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls are known by the beginnings of their names. CUDA adds "_v2", "_ptsz" (the default
 * stream is the thread's own) and the like behind them.
 */
#include "attach/cuda/call_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct call_name {
	const char *begins;
	uint8_t kind, place, offset;
};

#define COPY_IN(name, offset) {#name, CALL_COPY, STREAM_IN_PARAMETERS, offset},
#define IN(type) STREAM_IN_PARAMETERS, offsetof(struct type, stream)

/* The first that fits. */
static const struct call_name call_names[] = {
	{"cuLaunchHostFunc", CALL_NONE, STREAM_UNKNOWN, 0},
	{"cuLaunchKernelEx", CALL_KERNEL, STREAM_IN_CONFIG, 0},
	{"cuLaunchKernel", CALL_KERNEL, IN(cuda_launch_kernel)},
	{"cuLaunchCooperativeKernelMultiDevice", CALL_KERNEL, STREAM_UNKNOWN, 0},
	{"cuLaunchCooperativeKernel", CALL_KERNEL, IN(cuda_launch_kernel)},
	{"cuLaunch", CALL_KERNEL, STREAM_UNKNOWN, 0},
	{"cuGraphLaunch", CALL_GRAPH, IN(cuda_graph_launch)},
	CALL_COPIES_IN_STREAMS(COPY_IN) CALL_BATCHES_IN_STREAMS(COPY_IN){
		"cuStreamSynchronize", CALL_WAIT_STREAM, IN(cuda_stream_call)},
	{"cuCtxSynchronize", CALL_WAIT_CONTEXT, STREAM_UNKNOWN, 0},
	{"cuEventSynchronize", CALL_WAIT_EVENT, STREAM_UNKNOWN, 0},
	{"cuEventRecord", CALL_EVENT, IN(cuda_event_record)},
	{"cuStreamWaitEvent", CALL_AFTER_EVENT, IN(cuda_stream_wait)},
	{"cuStreamBeginCapture", CALL_CAPTURE, IN(cuda_stream_call)},
	{"cuStreamEndCapture", CALL_CAPTURE_END, IN(cuda_stream_call)},
	{"cuStreamDestroy", CALL_STREAM_GOES, IN(cuda_stream_call)},
	{"cuEventDestroy", CALL_EVENT_GOES, STREAM_UNKNOWN, 0},
	{"cuModuleLoadData", CALL_LOAD, STREAM_UNKNOWN, 0},
	{"cuLibraryLoadData", CALL_LOAD, STREAM_UNKNOWN, 0},
	{"cuCtxDestroy", CALL_CONTEXT_GOES, STREAM_UNKNOWN, 0},
	{"cuDevicePrimaryCtxRelease", CALL_PRIMARY_GOES, STREAM_UNKNOWN, 0},
	{"cuDevicePrimaryCtxReset", CALL_PRIMARY_GOES, STREAM_UNKNOWN, 0},
	{"cuGraphInstantiate", CALL_INSTANTIATE, STREAM_UNKNOWN, 0},
	{"cuGraphExecUpdate_v2", CALL_UPDATE, STREAM_UNKNOWN,
		offsetof(struct cuda_graph_update, info)},
	{"cuGraphExecUpdate", CALL_UPDATE, STREAM_UNKNOWN, 0},
	{"cuGraphNodeSetEnabled", CALL_NODE_SWITCH, STREAM_UNKNOWN, 0},
};

static const struct call_name runtime_names[] = {
	{"cudaLaunchHostFunc", CALL_NONE, STREAM_UNKNOWN, 0},
	{"cudaLaunch", CALL_COPY, STREAM_UNKNOWN, 0},
	{"cudaGraphLaunch", CALL_COPY, STREAM_UNKNOWN, 0},
	{"cudaMemcpy", CALL_COPY, STREAM_UNKNOWN, 0},
	{"cudaMemset", CALL_COPY, STREAM_UNKNOWN, 0},
};

static int call_names_begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static bool ends(const char *name, const char *with)
{
	size_t length = strlen(name), end = strlen(with);
	return length >= end && !strcmp(name + length - end, with);
}

static struct call_shape call_names_find(
	const struct call_name *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (call_names_begins(name, list[i].begins))
			return (struct call_shape){list[i].kind, list[i].place, list[i].offset,
				ends(name, "_ptsz") || ends(name, "_ptds")};
	return (struct call_shape){.kind = CALL_NONE, .place = STREAM_UNKNOWN};
}

struct call_shape call_shape_of_driver(const char *name)
{
	struct call_shape shape =
		call_names_find(call_names, sizeof(call_names) / sizeof(*call_names), name);

	if (shape.kind != CALL_NONE ||
		!(call_names_begins(name, "cuMemcpy") || call_names_begins(name, "cuMemset")))
		return shape;
	return (struct call_shape){.kind = CALL_COPY,
		.place = strstr(name, "Async") ? STREAM_UNKNOWN : STREAM_DEFAULT,
		.is_per_thread = (uint8_t)ends(name, "_ptds")};
}

struct call_shape call_shape_of_runtime(const char *name)
{
	name += strspn(name, "_"); /* CUDA 13's is __cudaLaunchKernel */
	return call_names_find(runtime_names, sizeof(runtime_names) / sizeof(*runtime_names), name);
}

/* Odd, unlike those of CUDA's, and never used again. */
static cuda_handle own_stream(void)
{
	static uintptr_t last = (uintptr_t)CUDA_STREAM_PER_THREAD + 1;
	static __thread uintptr_t own;

	if (!own)
		own = __atomic_add_fetch(&last, 2, __ATOMIC_RELAXED);
	return (cuda_handle)own;
}

cuda_handle call_handle(cuda_handle stream, bool is_per_thread)
{
	if (stream == CUDA_STREAM_PER_THREAD || (!stream && is_per_thread))
		return own_stream();
	return stream == CUDA_STREAM_LEGACY ? NULL : stream;
}

int call_stream(const struct call_shape *shape, const void *parameters, cuda_handle *stream)
{
	const struct cuda_launch_kernel_ex *ex = parameters;

	*stream = NULL;
	if (shape->place == STREAM_UNKNOWN || (!parameters && shape->place != STREAM_DEFAULT))
		return 0;
	if (shape->place == STREAM_IN_PARAMETERS)
		memcpy(stream, (const char *)parameters + shape->offset, sizeof(*stream));
	else if (shape->place == STREAM_IN_CONFIG && !ex->config)
		return 0;
	else if (shape->place == STREAM_IN_CONFIG)
		*stream = ex->config->stream;
	*stream = call_handle(*stream, shape->is_per_thread);
	return 1;
}
