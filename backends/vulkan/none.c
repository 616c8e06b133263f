/* SPDX-License-Identifier: Apache-2.0 */
/* In place of the Vulkan backend where it was built without Vulkan's headers. */
#include <errno.h>
#include <stdio.h>
#include "lib/backend.h"
#include "brick/abi/session.h"

static int probe(char *reason, size_t bytes)
{
	snprintf(reason, bytes, "Brick was built without Vulkan's headers (libvulkan-dev)");
	return -ENOTSUP;
}

static int open_device(struct brick_backend_device **out, const struct brick_backend_host *host,
	const struct brick_backend_options *options)
{
	return -ENOTSUP;
}

static int stamp(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	return -ENOTSUP;
}

static int drain(struct brick_backend_device *device)
{
	return -ENOTSUP;
}

static int synchronise(struct brick_backend_device *device, void *queue)
{
	return -ENOTSUP;
}

static int correlate(struct brick_backend_device *device, struct brick_reading *reading)
{
	return -ENOTSUP;
}

static void close_device(struct brick_backend_device *device)
{
}

const struct brick_backend brick__backend_vulkan = {
	.size = sizeof(struct brick_backend),
	.version = BRICK_BACKEND_VERSION,
	.source = BRICK_SOURCE_TIMESTAMP_QUERY,
	.name = "vulkan",
	.probe = probe,
	.open = open_device,
	.begin = stamp,
	.end = stamp,
	.drain = drain,
	.synchronise = synchronise,
	.correlate = correlate,
	.close = close_device,
};
