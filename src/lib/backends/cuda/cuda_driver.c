/* SPDX-License-Identifier: Apache-2.0 */
/* Opening libcuda.so.1. */
#include "lib/backends/cuda/cuda_driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include "lib/sys/functions.h"

#define NEEDED(member, name) SYS_NEEDED(cuda_driver, member, name)
#define OPTIONAL(member, name) SYS_OPTIONAL(cuda_driver, member, name)
static const struct sys_function cuda_driver_functions[] = {
	NEEDED(init, "cuInit"),
	NEEDED(version, "cuDriverGetVersion"),
	NEEDED(device_count, "cuDeviceGetCount"),
	NEEDED(device_name, "cuDeviceGetName"),
	NEEDED(error_name, "cuGetErrorName"),
	NEEDED(context_current, "cuCtxGetCurrent"),
	NEEDED(context_device, "cuCtxGetDevice"),
	NEEDED(context_push, "cuCtxPushCurrent_v2"),
	NEEDED(context_pop, "cuCtxPopCurrent_v2"),
	NEEDED(stream_create, "cuStreamCreate"),
	NEEDED(stream_destroy, "cuStreamDestroy_v2"),
	NEEDED(stream_synchronise, "cuStreamSynchronize"),
	NEEDED(event_create, "cuEventCreate"),
	NEEDED(event_destroy, "cuEventDestroy_v2"),
	NEEDED(event_record, "cuEventRecord"),
	NEEDED(event_query, "cuEventQuery"),
	NEEDED(event_synchronise, "cuEventSynchronize"),
	NEEDED(event_elapsed, "cuEventElapsedTime"),
	OPTIONAL(stream_is_capturing, "cuStreamIsCapturing"),
	OPTIONAL(capture_info, "cuStreamGetCaptureInfo_v2"),
	OPTIONAL(capture_mode, "cuThreadExchangeStreamCaptureMode"),
	OPTIONAL(event_record_flags, "cuEventRecordWithFlags"),
	OPTIONAL(exec_set_event, "cuGraphExecEventRecordNodeSetEvent"),
	OPTIONAL(graph_launch, "cuGraphLaunch"),
};

int cuda_driver_open(struct cuda_driver *driver, char *why, size_t bytes)
{
	struct cuda_driver opened = {.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)};

	if (!opened.library) {
		snprintf(why, bytes, "libcuda.so.1 is not here");
		return -ENOENT;
	}
	const char *missing = sys_functions_find(opened.library, cuda_driver_functions,
		sizeof(cuda_driver_functions) / sizeof(*cuda_driver_functions), &opened);
	if (missing) {
		snprintf(why, bytes, "libcuda.so.1 has no %s", missing);
		dlclose(opened.library);
		return -ELIBACC;
	}
	*driver = opened;
	return 0;
}

void cuda_driver_close(struct cuda_driver *driver)
{
	if (driver->library)
		dlclose(driver->library);
	driver->library = NULL;
}

const char *cuda_driver_error(const struct cuda_driver *driver, int error)
{
	const char *name = NULL;

	if (driver->error_name(error, &name) != CUDA_FINE || !name)
		return "unknown error";
	return name;
}
