/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reading of the device's clock: by its timer; else by a command of the program's that has
 * completed, which was queued between two times of the host and tells when that was; else by a
 * marker in a queue of our own, which we have to wait for.
 */
#include <errno.h>
#include "lib/backends/opencl/opencl_backend.h"
#include "base/clock_ns.h"
#include "base/scope.h"

enum { AGAIN_NS = 1000000 };

static int read_timer(struct brick_backend_device *d, struct brick_reading *reading)
{
	cl_ulong device = 0, host = 0;

	if (!d->has_timer || !d->cl->clGetDeviceAndHostTimer)
		return -ENOTSUP;
	reading->before_ns = monotonic_ns();
	cl_int status = d->cl->clGetDeviceAndHostTimer(d->device, &device, &host);
	reading->after_ns = monotonic_ns();
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
	reading->before_ns = monotonic_ns();
	cl_int status = d->cl->clEnqueueMarkerWithWaitList(d->clock_queue, 0, NULL, &event);
	reading->after_ns = monotonic_ns();
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

void opencl_collect(struct brick_backend_device *d, const struct brick_reading *r)
{
	if (!r->device_ns || r->after_ns <= r->before_ns || r->before_ns <= d->given_ns)
		return;
	if (d->has_best && r->after_ns - r->before_ns >= d->best.after_ns - d->best.before_ns)
		return;
	d->best = *r;
	d->has_best = 1;
}

/* The same one again for whoever asks several times in a row. */
static int read_completed(struct brick_backend_device *d, struct brick_reading *reading)
{
	int error = -ENOTSUP;

	HOLD(&d->lock);
	if (d->has_best) {
		d->given = d->best;
		d->given_ns = d->best.after_ns;
		d->asked_ns = monotonic_ns();
		d->has_best = 0;
	}
	if (d->given_ns && monotonic_ns() - d->asked_ns < AGAIN_NS) {
		*reading = d->given;
		error = 0;
	}
	return error;
}

int opencl_correlate(struct brick_backend_device *d, struct brick_reading *reading)
{
	if (!read_timer(d, reading) || !read_completed(d, reading))
		return 0;
	int error = read_marker(d, reading);
	HOLD(&d->lock);
	if (!error)
		d->given_ns = reading->after_ns;
	return error;
}
