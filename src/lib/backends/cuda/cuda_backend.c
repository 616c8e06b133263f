/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backend "cuda": timing by pairs of driver events. Queues are CUstream, native[0] of the options
 * is a CUcontext (NULL: the one that is current at open). All events are made when the device is
 * opened and live until it is closed, each in a pair of the storage or as the anchor of the clock.
 * A read that fails is an error of that pair. Everything is under the device's lock.
 *
 * Pairs may also be captured into a graph (cuda_graph.h). For each launch the executable graph is
 * given events of its own for all its pairs, so that a replay never overwrites times that nobody
 * has read. They are in flight behind one more event, recorded after the launch: until that has
 * been passed the events of the graph may still show what they recorded before.
 */
#include "lib/backends/cuda/cuda_graph.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/abi/backend.h"
#include "brick/abi/session.h"
#include "brick/error.h"
#include "lib/backends/cuda/cuda_chain.h"
#include "lib/backends/cuda/cuda_driver.h"
#include "lib/device/backend_call.h"
#include "lib/backends/backend_load.h"

enum { DEFAULT_PAIRS = 4096, MAX_PAIRS = 1 << 20 };
static const int64_t first_anchor_ns = 1000000000;

enum { BUSY_QUEUES = 32 };

struct cuda_pair {
	struct cuda_pair *next;
	uint64_t ticket; /* 0: only shows that its queue has come so far */
	void *queue;
	void *begin, *end;	     /* events */
	void *begin_node, *end_node; /* in a graph, for a captured pair */
	bool is_captured;	     /* a graph records into its events */
};

/* Pairs in the order in which they were added. */
struct cuda_pairs {
	struct cuda_pair *first, **last;
};

struct brick_backend_device {
	pthread_mutex_t lock;
	struct cuda_driver driver;
	struct brick_backend_host host;
	void *context;
	void *stream; /* our own, for reading the clock */
	void *anchor; /* event */
	int64_t anchor_ns;
	bool may_capture;
	/* of `brick record`, or NULL */
	void (*exclude)(void *context, void *stream, void *owner);
	void (*include)(void *owner);
	struct cuda_pair *storage;
	uint32_t pair_count;
	struct cuda_pair *free;
	struct cuda_pair *open;	     /* begun; the newest first */
	struct cuda_pairs in_flight; /* ended */
	struct cuda_pairs captured;  /* ended, in a graph that nobody has taken yet */
};

/* Calls of ours on this thread must not disturb a capture that goes on elsewhere. */
struct cuda_scope {
	int mode;
	bool has_mode, has_context;
};

/* The pool of pairs, and calls of ours. */

static void cuda_backend_enter(struct brick_backend_device *device, struct cuda_scope *scope)
{
	scope->mode = CUDA_CAPTURE_MODE_RELAXED;
	scope->has_mode = device->driver.capture_mode &&
			  device->driver.capture_mode(&scope->mode) == CUDA_FINE;
	scope->has_context = device->driver.context_push(device->context) == CUDA_FINE;
}

static void cuda_backend_leave(struct brick_backend_device *device, const struct cuda_scope *scope)
{
	void *popped;
	int mode = scope->mode;

	if (scope->has_context)
		device->driver.context_pop(&popped);
	if (scope->has_mode)
		device->driver.capture_mode(&mode);
}

static void init_pairs(struct cuda_pairs *pairs)
{
	pairs->first = NULL;
	pairs->last = &pairs->first;
}

static void cuda_backend_add_pair(struct cuda_pairs *pairs, struct cuda_pair *pair)
{
	pair->next = NULL;
	*pairs->last = pair;
	pairs->last = &pair->next;
}

/* A pair of events from the pool, or NULL. */
static struct cuda_pair *cuda_backend_take_pair(struct brick_backend_device *device)
{
	struct cuda_pair *pair = device->free;

	if (pair)
		device->free = pair->next;
	return pair;
}

static void give_pair(struct brick_backend_device *device, struct cuda_pair *pair)
{
	pair->next = device->free;
	pair->ticket = 0;
	pair->is_captured = false;
	pair->begin_node = pair->end_node = NULL;
	device->free = pair;
}

/* Open and close. */

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

static int cuda_backend_probe(char *reason, size_t bytes)
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
		give_pair(device, pair);
	}
	if (d->event_record(device->anchor, device->stream) != CUDA_FINE ||
		d->event_synchronise(device->anchor) != CUDA_FINE)
		return BRICK_EDEVICE;
	device->anchor_ns = first_anchor_ns;
	return 0;
}

static void cuda_backend_describe(struct brick_backend_device *device)
{
	char text[256];
	int version = 0, ordinal = 0;

	if (!device->host.note)
		return;
	if (device->driver.version(&version) == CUDA_FINE) {
		snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
		device->host.note(device->host.context, "driver", text);
	}
	if (device->driver.context_device(&ordinal) == CUDA_FINE &&
		device->driver.device_name(text, sizeof(text), ordinal) == CUDA_FINE)
		device->host.note(device->host.context, "device", text);
}

static int cuda_backend_prepare(
	struct brick_backend_device *device, const struct brick_backend_options *options)
{
	char why[128];
	uint32_t pairs = options && options->pairs ? options->pairs : DEFAULT_PAIRS;
	struct cuda_scope scope;

	if (pairs > MAX_PAIRS)
		return -EINVAL;
	device->storage = calloc(pairs, sizeof(*device->storage));
	if (!device->storage)
		return -ENOMEM;
	device->pair_count = pairs;
	int error = cuda_driver_open(&device->driver, why, sizeof(why));
	if (error)
		return error;
	device->context = options ? options->native[0] : NULL;
	if (!device->context &&
		(device->driver.init(0) != CUDA_FINE ||
			device->driver.context_current(&device->context) != CUDA_FINE))
		return BRICK_EDEVICE;
	if (!device->context)
		return BRICK_ESTATE; /* no context is current */
	cuda_backend_enter(device, &scope);
	error = create_events(device);
	if (error)
		destroy_events(device);
	else
		cuda_backend_describe(device);
	cuda_backend_leave(device, &scope);
	return error;
}

static void cuda_backend_dispose(struct brick_backend_device *device)
{
	cuda_driver_close(&device->driver);
	pthread_mutex_destroy(&device->lock);
	free(device->storage);
	free(device);
}

static int cuda_backend_open_device(struct brick_backend_device **out,
	const struct brick_backend_host *host, const struct brick_backend_options *options)
{
	KEEP_ERRNO();
	struct brick_backend_device *device = calloc(1, sizeof(*device));

	if (!device)
		return -ENOMEM;
	pthread_mutex_init(&device->lock, NULL);
	init_pairs(&device->in_flight);
	init_pairs(&device->captured);
	device->host = *host;
	brick__attached_function("libbrick-cuda.so", "brick_cuda_exclude", &device->exclude);
	brick__attached_function("libbrick-cuda.so", "brick_cuda_include", &device->include);
	int error = cuda_backend_prepare(device, options);
	if (error) {
		cuda_backend_dispose(device);
		return error;
	}
	*out = device;
	return 0;
}

static uint64_t cuda_backend_count_pairs(const struct cuda_pair *pair)
{
	uint64_t count = 0;

	for (; pair; pair = pair->next)
		count += pair->ticket != 0;
	return count;
}

/* Every event is either in a pair of the storage or the anchor, wherever pairs are linked. */
static void cuda_backend_close_device(struct brick_backend_device *device)
{
	struct cuda_scope scope;
	KEEP_ERRNO();

	if (!device)
		return;
	if (device->include)
		device->include(device);
	uint64_t lost = cuda_backend_count_pairs(device->open) +
			cuda_backend_count_pairs(device->in_flight.first);
	if (lost && device->host.lost)
		device->host.lost(device->host.context, lost);
	cuda_backend_enter(device, &scope);
	destroy_events(device);
	cuda_backend_leave(device, &scope);
	cuda_backend_dispose(device);
}

/* Times. */

/* Time of an event that has been passed; negative: BRICK_EDEVICE. */
static int64_t event_ns(struct brick_backend_device *device, void *event)
{
	float ms;

	if (device->driver.event_elapsed(&ms, device->anchor, event) != CUDA_FINE)
		return BRICK_EDEVICE;
	return device->anchor_ns + cuda_chain_ns(ms);
}

/* The event becomes the anchor; the old one takes its place. */
static void move_anchor(struct brick_backend_device *device, void **event, int64_t ns)
{
	void *former = device->anchor;

	device->anchor = *event;
	device->anchor_ns = ns;
	*event = former;
}

static void read_pair(struct brick_backend_device *device, struct cuda_pair *pair,
	struct brick_completion *completion)
{
	float ms;
	int64_t begin = event_ns(device, pair->begin);
	int result = device->driver.event_elapsed(&ms, pair->begin, pair->end);
	int64_t end = begin + (result == CUDA_FINE ? cuda_chain_ns(ms) : 0);

	if (begin < 0 || result != CUDA_FINE) {
		completion->error = BRICK_EDEVICE;
		return;
	}
	if (end < begin) {
		completion->error = BRICK_ERANGE;
		return;
	}
	completion->begin_ns = (uint64_t)begin;
	completion->end_ns = (uint64_t)end;
	if (cuda_chain_moves(end - device->anchor_ns) && !pair->is_captured)
		move_anchor(device, &pair->end, end);
}

/* Has the pair been passed? Then it is handed over. 0: not yet. */
static int cuda_backend_take_completion(
	struct brick_backend_device *device, struct cuda_pair *pair, uint64_t ticket)
{
	struct brick_completion completion = {.ticket = ticket};
	int result = device->driver.event_query(pair->end);

	if (result == CUDA_NOT_READY)
		return 0;
	if (!ticket)
		return 1; /* stands behind a replay, see cuda_graph.h */
	if (result == CUDA_FINE)
		read_pair(device, pair, &completion);
	else
		completion.error = BRICK_EDEVICE;
	device->host.complete(device->host.context, &completion);
	return 1;
}

/* Begin and end. */

/* 0 and the status of a stream's capture, 0: it is in none. Else BRICK_EDEVICE. */
static int capture_status(struct brick_backend_device *device, void *queue, int *status)
{
	const struct cuda_driver *d = &device->driver;

	*status = 0;
	if (!d->stream_is_capturing)
		return 0;
	int result = d->stream_is_capturing(queue, status);
	if (result == CUDA_CAPTURE_IMPLICIT)
		*status = CUDA_CAPTURE_OF_OTHERS;
	return result == CUDA_FINE || result == CUDA_CAPTURE_IMPLICIT ? 0 : BRICK_EDEVICE;
}

/* Put an event into a queue; into the graph when it is being captured. 1: captured. */
static int cuda_backend_record(
	struct brick_backend_device *device, void *queue, void *event, void **node)
{
	const struct cuda_driver *d = &device->driver;
	int status;
	uint64_t id;
	void *const *dependencies = NULL;
	size_t count = 0;

	if (capture_status(device, queue, &status))
		return BRICK_EDEVICE;
	if (!status)
		return d->event_record(event, queue) == CUDA_FINE ? 0 : BRICK_EDEVICE;
	if (status != CUDA_CAPTURE_ACTIVE || !d->event_record_flags || !device->may_capture)
		return BRICK_EUNSUPPORTED;
	if (d->event_record_flags(event, queue, CUDA_RECORD_EXTERNAL) != CUDA_FINE)
		return BRICK_EDEVICE;
	/* the node of this record is what the next one in the stream would depend on */
	if (d->capture_info &&
		d->capture_info(queue, &status, &id, NULL, &dependencies, &count) == CUDA_FINE &&
		count == 1)
		*node = dependencies[0];
	return 1;
}

/* What runs in this stream is told here until close, and `brick record` leaves it alone. */
static void cuda_backend_take_over(struct brick_backend_device *device, void *stream)
{
	if (device->exclude)
		device->exclude(device->context, stream, device);
}

/* What is captured runs when the graph does (cuda_graph.h). */
static void cuda_backend_claim(struct brick_backend_device *device, void *queue)
{
	KEEP_ERRNO();
	int status;

	if (device->exclude && !capture_status(device, queue, &status) && !status)
		cuda_backend_take_over(device, queue);
}

static int cuda_backend_begin_pair(
	struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	struct cuda_pair *pair = cuda_backend_take_pair(device);

	if (!pair)
		return -EAGAIN;
	int result = cuda_backend_record(device, queue, pair->begin, &pair->begin_node);
	if (result < 0) {
		give_pair(device, pair);
		return result;
	}
	pair->is_captured = result;
	pair->ticket = ticket;
	pair->queue = queue;
	pair->next = device->open;
	device->open = pair;
	return 0;
}

static int cuda_backend_begin(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	KEEP_ERRNO();

	if (!ticket)
		return -EINVAL;
	HOLD(&device->lock);
	return cuda_backend_begin_pair(device, queue, ticket);
}

static int end_pair(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	struct cuda_pair **link = &device->open;

	while (*link && (*link)->ticket != ticket)
		link = &(*link)->next;
	struct cuda_pair *pair = *link;
	if (!pair)
		return -ENOENT;
	*link = pair->next;
	int result = cuda_backend_record(device, queue, pair->end, &pair->end_node);
	if (result >= 0 && result == pair->is_captured) {
		cuda_backend_add_pair(result ? &device->captured : &device->in_flight, pair);
		return 0;
	}
	give_pair(device, pair);
	return result < 0 ? result : BRICK_ESTATE; /* half of it is in a graph */
}

static int cuda_backend_end(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	KEEP_ERRNO();

	HOLD(&device->lock);
	return end_pair(device, queue, ticket);
}

/* Drain. */

/* Streams are in order: behind a pair that is not done none of its stream is. */
struct busy {
	void *queues[BUSY_QUEUES];
	uint32_t count;
};

static bool is_busy(const struct busy *busy, const void *queue)
{
	for (uint32_t i = 0; i < busy->count; i++)
		if (busy->queues[i] == queue)
			return true;
	return false;
}

static int drain_pairs(struct brick_backend_device *device)
{
	struct busy busy = {.count = 0};
	struct cuda_pairs kept;
	int done = 0;

	init_pairs(&kept);
	for (struct cuda_pair *pair = device->in_flight.first, *next; pair; pair = next) {
		next = pair->next;
		if (!is_busy(&busy, pair->queue) &&
			cuda_backend_take_completion(device, pair, pair->ticket)) {
			done += pair->ticket != 0;
			give_pair(device, pair);
			continue;
		}
		if (!is_busy(&busy, pair->queue) && busy.count < BUSY_QUEUES)
			busy.queues[busy.count++] = pair->queue;
		cuda_backend_add_pair(&kept, pair);
	}
	device->in_flight.first = kept.first;
	device->in_flight.last = kept.first ? kept.last : &device->in_flight.first;
	return done;
}

static int cuda_backend_drain(struct brick_backend_device *device)
{
	KEEP_ERRNO();
	struct cuda_scope scope;

	HOLD(&device->lock);
	cuda_backend_enter(device, &scope);
	int done = drain_pairs(device);
	cuda_backend_leave(device, &scope);
	return done;
}

/* A wait for a stream that is being captured would be the end of the capture. */
static int wait_for_stream(struct brick_backend_device *device, void *queue)
{
	int status;

	if (capture_status(device, queue, &status))
		return BRICK_EDEVICE;
	if (status)
		return BRICK_EUNSUPPORTED;
	return device->driver.stream_synchronise(queue) == CUDA_FINE ? 0 : BRICK_EDEVICE;
}

/*
 * For the last one in each stream, as streams are in order. They stand in streams that were not
 * captured then, whatever they are now.
 */
static int wait_for_pairs(struct brick_backend_device *device)
{
	const struct cuda_pair *last[BUSY_QUEUES];
	uint32_t count = 0, i;
	int result = CUDA_FINE;

	HOLD(&device->lock);
	for (const struct cuda_pair *pair = device->in_flight.first; pair; pair = pair->next) {
		for (i = 0; i < count && last[i]->queue != pair->queue; i++)
			;
		if (i == BUSY_QUEUES) {
			result |= device->driver.event_synchronise(pair->end);
			continue;
		}
		last[i] = pair;
		count += i == count;
	}
	for (i = 0; i < count; i++)
		result |= device->driver.event_synchronise(last[i]->end);
	return result == CUDA_FINE ? 0 : BRICK_EDEVICE;
}

/*
 * NULL is all that were used and the default stream, too. Not the context: waiting for that would
 * end every capture in it. A default stream that is captured has nothing to wait for.
 */
static int cuda_backend_synchronise(struct brick_backend_device *device, void *queue)
{
	struct cuda_scope scope;
	KEEP_ERRNO();

	cuda_backend_enter(device, &scope);
	int error = wait_for_stream(device, queue);
	if (!queue && (!error || error == BRICK_EUNSUPPORTED))
		error = wait_for_pairs(device);
	cuda_backend_leave(device, &scope);
	return error;
}

/* The clock. */

/* Wait for an event in our own stream. */
static int cuda_backend_read_event(
	struct brick_backend_device *device, void *event, struct brick_reading *reading)
{
	const struct cuda_driver *d = &device->driver;

	reading->before_ns = monotonic_ns();
	int result = d->event_record(event, device->stream);
	if (result == CUDA_FINE)
		result = d->event_synchronise(event);
	reading->after_ns = monotonic_ns();
	return result;
}

/* Under the lock: it becomes the anchor, so that none is ever far away. */
static int take_reading(
	struct brick_backend_device *device, struct cuda_pair *pair, struct brick_reading *reading)
{
	int64_t ns = event_ns(device, pair->end);

	if (ns < 0)
		return BRICK_EDEVICE;
	reading->device_ns = (uint64_t)ns;
	if (ns > device->anchor_ns)
		move_anchor(device, &pair->end, ns);
	return 0;
}

/* Nobody's begin or end waits for the device meanwhile. */
static int cuda_backend_correlate(
	struct brick_backend_device *device, struct brick_reading *reading)
{
	struct cuda_scope scope;
	KEEP_ERRNO();
	int error = -EAGAIN;

	pthread_mutex_lock(&device->lock);
	struct cuda_pair *pair = cuda_backend_take_pair(device);
	pthread_mutex_unlock(&device->lock);
	if (pair) {
		cuda_backend_enter(device, &scope);
		int result = cuda_backend_read_event(device, pair->end, reading);
		pthread_mutex_lock(&device->lock);
		error = result == CUDA_FINE ? take_reading(device, pair, reading) : BRICK_EDEVICE;
		give_pair(device, pair);
		pthread_mutex_unlock(&device->lock);
		cuda_backend_leave(device, &scope);
	}
	return error;
}

/* Captured graphs. */

struct cuda_graph {
	struct brick_backend_device *device;
	struct cuda_pair *pairs; /* as captured */
};

void cuda_graph_allow(struct brick_backend_device *device)
{
	HOLD(&device->lock);
	device->may_capture = true;
}

int cuda_graph_pair_begin(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	const struct cuda_driver *d = &device->driver;
	int status = 0;

	if (!d->stream_is_capturing)
		return BRICK_EUNSUPPORTED;
	if (d->stream_is_capturing(queue, &status) != CUDA_FINE || status != CUDA_CAPTURE_ACTIVE)
		return BRICK_ESTATE;
	return cuda_backend_begin(device, queue, ticket);
}

int cuda_graph_take(struct cuda_graph **out, struct brick_backend_device *device)
{
	KEEP_ERRNO();
	struct cuda_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return -ENOMEM;
	pthread_mutex_lock(&device->lock);
	graph->device = device;
	graph->pairs = device->captured.first;
	init_pairs(&device->captured);
	pthread_mutex_unlock(&device->lock);
	if (!graph->pairs) {
		free(graph);
		return -ENOENT;
	}
	*out = graph;
	return 0;
}

static void give_all(struct brick_backend_device *device, struct cuda_pair *pair)
{
	for (struct cuda_pair *next; pair; pair = next) {
		next = pair->next;
		give_pair(device, pair);
	}
}

/* The pair behind the launch, and one for each of the graph's; 0 when there are too few. */
static int take_pairs(const struct cuda_graph *graph, struct cuda_pairs *taken, void *stream,
	const uint64_t *tickets)
{
	const struct cuda_pair *from = NULL;

	init_pairs(taken);
	do {
		struct cuda_pair *pair = cuda_backend_take_pair(graph->device);
		if (!pair) {
			give_all(graph->device, taken->first);
			return 0;
		}
		pair->ticket = from ? tickets[from->ticket - 1] : 0;
		pair->queue = stream;
		pair->is_captured = from != NULL;
		cuda_backend_add_pair(taken, pair);
		from = from ? from->next : graph->pairs;
	} while (from);
	return 1;
}

static int set_events(
	const struct cuda_graph *graph, void *exec, const struct cuda_pair *replacement)
{
	const struct cuda_driver *d = &graph->device->driver;

	for (const struct cuda_pair *pair = graph->pairs; pair; pair = pair->next) {
		if (!pair->begin_node || !pair->end_node)
			return BRICK_EUNSUPPORTED;
		if (d->exec_set_event(exec, pair->begin_node, replacement->begin) != CUDA_FINE ||
			d->exec_set_event(exec, pair->end_node, replacement->end) != CUDA_FINE)
			return BRICK_EDEVICE;
		replacement = replacement->next;
	}
	return 0;
}

static int cuda_backend_launch(
	struct cuda_graph *graph, void *exec, void *stream, const uint64_t *tickets)
{
	struct brick_backend_device *device = graph->device;
	const struct cuda_driver *d = &device->driver;
	struct cuda_pairs taken;

	if (!d->exec_set_event || !d->graph_launch)
		return BRICK_EUNSUPPORTED;
	if (!take_pairs(graph, &taken, stream, tickets))
		return -EAGAIN;
	int error = set_events(graph, exec, taken.first->next);
	if (!error)
		cuda_backend_take_over(device, stream);
	if (!error && d->graph_launch(exec, stream) != CUDA_FINE)
		error = BRICK_EDEVICE;
	if (error) {
		give_all(device, taken.first);
		return error;
	}
	/* if this fails it is never passed, and nor are those behind it: they are lost, and counted
	 */
	d->event_record(taken.first->end, stream);
	*device->in_flight.last = taken.first;
	device->in_flight.last = taken.last;
	return 0;
}

int cuda_graph_launch(struct cuda_graph *graph, void *exec, void *stream, const uint64_t *tickets)
{
	KEEP_ERRNO();

	HOLD(&graph->device->lock);
	return cuda_backend_launch(graph, exec, stream, tickets);
}

void cuda_graph_destroy(struct cuda_graph *graph)
{
	if (!graph)
		return;
	pthread_mutex_lock(&graph->device->lock);
	give_all(graph->device, graph->pairs);
	pthread_mutex_unlock(&graph->device->lock);
	free(graph);
}

const struct brick_backend brick__backend_cuda = {
	.size = sizeof(brick__backend_cuda),
	.version = BRICK_BACKEND_VERSION,
	.source = BRICK_SOURCE_DEVICE_EVENT,
	.name = "cuda",
	.probe = cuda_backend_probe,
	.open = cuda_backend_open_device,
	.begin = cuda_backend_begin,
	.end = cuda_backend_end,
	.drain = cuda_backend_drain,
	.synchronise = cuda_backend_synchronise,
	.correlate = cuda_backend_correlate,
	.close = cuda_backend_close_device,
	.claim = cuda_backend_claim,
};
