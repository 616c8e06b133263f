/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probing the driver, opening and closing the backend's device: all events are made here and live
 * until close, each in a pair of the storage or as the anchor. Behind the table in cuda.c.
 */
#include "lib/backends/cuda/cuda_device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/backends/attached_claims.h"
#include "base/scope.h"
#include "brick/error.h"

enum { DEFAULT_PAIRS = 4096, MAX_PAIRS = 1 << 20 };
static const int64_t first_anchor_ns = 1000000000;

static void describe_driver(const struct cuda_driver *driver, int count, char *text, size_t bytes)
{
	int version = 0;

	driver->version(&version);
	if (count)
		snprintf(text, bytes, "driver for CUDA %d.%d, %d device%s", version / 1000,
			version % 1000 / 10, count, count == 1 ? "" : "s");
	else
		snprintf(text, bytes, "the driver sees no device");
}

int cuda_probe(char *reason, size_t bytes)
{
	struct cuda_driver driver;
	int count = 0, error = cuda_driver_open(&driver, reason, bytes);

	if (error)
		return error;
	int result = driver.init(0);
	if (result == CUDA_FINE)
		result = driver.device_count(&count);
	if (result != CUDA_FINE)
		snprintf(reason, bytes, "the driver does not start: %s (%d)",
			cuda_driver_error(&driver, result), result);
	else
		describe_driver(&driver, count, reason, bytes);
	cuda_driver_close(&driver);
	return result != CUDA_FINE ? BRICK_EDEVICE : count ? 0 : -ENODEV;
}

static void destroy_events(struct brick_backend_device *device)
{
	for (uint32_t i = 0; i < device->pair_count; i++) {
		if (device->storage[i].begin)
			device->driver.event_destroy(device->storage[i].begin);
		if (device->storage[i].end)
			device->driver.event_destroy(device->storage[i].end);
	}
	if (device->anchor)
		device->driver.event_destroy(device->anchor);
	if (device->stream)
		device->driver.stream_destroy(device->stream);
}

static int create_events(struct brick_backend_device *device)
{
	const struct cuda_driver *d = &device->driver;

	if (d->stream_create(&device->stream, CUDA_STREAM_NON_BLOCKING) != CUDA_FINE ||
		d->event_create(&device->anchor, 0) != CUDA_FINE)
		return BRICK_EDEVICE;
	for (uint32_t i = device->pair_count; i-- > 0;) {
		struct cuda_pair *pair = &device->storage[i];
		if (d->event_create(&pair->begin, 0) != CUDA_FINE ||
			d->event_create(&pair->end, 0) != CUDA_FINE)
			return BRICK_EDEVICE;
		cuda_pair_give(device, pair);
	}
	if (d->event_record(device->anchor, device->stream) != CUDA_FINE ||
		d->event_synchronise(device->anchor) != CUDA_FINE)
		return BRICK_EDEVICE;
	device->anchor_ns = first_anchor_ns;
	return 0;
}

static void describe(struct brick_backend_device *device)
{
	char text[256];
	int version = 0, ordinal = 0;

	if (!device->host.note)
		return;
	if (device->driver.version(&version) == CUDA_FINE) {
		snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
		device->host.note(device->host.context, "driver", text);
	}
	if (device->driver.context_device(&ordinal) == CUDA_FINE &&
		device->driver.device_name(text, sizeof text, ordinal) == CUDA_FINE)
		device->host.note(device->host.context, "device", text);
}

static int find_context(
	struct brick_backend_device *device, const struct brick_backend_options *options)
{
	device->context = options ? options->native[0] : NULL;
	if (device->context)
		return 0;
	if (device->driver.init(0) != CUDA_FINE ||
		device->driver.context_current(&device->context) != CUDA_FINE)
		return BRICK_EDEVICE;
	return device->context ? 0 : BRICK_ESTATE; /* no context is current */
}

static int prepare(struct brick_backend_device *device, const struct brick_backend_options *options)
{
	char why[128];
	uint32_t pairs = options && options->pairs ? options->pairs : DEFAULT_PAIRS;
	struct cuda_scope scope;

	if (pairs > MAX_PAIRS)
		return -EINVAL;
	device->storage = calloc(pairs, sizeof *device->storage);
	if (!device->storage)
		return -ENOMEM;
	device->pair_count = pairs;
	int error = cuda_driver_open(&device->driver, why, sizeof why);
	if (!error)
		error = find_context(device, options);
	if (error)
		return error;
	cuda_scope_enter(device, &scope);
	error = create_events(device);
	if (error)
		destroy_events(device);
	else
		describe(device);
	cuda_scope_leave(device, &scope);
	return error;
}

static void dispose(struct brick_backend_device *device)
{
	cuda_driver_close(&device->driver);
	pthread_mutex_destroy(&device->lock);
	free(device->storage);
	free(device);
}

int cuda_open(struct brick_backend_device **out, const struct brick_backend_host *host,
	const struct brick_backend_options *options)
{
	int saved = errno;
	struct brick_backend_device *device = calloc(1, sizeof *device);

	errno = saved;
	if (!device)
		return -ENOMEM;
	pthread_mutex_init(&device->lock, NULL);
	cuda_pairs_init(&device->in_flight);
	cuda_pairs_init(&device->captured);
	device->host = *host;
	backend_attached("libbrick-cuda.so", "brick_cuda_exclude", &device->exclude);
	backend_attached("libbrick-cuda.so", "brick_cuda_include", &device->include);
	int error = prepare(device, options);
	errno = saved;
	if (error) {
		dispose(device);
		return error;
	}
	*out = device;
	return 0;
}

static uint64_t count_pairs(const struct cuda_pair *pair)
{
	uint64_t count = 0;

	for (; pair; pair = pair->next)
		count += pair->ticket != 0;
	return count;
}

/* Every event is either in a pair of the storage or the anchor, wherever pairs are linked. */
void cuda_close(struct brick_backend_device *device)
{
	struct cuda_scope scope;
	KEEP_ERRNO();

	if (!device)
		return;
	if (device->include)
		device->include(device);
	uint64_t lost = count_pairs(device->open) + count_pairs(device->in_flight.first);
	if (lost && device->host.lost)
		device->host.lost(device->host.context, lost);
	cuda_scope_enter(device, &scope);
	destroy_events(device);
	cuda_scope_leave(device, &scope);
	dispose(device);
}
