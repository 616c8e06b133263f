/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend for OpenCL: bricks of a program's own command queues, between markers or by the
 * program's own events (include/brick/opencl.h). The driver is never called under a device's lock
 * but for taking events over.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/backends/attached_claims.h"
#include "lib/backends/opencl/opencl_backend.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/abi/session.h"
#include "brick/error.h"
#include "lib/device/backend_load.h"

enum { DEFAULT_PAIRS = 4096, MAX_PAIRS = 1 << 20 };

static struct brick_backend_device *devices;
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;

/* Fills reason in either case: with what is missing, or with what was found. */
static int probe(char *reason, size_t bytes)
{
	const struct opencl_functions *cl = opencl_functions(reason, bytes);
	cl_platform_id platform;
	cl_device_id device;
	char name[128] = "", version[128] = "";

	if (!cl)
		return -ENOENT;
	if (cl->clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS) {
		snprintf(reason, bytes,
			"the OpenCL library finds no driver (Debian: pocl-opencl-icd)");
		return -ENODEV;
	}
	if (cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS) {
		snprintf(reason, bytes, "the OpenCL driver finds no device");
		return -ENODEV;
	}
	cl->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
	cl->clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof version - 1, version, NULL);
	snprintf(reason, bytes, "first device: %s, driver %s", name, version);
	return 0;
}

/* The program's context and device, or the first there are. */
static int choose(struct brick_backend_device *d, const struct brick_backend_options *options)
{
	cl_platform_id platform;
	cl_int status;

	if (options && options->native[0] && options->native[1]) {
		d->context = options->native[0];
		d->device = options->native[1];
		return d->cl->clRetainContext(d->context) == CL_SUCCESS ? 0 : -EINVAL;
	}
	if (d->cl->clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		d->cl->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &d->device, NULL) !=
			CL_SUCCESS)
		return -ENODEV;
	d->context = d->cl->clCreateContext(NULL, 1, &d->device, NULL, NULL, &status);
	return d->context ? 0 : BRICK_EDEVICE;
}

static void note_device(struct brick_backend_device *d)
{
	char name[128] = "", version[128] = "", text[300];

	if (!d->host.note)
		return;
	d->cl->clGetDeviceInfo(d->device, CL_DEVICE_NAME, sizeof name - 1, name, NULL);
	d->cl->clGetDeviceInfo(d->device, CL_DRIVER_VERSION, sizeof version - 1, version, NULL);
	snprintf(text, sizeof text, "%s, driver %s", name, version);
	d->host.note(d->host.context, "device", text);
	d->host.note(d->host.context, "way", d->by_events ? "events of the program" : "markers");
}

static int make_pairs(struct brick_backend_device *d, uint32_t count)
{
	d->pairs = calloc(count, sizeof *d->pairs);
	if (!d->pairs)
		return -ENOMEM;
	for (uint32_t i = count; i-- > 0;) {
		d->pairs[i].next = d->free;
		d->free = &d->pairs[i];
	}
	d->waiting_end = &d->waiting;
	return 0;
}

static void close_device(struct brick_backend_device *d);

static int open_device(struct brick_backend_device **out, const struct brick_backend_host *host,
	const struct brick_backend_options *options)
{
	const struct opencl_functions *cl = opencl_functions(NULL, 0);
	uint32_t pairs = options && options->pairs ? options->pairs : DEFAULT_PAIRS;
	struct brick_backend_device *d = cl ? calloc(1, sizeof *d) : NULL;

	if (!d)
		return cl ? -ENOMEM : -ENOENT;
	d->cl = cl;
	d->host = *host;
	d->has_timer = 1;
	d->by_events = options && (uintptr_t)options->native[2] == (uintptr_t)BRICK_OPENCL_EVENTS;
	pthread_mutex_init(&d->lock, NULL);
	backend_attached("libbrick-opencl.so", "brick_opencl_exclude", &d->exclude);
	backend_attached("libbrick-opencl.so", "brick_opencl_include", &d->include);
	int error = choose(d, options);
	if (!error)
		error = make_pairs(d, pairs < MAX_PAIRS ? pairs : MAX_PAIRS);
	if (error) {
		close_device(d);
		return error;
	}
	cl_int status;
	d->clock_queue =
		cl->clCreateCommandQueue(d->context, d->device, CL_QUEUE_PROFILING_ENABLE, &status);
	note_device(d);
	pthread_mutex_lock(&devices_lock);
	d->next = devices;
	devices = d;
	pthread_mutex_unlock(&devices_lock);
	*out = d;
	return 0;
}

/*
 * Does this queue take times, and in a way that makes them true? Asked at every begin, as queues
 * go without a word and their handles are used again.
 */
static int examine(const struct brick_backend_device *d, cl_command_queue queue)
{
	cl_command_queue_properties properties = 0;

	if (d->cl->clGetCommandQueueInfo(
		    queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL) != CL_SUCCESS)
		return -EINVAL;
	if (!(properties & CL_QUEUE_PROFILING_ENABLE))
		return BRICK_EUNSUPPORTED;
	if (!d->by_events && (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
		return BRICK_EUNSUPPORTED;
	return 0;
}

/* Before the first marker, which is none of the program's commands. */
static void claim(struct brick_backend_device *d, void *queue)
{
	if (d->exclude && queue && !examine(d, queue))
		d->exclude(queue, d);
}

static int put_marker(struct brick_backend_device *d, cl_command_queue queue, cl_event *event)
{
	if (d->by_events)
		return 0;
	return d->cl->clEnqueueMarkerWithWaitList(queue, 0, NULL, event) == CL_SUCCESS
		       ? 0
		       : BRICK_EDEVICE;
}

static int begin(struct brick_backend_device *d, void *queue, uint64_t ticket)
{
	cl_event event = NULL;

	HOLD(&d->lock);
	int error = queue ? examine(d, queue) : -EINVAL;
	uint64_t before_ns = monotonic_ns();
	if (!error && !d->free)
		error = -EAGAIN;
	if (!error)
		error = put_marker(d, queue, &event);
	if (!error) {
		struct opencl_pair *pair = d->free;
		d->free = pair->next;
		*pair = (struct opencl_pair){
			d->open, ticket, queue, event, NULL, before_ns, event ? monotonic_ns() : 0};
		d->open = pair;
	}
	return error;
}

/* Under the lock: an open pair is taken out. */
static struct opencl_pair *take_open(struct brick_backend_device *d, uint64_t ticket)
{
	for (struct opencl_pair **at = &d->open; *at; at = &(*at)->next)
		if ((*at)->ticket == ticket) {
			struct opencl_pair *pair = *at;
			*at = pair->next;
			return pair;
		}
	return NULL;
}

static int end(struct brick_backend_device *d, void *queue, uint64_t ticket)
{
	HOLD(&d->lock);
	struct opencl_pair *pair = take_open(d, ticket);
	int error = pair ? 0 : -EINVAL;
	if (pair) {
		error = put_marker(d, queue, &pair->last);
		pair->next = NULL; /* without its events it fails in drain() */
		*d->waiting_end = pair;
		d->waiting_end = &pair->next;
	}
	return error;
}

static uint64_t release_list(struct brick_backend_device *d, struct opencl_pair *list)
{
	uint64_t count = 0;

	for (; list; list = list->next) {
		opencl_release_pair(d, list);
		count++;
	}
	return count;
}

static void close_device(struct brick_backend_device *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&devices_lock);
	for (struct brick_backend_device **at = &devices; *at; at = &(*at)->next)
		if (*at == d) {
			*at = d->next;
			break;
		}
	pthread_mutex_unlock(&devices_lock);
	if (d->include)
		d->include(d);
	uint64_t lost = release_list(d, d->open) + release_list(d, d->waiting);
	if (lost && d->host.lost)
		d->host.lost(d->host.context, lost);
	if (d->clock_queue)
		d->cl->clReleaseCommandQueue(d->clock_queue);
	if (d->context)
		d->cl->clReleaseContext(d->context);
	pthread_mutex_destroy(&d->lock);
	free(d->pairs);
	free(d);
}

/* Under the lock: hand the event to every open pair of the queue. */
static int give_event(struct brick_backend_device *d, cl_command_queue queue, cl_event event)
{
	int given = 0;

	for (struct opencl_pair *pair = d->open; pair; pair = pair->next) {
		if (pair->queue != queue || !d->by_events)
			continue;
		d->cl->clRetainEvent(event);
		if (!pair->first) {
			pair->first = event;
			pair->after_ns = monotonic_ns();
		} else if (pair->last != pair->first) {
			d->cl->clReleaseEvent(pair->last);
		}
		pair->last = event;
		given = 1;
	}
	return given;
}

int brick_opencl_event(void *queue, void *event)
{
	int given = 0;

	if (!queue || !event)
		return -EINVAL;
	pthread_mutex_lock(&devices_lock);
	for (struct brick_backend_device *d = devices; d; d = d->next) {
		pthread_mutex_lock(&d->lock);
		given |= give_event(d, queue, event);
		pthread_mutex_unlock(&d->lock);
	}
	pthread_mutex_unlock(&devices_lock);
	return given ? 0 : -ENOENT;
}

const struct brick_backend brick__backend_opencl = {
	.size = sizeof(struct brick_backend),
	.version = BRICK_BACKEND_VERSION,
	.source = BRICK_SOURCE_DEVICE_EVENT,
	.name = "opencl",
	.probe = probe,
	.open = open_device,
	.begin = begin,
	.end = end,
	.drain = opencl_drain,
	.synchronise = opencl_synchronise,
	.correlate = opencl_correlate,
	.close = close_device,
	.claim = claim,
};
