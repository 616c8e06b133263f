/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend for OpenCL: bricks of a program's own command queues, between markers or by the
 * program's own events (include/brick/opencl.h). A pair is free, open (begun), or waits for its
 * events; it moves only under the device's lock. Under that lock the driver is called only to take
 * events over and to look at them.
 */
#include <CL/cl.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/abi/backend.h"
#include "brick/abi/session.h"
#include "brick/error.h"
#include "brick/opencl.h"
#include "lib/device/backend_call.h"
#include "lib/backends/backend_load.h"
#include "lib/sys/functions.h"

enum { DEFAULT_PAIRS = 4096, MAX_PAIRS = 1 << 20 };

enum { AGAIN_NS = 1000000 };

#define OPENCL_FUNCTIONS(X)            \
	X(clCreateCommandQueue)        \
	X(clCreateContext)             \
	X(clEnqueueMarkerWithWaitList) \
	X(clFinish)                    \
	X(clFlush)                     \
	X(clGetCommandQueueInfo)       \
	X(clGetDeviceAndHostTimer)     \
	X(clGetDeviceIDs)              \
	X(clGetDeviceInfo)             \
	X(clGetEventInfo)              \
	X(clGetEventProfilingInfo)     \
	X(clGetPlatformIDs)            \
	X(clReleaseCommandQueue)       \
	X(clReleaseContext)            \
	X(clReleaseEvent)              \
	X(clRetainContext)             \
	X(clRetainEvent)               \
	X(clWaitForEvents)

struct opencl_functions {
#define OPENCL_FIELD(name) __typeof__(name) *name;
	OPENCL_FUNCTIONS(OPENCL_FIELD)
#undef OPENCL_FIELD
};

struct opencl_pair {
	struct opencl_pair *next; /* free, open or waiting */
	uint64_t ticket;
	cl_command_queue queue;
	cl_event first, last;	      /* NULL: not there yet; may be the same */
	uint64_t before_ns, after_ns; /* of the host, around the call that queued the first */
};

struct brick_backend_device {
	struct brick_backend_device *next; /* all that are open */
	const struct opencl_functions *cl;
	struct brick_backend_host host;
	cl_context context;
	cl_device_id device;
	cl_command_queue clock_queue;		   /* ours, for readings of the clock; NULL: none */
	void (*exclude)(void *queue, void *owner); /* of `brick record`, or NULL */
	void (*include)(void *owner);
	int by_events;
	bool has_timer;
	struct brick_reading
		best; /* of the clock, by what completed: the narrowest since the last */
	bool has_best;
	struct brick_reading given; /* the last of these that was handed out, and when */
	uint64_t asked_ns;
	uint64_t given_ns; /* the host's time of the last reading of any kind */
	pthread_mutex_t lock;
	struct opencl_pair *pairs, *free, *open;
	struct opencl_pair *waiting, **waiting_end;
};

/* The library. */

static struct opencl_functions opencl_backend_functions;
static const char *missing; /* "": nothing; NULL: not looked yet */
static pthread_mutex_t opencl_backend_lock = PTHREAD_MUTEX_INITIALIZER;

/* What is missing. Not under the lock: another thread may hold the loader's and wait for ours. */
static const char *opencl_backend_look(struct opencl_functions *found)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		dlerror();
		return "libOpenCL.so.1 is not here";
	}
#define OPENCL_LOOK_UP(name) sys_function_find(library, #name, &found->name);
	OPENCL_FUNCTIONS(OPENCL_LOOK_UP)
	return !found->clEnqueueMarkerWithWaitList || !found->clGetEventProfilingInfo
		       ? "the OpenCL library is older than version 1.2"
		       : "";
}

static void look_once(void)
{
	struct opencl_functions found = {0};
	const char *lacks = opencl_backend_look(&found);

	HOLD(&opencl_backend_lock);
	if (missing)
		return;
	opencl_backend_functions = found;
	__atomic_store_n(&missing, lacks, __ATOMIC_RELEASE);
}

/*
 * Opened once per process, and for good: drivers do not like to go. NULL and a reason where there
 * is no library. Any thread.
 */
static const struct opencl_functions *get_functions(char *reason, size_t bytes)
{
	if (!__atomic_load_n(&missing, __ATOMIC_ACQUIRE))
		look_once();
	if (!*missing)
		return &opencl_backend_functions;
	if (reason && bytes)
		snprintf(reason, bytes, "%s", missing);
	return NULL;
}

/* The clock. */

static int opencl_backend_read_timer(struct brick_backend_device *d, struct brick_reading *reading)
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
			event, CL_PROFILING_COMMAND_QUEUED, sizeof(queued), &queued, NULL);
	d->cl->clReleaseEvent(event);
	reading->device_ns = queued;
	return status == CL_SUCCESS && queued ? 0 : -ENOTSUP;
}

/* Under the lock: a command was queued between these times of the host. */
static void collect_reading(struct brick_backend_device *d, const struct brick_reading *r)
{
	if (!r->device_ns || r->after_ns <= r->before_ns || r->before_ns <= d->given_ns)
		return;
	if (d->has_best && r->after_ns - r->before_ns >= d->best.after_ns - d->best.before_ns)
		return;
	d->best = *r;
	d->has_best = true;
}

/* A caller that asks several times in a row gets the same reading again. */
static int read_completed(struct brick_backend_device *d, struct brick_reading *reading)
{
	int error = -ENOTSUP;

	HOLD(&d->lock);
	if (d->has_best) {
		d->given = d->best;
		d->given_ns = d->best.after_ns;
		d->asked_ns = monotonic_ns();
		d->has_best = false;
	}
	if (d->given_ns && monotonic_ns() - d->asked_ns < AGAIN_NS) {
		*reading = d->given;
		error = 0;
	}
	return error;
}

/*
 * By the device's timer; else by a command of the program that has completed: it was queued between
 * two times of the host and tells when that was; else by a marker in a queue of our own, which we
 * have to wait for.
 */
static int opencl_backend_correlate(struct brick_backend_device *d, struct brick_reading *reading)
{
	if (!opencl_backend_read_timer(d, reading) || !read_completed(d, reading))
		return 0;
	int error = read_marker(d, reading);
	HOLD(&d->lock);
	if (!error)
		d->given_ns = reading->after_ns;
	return error;
}

/* Pairs whose events are over. */

static uint64_t opencl_backend_time_of(
	const struct brick_backend_device *d, cl_event event, cl_profiling_info which)
{
	cl_ulong ns = 0;

	if (d->cl->clGetEventProfilingInfo(event, which, sizeof(ns), &ns, NULL) != CL_SUCCESS)
		return 0;
	return ns;
}

/* 1: done, 0: not yet, negative: failed. */
static int opencl_backend_state_of(const struct brick_backend_device *d, cl_event event)
{
	cl_int status = CL_QUEUED;

	if (d->cl->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
		    NULL) != CL_SUCCESS ||
		status < 0)
		return BRICK_EDEVICE;
	return status == CL_COMPLETE;
}

/* Is it over? Then its times, or its error, are filled in. */
static int opencl_backend_look_at(
	struct brick_backend_device *d, const struct opencl_pair *pair, struct brick_completion *c)
{
	int first = pair->first ? opencl_backend_state_of(d, pair->first) : BRICK_ENOTRECORDED;
	int last = pair->last == pair->first ? first
		   : pair->last		     ? opencl_backend_state_of(d, pair->last)
					     : BRICK_ENOTRECORDED;

	*c = (struct brick_completion){.ticket = pair->ticket};
	if (first >= 0 && last >= 0 && !(first && last))
		return 0;
	c->error = first < 0 ? first : last < 0 ? last : 0;
	if (c->error)
		return 1;
	c->begin_ns = opencl_backend_time_of(d, pair->first,
		d->by_events ? CL_PROFILING_COMMAND_START : CL_PROFILING_COMMAND_END);
	c->end_ns = opencl_backend_time_of(d, pair->last, CL_PROFILING_COMMAND_END);
	c->queued_ns = opencl_backend_time_of(d, pair->first, CL_PROFILING_COMMAND_QUEUED);
	c->submitted_ns = opencl_backend_time_of(d, pair->first, CL_PROFILING_COMMAND_SUBMIT);
	if (!c->begin_ns || !c->end_ns)
		c->error = BRICK_EDEVICE;
	collect_reading(d, &(struct brick_reading){pair->before_ns, c->queued_ns, pair->after_ns});
	return 1;
}

static void opencl_backend_release_pair(
	const struct brick_backend_device *d, const struct opencl_pair *pair)
{
	if (pair->first)
		d->cl->clReleaseEvent(pair->first);
	if (pair->last && pair->last != pair->first)
		d->cl->clReleaseEvent(pair->last);
}

/* Under the lock: the first pair that is over, out of the list and free. */
static int opencl_backend_take_done(struct brick_backend_device *d, struct opencl_pair *copy,
	struct brick_completion *completion)
{
	cl_command_queue blocked = NULL;

	for (struct opencl_pair **at = &d->waiting; *at; at = &(*at)->next) {
		struct opencl_pair *pair = *at;
		if (pair->queue == blocked)
			continue; /* behind one that is not done */
		if (!opencl_backend_look_at(d, pair, completion)) {
			blocked = pair->queue;
			continue;
		}
		*copy = *pair;
		*at = pair->next;
		if (!*at)
			d->waiting_end = at;
		pair->next = d->free;
		d->free = pair;
		return 1;
	}
	return 0;
}

static int opencl_backend_drain(struct brick_backend_device *d)
{
	struct opencl_pair pair;
	struct brick_completion completion;
	int count = 0, done;

	do {
		pthread_mutex_lock(&d->lock);
		done = opencl_backend_take_done(d, &pair, &completion);
		pthread_mutex_unlock(&d->lock);
		if (done) {
			opencl_backend_release_pair(d, &pair);
			d->host.complete(d->host.context, &completion);
			count++;
		}
	} while (done);
	return count;
}

/*
 * The last of the awaited events that has not completed; NULL: all have. It is ours until
 * opencl_backend_drain(), even if its queue is gone.
 */
static cl_event last_missing(struct brick_backend_device *d)
{
	cl_event missing = NULL;

	HOLD(&d->lock);
	for (const struct opencl_pair *pair = d->waiting; pair; pair = pair->next) {
		if (pair->first && !opencl_backend_state_of(d, pair->first))
			missing = pair->first;
		if (pair->last && !opencl_backend_state_of(d, pair->last))
			missing = pair->last;
	}
	return missing;
}

/* Commands that failed are told by opencl_backend_drain(). */
static int opencl_backend_synchronise(struct brick_backend_device *d, void *queue)
{
	cl_event event;

	if (queue)
		return d->cl->clFinish(queue) == CL_SUCCESS ? 0 : BRICK_EDEVICE;
	while ((event = last_missing(d))) {
		cl_int status = d->cl->clWaitForEvents(1, &event);
		if (status != CL_SUCCESS && status != CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
			return BRICK_EDEVICE;
	}
	return 0;
}

/* Open and close. */

static struct brick_backend_device *opencl_backend_devices;
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;

/* Fills reason in either case: with what is missing, or with what was found. */
static int opencl_backend_probe(char *reason, size_t bytes)
{
	const struct opencl_functions *cl = get_functions(reason, bytes);
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
	cl->clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
	cl->clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(version) - 1, version, NULL);
	snprintf(reason, bytes, "first device: %s, driver %s", name, version);
	return 0;
}

/* The program's context and device, or the first there are. */
static int opencl_backend_choose(
	struct brick_backend_device *d, const struct brick_backend_options *options)
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

static void opencl_backend_note_device(struct brick_backend_device *d)
{
	char name[128] = "", version[128] = "", text[300];

	if (!d->host.note)
		return;
	d->cl->clGetDeviceInfo(d->device, CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
	d->cl->clGetDeviceInfo(d->device, CL_DRIVER_VERSION, sizeof(version) - 1, version, NULL);
	snprintf(text, sizeof(text), "%s, driver %s", name, version);
	d->host.note(d->host.context, "device", text);
	d->host.note(d->host.context, "way", d->by_events ? "events of the program" : "markers");
}

static uint64_t release_list(struct brick_backend_device *d, struct opencl_pair *list)
{
	uint64_t count = 0;

	for (; list; list = list->next) {
		opencl_backend_release_pair(d, list);
		count++;
	}
	return count;
}

static void opencl_backend_close_device(struct brick_backend_device *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&devices_lock);
	for (struct brick_backend_device **at = &opencl_backend_devices; *at; at = &(*at)->next)
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

static int opencl_backend_open_device(struct brick_backend_device **out,
	const struct brick_backend_host *host, const struct brick_backend_options *options)
{
	const struct opencl_functions *cl = get_functions(NULL, 0);
	uint32_t pairs = options && options->pairs ? options->pairs : DEFAULT_PAIRS;
	struct brick_backend_device *d = cl ? calloc(1, sizeof(*d)) : NULL;

	if (!d)
		return cl ? -ENOMEM : -ENOENT;
	d->cl = cl;
	d->host = *host;
	d->has_timer = true;
	d->by_events = options && (uintptr_t)options->native[2] == (uintptr_t)BRICK_OPENCL_EVENTS;
	pthread_mutex_init(&d->lock, NULL);
	brick__attached_function("libbrick-opencl.so", "brick_opencl_exclude", &d->exclude);
	brick__attached_function("libbrick-opencl.so", "brick_opencl_include", &d->include);
	d->waiting_end = &d->waiting;
	pairs = pairs < MAX_PAIRS ? pairs : MAX_PAIRS;
	int error = opencl_backend_choose(d, options);
	if (!error && !(d->pairs = calloc(pairs, sizeof(*d->pairs))))
		error = -ENOMEM;
	if (error) {
		opencl_backend_close_device(d);
		return error;
	}
	for (uint32_t i = pairs; i-- > 0;) {
		d->pairs[i].next = d->free;
		d->free = &d->pairs[i];
	}
	cl_int status;
	d->clock_queue =
		cl->clCreateCommandQueue(d->context, d->device, CL_QUEUE_PROFILING_ENABLE, &status);
	opencl_backend_note_device(d);
	pthread_mutex_lock(&devices_lock);
	d->next = opencl_backend_devices;
	opencl_backend_devices = d;
	pthread_mutex_unlock(&devices_lock);
	*out = d;
	return 0;
}

/* Begin and end. */

/*
 * Does this queue take times, and in a way that makes them true? Asked at every begin, as queues
 * go without a word and their handles are used again.
 */
static int examine(const struct brick_backend_device *d, cl_command_queue queue)
{
	cl_command_queue_properties properties = 0;

	if (d->cl->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties),
		    &properties, NULL) != CL_SUCCESS)
		return -EINVAL;
	if (!(properties & CL_QUEUE_PROFILING_ENABLE))
		return BRICK_EUNSUPPORTED;
	if (!d->by_events && (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE))
		return BRICK_EUNSUPPORTED;
	return 0;
}

/* Before the first marker, which is none of the program's commands. */
static void opencl_backend_claim(struct brick_backend_device *d, void *queue)
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

static int opencl_backend_begin(struct brick_backend_device *d, void *queue, uint64_t ticket)
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
static struct opencl_pair *opencl_backend_take_open(struct brick_backend_device *d, uint64_t ticket)
{
	for (struct opencl_pair **at = &d->open; *at; at = &(*at)->next)
		if ((*at)->ticket == ticket) {
			struct opencl_pair *pair = *at;
			*at = pair->next;
			return pair;
		}
	return NULL;
}

static int opencl_backend_end(struct brick_backend_device *d, void *queue, uint64_t ticket)
{
	HOLD(&d->lock);
	struct opencl_pair *pair = opencl_backend_take_open(d, ticket);
	int error = pair ? 0 : -EINVAL;
	if (pair) {
		error = put_marker(d, queue, &pair->last);
		pair->next = NULL; /* without its events it fails in opencl_backend_drain() */
		*d->waiting_end = pair;
		d->waiting_end = &pair->next;
	}
	return error;
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
	for (struct brick_backend_device *d = opencl_backend_devices; d; d = d->next) {
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
	.probe = opencl_backend_probe,
	.open = opencl_backend_open_device,
	.begin = opencl_backend_begin,
	.end = opencl_backend_end,
	.drain = opencl_backend_drain,
	.synchronise = opencl_backend_synchronise,
	.correlate = opencl_backend_correlate,
	.close = opencl_backend_close_device,
	.claim = opencl_backend_claim,
};
