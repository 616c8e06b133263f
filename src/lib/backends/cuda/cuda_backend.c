/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backend "cuda": timing by pairs of driver events. Queues are CUstream, native[0] of the options
 * is a CUcontext (NULL: the one that is current at open). A read that fails is an error of that
 * pair.
 */
#include "lib/backends/cuda/cuda_backend.h"

#include <errno.h>
#include "lib/backends/cuda/cuda_chain.h"
#include "lib/backends/cuda/cuda_device.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/error.h"
#include "brick/abi/session.h"

enum { BUSY_QUEUES = 32 };

/* ---- times ---- */

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
static int take_completion(
	struct brick_backend_device *device, struct cuda_pair *pair, uint64_t ticket)
{
	struct brick_completion completion = {.ticket = ticket};
	int result = device->driver.event_query(pair->end);

	if (result == CUDA_NOT_READY)
		return 0;
	if (!ticket)
		return 1; /* stands behind a replay, see graph.c */
	if (result == CUDA_FINE)
		read_pair(device, pair, &completion);
	else
		completion.error = BRICK_EDEVICE;
	device->host.complete(device->host.context, &completion);
	return 1;
}

/* ---- begin and end ---- */

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
static int record(struct brick_backend_device *device, void *queue, void *event, void **node)
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

void cuda_take_over(struct brick_backend_device *device, void *stream)
{
	if (device->exclude)
		device->exclude(device->context, stream, device);
}

/* What is captured runs when the graph does (graph.c). */
static void claim(struct brick_backend_device *device, void *queue)
{
	int saved = errno, status;

	if (device->exclude && !capture_status(device, queue, &status) && !status)
		cuda_take_over(device, queue);
	errno = saved;
}

static int begin_pair(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	struct cuda_pair *pair = cuda_pair_take(device);

	if (!pair)
		return -EAGAIN;
	int result = record(device, queue, pair->begin, &pair->begin_node);
	if (result < 0) {
		cuda_pair_give(device, pair);
		return result;
	}
	pair->is_captured = result;
	pair->ticket = ticket;
	pair->queue = queue;
	pair->next = device->open;
	device->open = pair;
	return 0;
}

static int begin(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	KEEP_ERRNO();

	if (!ticket)
		return -EINVAL;
	HOLD(&device->lock);
	return begin_pair(device, queue, ticket);
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
	int result = record(device, queue, pair->end, &pair->end_node);
	if (result >= 0 && result == pair->is_captured) {
		cuda_pairs_add(result ? &device->captured : &device->in_flight, pair);
		return 0;
	}
	cuda_pair_give(device, pair);
	return result < 0 ? result : BRICK_ESTATE; /* half of it is in a graph */
}

static int end(struct brick_backend_device *device, void *queue, uint64_t ticket)
{
	KEEP_ERRNO();

	HOLD(&device->lock);
	return end_pair(device, queue, ticket);
}

/* ---- drain ---- */

/* Streams are in order: behind a pair that is not done none of its stream is. */
struct busy {
	void *queues[BUSY_QUEUES];
	uint32_t count;
};

static int is_busy(const struct busy *busy, const void *queue)
{
	for (uint32_t i = 0; i < busy->count; i++)
		if (busy->queues[i] == queue)
			return 1;
	return 0;
}

static int drain_pairs(struct brick_backend_device *device)
{
	struct busy busy = {.count = 0};
	struct cuda_pairs kept;
	int done = 0;

	cuda_pairs_init(&kept);
	for (struct cuda_pair *pair = device->in_flight.first, *next; pair; pair = next) {
		next = pair->next;
		if (!is_busy(&busy, pair->queue) && take_completion(device, pair, pair->ticket)) {
			done += pair->ticket != 0;
			cuda_pair_give(device, pair);
			continue;
		}
		if (!is_busy(&busy, pair->queue) && busy.count < BUSY_QUEUES)
			busy.queues[busy.count++] = pair->queue;
		cuda_pairs_add(&kept, pair);
	}
	device->in_flight.first = kept.first;
	device->in_flight.last = kept.first ? kept.last : &device->in_flight.first;
	return done;
}

static int drain(struct brick_backend_device *device)
{
	KEEP_ERRNO();
	struct cuda_scope scope;

	HOLD(&device->lock);
	cuda_scope_enter(device, &scope);
	int done = drain_pairs(device);
	cuda_scope_leave(device, &scope);
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
static int synchronise(struct brick_backend_device *device, void *queue)
{
	struct cuda_scope scope;
	KEEP_ERRNO();

	cuda_scope_enter(device, &scope);
	int error = wait_for_stream(device, queue);
	if (!queue && (!error || error == BRICK_EUNSUPPORTED))
		error = wait_for_pairs(device);
	cuda_scope_leave(device, &scope);
	return error;
}

/* ---- the clock ---- */

/* Wait for an event in our own stream. */
static int read_event(
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
static int correlate(struct brick_backend_device *device, struct brick_reading *reading)
{
	struct cuda_scope scope;
	int saved = errno, error = -EAGAIN;

	pthread_mutex_lock(&device->lock);
	struct cuda_pair *pair = cuda_pair_take(device);
	pthread_mutex_unlock(&device->lock);
	if (pair) {
		cuda_scope_enter(device, &scope);
		int result = read_event(device, pair->end, reading);
		pthread_mutex_lock(&device->lock);
		error = result == CUDA_FINE ? take_reading(device, pair, reading) : BRICK_EDEVICE;
		cuda_pair_give(device, pair);
		pthread_mutex_unlock(&device->lock);
		cuda_scope_leave(device, &scope);
	}
	errno = saved;
	return error;
}

const struct brick_backend brick__backend_cuda = {
	.size = sizeof brick__backend_cuda,
	.version = BRICK_BACKEND_VERSION,
	.source = BRICK_SOURCE_DEVICE_EVENT,
	.name = "cuda",
	.probe = cuda_probe,
	.open = cuda_open,
	.begin = begin,
	.end = end,
	.drain = drain,
	.synchronise = synchronise,
	.correlate = correlate,
	.close = cuda_close,
	.claim = claim,
};
