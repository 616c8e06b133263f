/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backend "metal" (include/brick/metal.h): GPUStartTime and GPUEndTime of command buffers. Buffers
 * are kept from metal_backend_begin() until their times have been read. A buffer that failed, or
 * that has no times, completes with an error. The Objective-C runtime is opened at run time, so
 * that this compiles everywhere. Never run on a Mac so far, only on a double of the runtime.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/abi/session.h"
#include "brick/error.h"
#include "brick/metal.h"
#include "lib/backends/backend_load.h"
#include "lib/sys/functions.h"

enum { DEFAULT_PAIRS = 4096, MAX_PAIRS = 1 << 20, MAX_QUEUES = 64, UPTIME_RAW = 8 };

/* MTLCommandBufferStatus */
enum metal_status {
	METAL_NOT_ENQUEUED = 0,
	METAL_ENQUEUED = 1,
	METAL_COMMITTED = 2,
	METAL_SCHEDULED = 3,
	METAL_COMPLETED = 4,
	METAL_FAILED = 5,
};

struct metal_objc {
	void *library;
	void (*send)(void); /* objc_msgSend: called as the type that the message has */
	void *(*selector)(const char *name);
	void *(*pool_push)(void);
	void (*pool_pop)(void *pool);
	void *(*default_device)(void);
	uint64_t (*clock_ns)(int clock); /* clock_gettime_nsec_np; NULL: not there */
};

struct metal_pair {
	struct metal_pair *next;
	uint64_t ticket;
	void *queue;
	void *buffer; /* retained */
	bool has_ended;
};

struct brick_backend_device {
	pthread_mutex_t lock;
	struct metal_objc objc;
	struct brick_backend_host host;
	struct metal_pair *storage, *free;
	struct metal_pair *first, **last; /* begun and ended, in that order */
	struct {
		void *queue, *buffer;
	} uses[MAX_QUEUES];
	uint32_t use_count;
};

/* The runtime. */

static void *open_runtime(void)
{
	static const char *const names[] = {"/usr/lib/libobjc.A.dylib", "libobjc.A.dylib"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (library)
			return library;
	}
	return NULL;
}

static bool metal_backend_look_up(void *library, const char *name, void *to)
{
	return (library && sys_function_find(library, name, to)) ||
	       sys_function_find(RTLD_DEFAULT, name, to);
}

/* 0; -ENOENT: no runtime or no Metal; -ELIBACC: it lacks functions; then `why` says so. */
static int metal_objc_open(struct metal_objc *objc, char *why, size_t bytes)
{
	struct metal_objc opened = {.library = open_runtime()};

	if (!opened.library) {
		snprintf(why, bytes,
			"there is no Objective-C runtime (Metal is for macOS; never run on a Mac "
			"so far)");
		return -ENOENT;
	}
	if (!metal_backend_look_up(opened.library, "objc_msgSend", &opened.send) ||
		!metal_backend_look_up(opened.library, "sel_registerName", &opened.selector) ||
		!metal_backend_look_up(
			opened.library, "objc_autoreleasePoolPush", &opened.pool_push) ||
		!metal_backend_look_up(
			opened.library, "objc_autoreleasePoolPop", &opened.pool_pop)) {
		snprintf(why, bytes, "the Objective-C runtime lacks functions");
		dlclose(opened.library);
		return -ELIBACC;
	}
	/* stays loaded: it does not go away from a process that uses it */
	void *metal = dlopen("/System/Library/Frameworks/Metal.framework/Metal", RTLD_LAZY);
	if (!metal_backend_look_up(metal, "MTLCreateSystemDefaultDevice", &opened.default_device)) {
		snprintf(why, bytes, "Metal.framework is not here");
		dlclose(opened.library);
		return -ENOENT;
	}
	metal_backend_look_up(NULL, "clock_gettime_nsec_np", &opened.clock_ns);
	*objc = opened;
	return 0;
}

static void metal_objc_close(struct metal_objc *objc)
{
	if (objc->library)
		dlclose(objc->library);
	objc->library = NULL;
}

/* Messages: objc_msgSend has the type of the method that it calls. */

typedef uintptr_t (*send_word_fn)(void *, void *);
typedef double (*send_double_fn)(void *, void *);
typedef void (*send_void_fn)(void *, void *);
typedef signed char (*send_selector_fn)(void *, void *, void *);
typedef const char *(*send_text_fn)(void *, void *);

static bool metal_has_times(const struct metal_objc *objc, void *command_buffer)
{
	void *responds = objc->selector("respondsToSelector:");
	send_selector_fn send = (send_selector_fn)objc->send;

	return send(command_buffer, responds, objc->selector("GPUStartTime")) &&
	       send(command_buffer, responds, objc->selector("GPUEndTime"));
}

static enum metal_status metal_status(const struct metal_objc *objc, void *command_buffer)
{
	return (enum metal_status)((send_word_fn)objc->send)(
		command_buffer, objc->selector("status"));
}

static double metal_gpu_start_s(const struct metal_objc *objc, void *command_buffer)
{
	return ((send_double_fn)objc->send)(command_buffer, objc->selector("GPUStartTime"));
}

static double metal_gpu_end_s(const struct metal_objc *objc, void *command_buffer)
{
	return ((send_double_fn)objc->send)(command_buffer, objc->selector("GPUEndTime"));
}

static void metal_wait(const struct metal_objc *objc, void *command_buffer)
{
	((send_void_fn)objc->send)(command_buffer, objc->selector("waitUntilCompleted"));
}

static void metal_retain(const struct metal_objc *objc, void *object)
{
	((send_word_fn)objc->send)(object, objc->selector("retain"));
}

static void metal_release(const struct metal_objc *objc, void *object)
{
	((send_void_fn)objc->send)(object, objc->selector("release"));
}

/* The system's device, owned by the caller; NULL: none. */
static void *metal_default_device(const struct metal_objc *objc)
{
	return objc->default_device();
}

/* The name of a device, copied; 0 if it has none. */
static int metal_device_name(const struct metal_objc *objc, void *device, char *name, size_t bytes)
{
	void *pool = objc->pool_push();
	void *string = (void *)((send_word_fn)objc->send)(device, objc->selector("name"));
	const char *text =
		string ? ((send_text_fn)objc->send)(string, objc->selector("UTF8String")) : NULL;

	if (text)
		snprintf(name, bytes, "%s", text);
	objc->pool_pop(pool);
	return text != NULL;
}

/* Pairs. */

static void metal_backend_give(struct brick_backend_device *device, struct metal_pair *pair)
{
	pair->next = device->free;
	device->free = pair;
}

/* Place of a queue in the table; use_count when it is not there. */
static uint32_t use_of(const struct brick_backend_device *device, const void *queue)
{
	uint32_t i = 0;

	while (i < device->use_count && device->uses[i].queue != queue)
		i++;
	return i;
}

int brick_metal_use(struct brick_backend_device *device, void *queue, void *command_buffer)
{
	int error = 0;

	HOLD(&device->lock);
	uint32_t i = use_of(device, queue);
	if (i == MAX_QUEUES) {
		error = BRICK_EFULL;
	} else {
		device->use_count += i == device->use_count;
		device->uses[i].queue = queue;
		device->uses[i].buffer = command_buffer;
	}
	return error;
}

static bool is_timed(const struct brick_backend_device *device, const void *buffer)
{
	for (const struct metal_pair *pair = device->first; pair; pair = pair->next)
		if (pair->buffer == buffer)
			return true;
	return false;
}

static void take_out(struct brick_backend_device *device, struct metal_pair **link)
{
	struct metal_pair *pair = *link;

	*link = pair->next;
	if (!*link)
		device->last = link;
	metal_release(&device->objc, pair->buffer);
	metal_backend_give(device, pair);
}

static int metal_backend_begin_pair(
	struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	struct metal_pair *pair = device->free;
	uint32_t use = use_of(device, queue);
	void *buffer = use < device->use_count ? device->uses[use].buffer : NULL;

	if (!ticket)
		return -EINVAL;
	if (!buffer)
		return BRICK_ESTATE;
	if (is_timed(device, buffer) || !metal_has_times(&device->objc, buffer))
		return BRICK_EUNSUPPORTED;
	if (metal_status(&device->objc, buffer) >= METAL_COMMITTED)
		return BRICK_ESTATE;
	if (!pair)
		return -EAGAIN;
	device->free = pair->next;
	metal_retain(&device->objc, buffer);
	*pair = (struct metal_pair){NULL, ticket, queue, buffer, 0};
	*device->last = pair;
	device->last = &pair->next;
	return 0;
}

static int metal_backend_begin(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	HOLD(&device->lock);
	return metal_backend_begin_pair(device, queue, ticket);
}

static int metal_backend_end(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	HOLD(&device->lock);
	struct metal_pair *pair = device->first;
	while (pair && (pair->ticket != ticket || pair->queue != queue || pair->has_ended))
		pair = pair->next;
	if (pair)
		pair->has_ended = true;
	return pair ? 0 : -ENOENT;
}

/* Drain. */

static uint64_t to_ns(double seconds)
{
	return (uint64_t)(seconds * 1e9 + 0.5);
}

static void read_times(const struct brick_backend_device *device, void *buffer,
	struct brick_completion *completion)
{
	double start = metal_gpu_start_s(&device->objc, buffer);
	double finish = metal_gpu_end_s(&device->objc, buffer);

	/* 0 is what buffers without times show; the comparison is false for what is no number, too
	 */
	if (!(start > 0 && finish > 0 && finish < 1e10)) {
		completion->error = BRICK_EUNSUPPORTED;
	} else if (finish < start) {
		completion->error = BRICK_ERANGE;
	} else {
		completion->begin_ns = to_ns(start);
		completion->end_ns = to_ns(finish);
	}
}

/* 0: it is not done. */
static int metal_backend_take_completion(
	struct brick_backend_device *device, const struct metal_pair *pair)
{
	struct brick_completion completion = {.ticket = pair->ticket};
	enum metal_status status = metal_status(&device->objc, pair->buffer);

	if (!pair->has_ended || status < METAL_COMPLETED)
		return 0;
	if (status == METAL_COMPLETED)
		read_times(device, pair->buffer, &completion);
	else
		completion.error = BRICK_EDEVICE;
	device->host.complete(device->host.context, &completion);
	return 1;
}

static int metal_backend_drain(struct brick_backend_device *device)
{
	int done = 0;

	HOLD(&device->lock);
	for (struct metal_pair **link = &device->first; *link;) {
		if (metal_backend_take_completion(device, *link)) {
			take_out(device, link);
			done++;
		} else {
			link = &(*link)->next;
		}
	}
	return done;
}

/*
 * A command buffer of the queue (NULL: of any), retained, that is not done; NULL: none. *error is
 * set if there is one that is not committed: waiting for it would never end.
 */
static void *under_way(struct brick_backend_device *device, const void *queue, int *error)
{
	void *buffer = NULL;

	HOLD(&device->lock);
	*error = 0;
	for (struct metal_pair *pair = device->first; pair && !buffer; pair = pair->next) {
		enum metal_status status = metal_status(&device->objc, pair->buffer);
		if (queue && pair->queue != queue)
			continue;
		if (status < METAL_COMMITTED)
			*error = BRICK_ESTATE;
		else if (status < METAL_COMPLETED)
			buffer = pair->buffer;
	}
	if (buffer)
		metal_retain(&device->objc, buffer);
	return buffer;
}

static int metal_backend_synchronise(struct brick_backend_device *device, void *queue)
{
	void *buffer;
	int error;

	while ((buffer = under_way(device, queue, &error))) {
		metal_wait(&device->objc, buffer);
		metal_release(&device->objc, buffer);
	}
	return error;
}

/* Metal's times are on the host's clock that stops during sleep, which is not CLOCK_MONOTONIC. */
static int metal_backend_correlate(
	struct brick_backend_device *device, struct brick_reading *reading)
{
	if (!device->objc.clock_ns)
		return -ENOTSUP;
	reading->before_ns = monotonic_ns();
	reading->device_ns = device->objc.clock_ns(UPTIME_RAW);
	reading->after_ns = monotonic_ns();
	return 0;
}

/* Open and close. */

static int metal_backend_probe(char *reason, size_t bytes)
{
	struct metal_objc objc;
	int error = metal_objc_open(&objc, reason, bytes);

	if (error)
		return error;
	void *device = metal_default_device(&objc);
	if (device)
		metal_release(&objc, device);
	snprintf(reason, bytes, "%s",
		device ? "so far run on a double of Apple's runtime only, never on a Mac"
		       : "Metal sees no device");
	metal_objc_close(&objc);
	return device ? 0 : -ENODEV;
}

static void metal_backend_note_device(struct brick_backend_device *device)
{
	char name[128];
	void *metal = metal_default_device(&device->objc);

	if (metal && device->host.note &&
		metal_device_name(&device->objc, metal, name, sizeof(name)))
		device->host.note(device->host.context, "device", name);
	if (metal)
		metal_release(&device->objc, metal);
}

static void metal_backend_dispose(struct brick_backend_device *device)
{
	pthread_mutex_destroy(&device->lock);
	metal_objc_close(&device->objc);
	free(device->storage);
	free(device);
}

static int metal_backend_open_device(struct brick_backend_device **out,
	const struct brick_backend_host *host, const struct brick_backend_options *options)
{
	uint32_t pairs = options && options->pairs ? options->pairs : DEFAULT_PAIRS;
	KEEP_ERRNO();
	char why[128];

	if (pairs > MAX_PAIRS)
		return -EINVAL;
	struct brick_backend_device *device = calloc(1, sizeof(*device));
	if (device)
		device->storage = calloc(pairs, sizeof(*device->storage));
	if (!device || !device->storage) {
		free(device);
		return -ENOMEM;
	}
	pthread_mutex_init(&device->lock, NULL);
	device->host = *host;
	device->last = &device->first;
	for (uint32_t i = pairs; i-- > 0;)
		metal_backend_give(device, &device->storage[i]);
	int error = metal_objc_open(&device->objc, why, sizeof(why));
	if (error) {
		metal_backend_dispose(device);
		return error;
	}
	metal_backend_note_device(device);
	*out = device;
	return 0;
}

static void metal_backend_close_device(struct brick_backend_device *device)
{
	uint64_t lost = 0;

	if (!device)
		return;
	while (device->first) {
		take_out(device, &device->first);
		lost++;
	}
	if (lost && device->host.lost)
		device->host.lost(device->host.context, lost);
	metal_backend_dispose(device);
}

const struct brick_backend brick__backend_metal = {
	.size = sizeof(brick__backend_metal),
	.version = BRICK_BACKEND_VERSION,
	.source = BRICK_SOURCE_DEVICE_EVENT,
	.name = "metal",
	.probe = metal_backend_probe,
	.open = metal_backend_open_device,
	.begin = metal_backend_begin,
	.end = metal_backend_end,
	.drain = metal_backend_drain,
	.synchronise = metal_backend_synchronise,
	.correlate = metal_backend_correlate,
	.close = metal_backend_close_device,
};
