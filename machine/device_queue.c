/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenCL by its loader, opened at run time: platform, device, context, queue. The few functions are
 * declared here, so that this builds without OpenCL's headers. Called by sweep_device.c.
 */
#include "machine/device_queue.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

enum { QUEUE_PROFILING = 1 << 1, SUCCESS = 0 };
static const uint64_t any_device = 0xffffffff;

typedef int32_t (*get_platforms_fn)(uint32_t, void **, uint32_t *);
typedef int32_t (*get_devices_fn)(void *, uint64_t, uint32_t, void **, uint32_t *);
typedef void *(*create_context_fn)(
	const intptr_t *, uint32_t, void *const *, void *, void *, int32_t *);
typedef void *(*create_queue_fn)(void *, void *, uint64_t, int32_t *);
typedef int32_t (*release_fn)(void *);

/* The first device of the first platform that has any. */
static void *first_device(get_platforms_fn platforms, get_devices_fn devices)
{
	enum { MAX = 16 };
	void *list[MAX], *device = NULL;
	uint32_t count = 0;

	if (platforms(MAX, list, &count) != SUCCESS)
		return NULL;
	for (uint32_t i = 0; i < count && i < MAX && !device; i++)
		if (devices(list[i], any_device, 1, &device, NULL) != SUCCESS)
			device = NULL;
	return device;
}

static int create(struct device_queue *q)
{
	get_platforms_fn platforms = (get_platforms_fn)dlsym(q->library, "clGetPlatformIDs");
	get_devices_fn devices = (get_devices_fn)dlsym(q->library, "clGetDeviceIDs");
	create_context_fn context = (create_context_fn)dlsym(q->library, "clCreateContext");
	create_queue_fn queue = (create_queue_fn)dlsym(q->library, "clCreateCommandQueue");
	int32_t error;

	if (!platforms || !devices || !context || !queue)
		return 0;
	q->device = first_device(platforms, devices);
	if (q->device)
		q->context = context(NULL, 1, &q->device, NULL, NULL, &error);
	if (q->context)
		q->queue = queue(q->context, q->device, QUEUE_PROFILING, &error);
	return q->queue != NULL;
}

int device_queue_opencl(struct device_queue *q)
{
	memset(q, 0, sizeof *q);
	q->library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
	if (q->library && create(q))
		return 1;
	device_queue_close(q);
	return 0;
}

static void release(const struct device_queue *q, const char *name, void *object)
{
	release_fn function = object ? (release_fn)dlsym(q->library, name) : NULL;

	if (function)
		function(object);
}

/* The loader stays: drivers do not always like to be unloaded. */
void device_queue_close(struct device_queue *q)
{
	if (q->library) {
		release(q, "clReleaseCommandQueue", q->queue);
		release(q, "clReleaseContext", q->context);
	}
	memset(q, 0, sizeof *q);
}
