/* SPDX-License-Identifier: Apache-2.0 */
/* In place of the backend for OpenCL where its headers were missing when Brick was built. */
#include <errno.h>
#include <stdio.h>
#include "brick/abi/session.h"
#include "brick/error.h"
#include "brick/opencl.h"
#include "lib/backend.h"

static int probe(char *reason, size_t bytes)
{
	snprintf(reason, bytes, "built without the headers of OpenCL (Debian: opencl-headers)");
	return BRICK_EUNSUPPORTED;
}

static int open_device(struct brick_backend_device **out, const struct brick_backend_host *host,
	const struct brick_backend_options *options)
{
	return BRICK_EUNSUPPORTED;
}

static int begin(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	return BRICK_EUNSUPPORTED;
}

static int drain(struct brick_backend_device *device)
{
	return BRICK_EUNSUPPORTED;
}

static int synchronise(struct brick_backend_device *device, void *queue)
{
	return BRICK_EUNSUPPORTED;
}

static int correlate(struct brick_backend_device *device, struct brick_reading *reading)
{
	return -ENOTSUP;
}

static void close_device(struct brick_backend_device *device)
{
}

int brick_opencl_event(void *queue, void *event)
{
	return BRICK_EUNSUPPORTED;
}

const struct brick_backend brick__backend_opencl = {
	.size = sizeof(struct brick_backend),
	.version = BRICK_BACKEND_VERSION,
	.source = BRICK_SOURCE_DEVICE_EVENT,
	.name = "opencl",
	.probe = probe,
	.open = open_device,
	.begin = begin,
	.end = begin,
	.drain = drain,
	.synchronise = synchronise,
	.correlate = correlate,
	.close = close_device,
};
