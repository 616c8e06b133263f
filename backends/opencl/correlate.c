/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reading of the device's clock: by its timer, else by a marker in a queue of our own, which was
 * queued between two readings of the host's clock and tells when that was.
 */
#include <errno.h>
#include <time.h>
#include "backends/opencl/opencl.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static int read_timer(struct brick_backend_device *d, struct brick_reading *reading)
{
	cl_ulong device = 0, host = 0;

	if (!d->has_timer || !d->cl->clGetDeviceAndHostTimer)
		return -ENOTSUP;
	reading->before_ns = now_ns();
	cl_int status = d->cl->clGetDeviceAndHostTimer(d->device, &device, &host);
	reading->after_ns = now_ns();
	reading->device_ns = device;
	d->has_timer = status == CL_SUCCESS && device;
	return d->has_timer ? 0 : -ENOTSUP;
}

static int read_marker(struct brick_backend_device *d, struct brick_reading *reading)
{
	cl_event event = NULL;
	cl_ulong queued = 0;

	if (!d->clock_queue)
		return -ENOTSUP;
	reading->before_ns = now_ns();
	cl_int status = d->cl->clEnqueueMarkerWithWaitList(d->clock_queue, 0, NULL, &event);
	reading->after_ns = now_ns();
	if (status != CL_SUCCESS || !event)
		return -ENOTSUP;
	status = d->cl->clFinish(d->clock_queue);
	if (status == CL_SUCCESS)
		status = d->cl->clGetEventProfilingInfo(
			event, CL_PROFILING_COMMAND_QUEUED, sizeof queued, &queued, NULL);
	d->cl->clReleaseEvent(event);
	reading->device_ns = queued;
	return status == CL_SUCCESS && queued ? 0 : -ENOTSUP;
}

int opencl_correlate(struct brick_backend_device *d, struct brick_reading *reading)
{
	return read_timer(d, reading) ? read_marker(d, reading) : 0;
}
