/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks on a device: begin and end put timestamps into the queue (and, in mode immediate, wait for
 * it), on the way from the engine's call to a pair that comes back later.
 */
#include <stdio.h>
#include <stdlib.h>
#include "base/scope.h"
#include "brick/probe.h"
#include "lib/device/device_state.h"
#include "lib/probe/sample.h"
#include "lib/session/session_state.h"
#include "lib/session/session_map.h"
#include "lib/sys/ticks.h"

static struct brick__device_queue *add_queue(struct brick_device *device, void *native)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	struct brick__device_queue *queue = calloc(1, sizeof *queue);
	char name[64];

	if (!queue)
		return NULL;
	snprintf(name, sizeof name, "%.40s queue %u", device->backend->name,
		device->queue_count + 1);
	options.name = name;
	options.backend = device->backend->name;
	if (brick_queue_create(&queue->queue, &options)) {
		free(queue);
		return NULL;
	}
	queue->native = native;
	queue->first = queue->last = BRICK__NO_PAIR;
	queue->next = device->queues;
	device->queues = queue;
	device->queue_count++;
	return queue;
}

static struct brick__device_queue *queue_of(struct brick_device *device, void *native)
{
	KEEP_ERRNO();

	for (struct brick__device_queue *q = device->queues; q; q = q->next)
		if (q->native == native)
			return q;
	return add_queue(device, native);
}

/* A session that this device does not know yet: what its mode is, and what it should know of us. */
static void join_session(struct brick_device *device, uint32_t serial)
{
	brick__session_ensure();
	brick__session_lock();
	const struct brick_session_header *h = brick__session.header;
	if (!device->has_mode)
		device->mode = h ? h->mode : BRICK_MODE_DEFERRED;
	brick__session_unlock();
	for (uint32_t i = 0; i < device->note_count; i++)
		brick_note(device->notes[i].key, "%s", device->notes[i].value);
	device->noted_ns = device->placed_ns = 0;
	device->serial = serial;
}

static uint32_t mode_now(struct brick_device *device)
{
	uint32_t serial = __atomic_load_n(&brick__on, __ATOMIC_RELAXED);

	if (BRICK_UNLIKELY(device->serial != serial))
		join_session(device, serial);
	return device->mode;
}

static void append(struct brick_device *device, struct brick__device_queue *queue, uint32_t index)
{
	if (queue->last == BRICK__NO_PAIR)
		queue->first = index;
	else
		device->pairs[queue->last].next = index;
	queue->last = index;
	queue->open[queue->depth++] = index;
}

static int begin_in_queue(struct brick_device *device, void *native, uint32_t index)
{
	struct brick_launch *launch = &device->pairs[index].command.launch;

	brick_launch_begin(launch);
	if (device->claim)
		device->claim(device->handle, native);
	int error = brick__pair_begin(device, native, index);
	if (error)
		brick_launch_end(launch);
	return error;
}

static void count_refused(struct brick__device_queue *queue, int error)
{
	if (error == BRICK_EUNSUPPORTED)
		brick_queue_unsupported(queue->queue, 1);
	else
		brick_queue_dropped(queue->queue, 1);
}

static brick_device_span begin(struct brick_device *device, struct brick__device_queue *queue,
	uint32_t mode, uint32_t brick, int layer)
{
	uint32_t index = brick__pair_take(device);

	if (index == BRICK__NO_PAIR) {
		brick_queue_dropped(queue->queue, 1);
		return 0;
	}
	struct brick__pair *pair = &device->pairs[index];
	int error = 0;
	pair->is_immediate = mode == BRICK_MODE_IMMEDIATE;
	if (pair->is_immediate) /* nothing of before may be left in the queue */
		error = brick__call_synchronise(device, queue->native);
	if (error < 0)
		brick__device_failed(device, error);
	else
		error = begin_in_queue(device, queue->native, index);
	if (error < 0) {
		count_refused(queue, error);
		brick__pair_release(device, index);
		return 0;
	}
	pair->queue = queue;
	pair->depth = (uint8_t)queue->depth;
	pair->command.launch.brick = brick;
	pair->command.launch.layer = layer;
	append(device, queue, index);
	brick__queue_pending(queue->queue, pair->command.launch.session, 1);
	return brick__pair_ticket(device, index);
}

brick_device_span brick_device_begin(
	struct brick_device *device, void *native, uint32_t brick, int layer)
{
	if (BRICK_LIKELY(!brick_enabled()))
		return 0;
	uint32_t mode = mode_now(device);
	if (mode == BRICK_MODE_NONE)
		return 0;
	struct brick__device_queue *queue = queue_of(device, native);
	if (!queue)
		return 0;
	if (brick >= brick_count() || layer < -1 || layer > INT16_MAX) {
		brick__queue_unmatched(queue->queue, 1);
		return 0;
	}
	if (queue->depth >= BRICK__SPAN_DEPTH) {
		brick__queue_too_deep(queue->queue);
		return 0;
	}
	return begin(device, queue, mode, brick, layer);
}

int brick__device_wait(const struct brick_device *device, void *native, uint64_t number)
{
	brick_span span = brick_begin(BRICK_SYNCHRONIZE);
	int error = brick__call_synchronise(device, native);
	const struct brick_record after = {
		.begin = brick__now(), .kind = BRICK_RECORD_AFTER, .layer = -1, .elements = number};

	if (span)
		brick__close_with(span, after.begin, number ? &after : NULL);
	return error;
}

/* Mode immediate: the thread goes on when the device is done. */
static void wait_for(struct brick_device *device, struct brick__pair *pair)
{
	int error = brick__device_wait(device, pair->queue->native, pair->command.launch.number);

	if (error < 0) {
		brick__device_failed(device, error);
		pair->state = PAIR_FAILED;
	}
}

/* End the innermost open span of a queue. */
static void end_top(struct brick_device *device, struct brick__device_queue *queue)
{
	uint32_t index = queue->open[--queue->depth];
	struct brick__pair *pair = &device->pairs[index];

	int error = brick__call_end(device, queue->native, brick__pair_ticket(device, index));
	brick_launch_end(&pair->command.launch);
	pair->state = error < 0 ? PAIR_FAILED : PAIR_ENDED;
	if (error < 0)
		brick__device_failed(device, error);
	else if (pair->is_immediate)
		wait_for(device, pair);
}

/* Half of the pairs are in use: time to see what has come back, now and then. */
static int is_filling(const struct brick_device *device)
{
	return device->in_use >= device->pair_count / 2 &&
	       device->in_use >= device->drained_in_use + device->pair_count / 16;
}

void brick_device_end(struct brick_device *device, void *native, brick_device_span span,
	uint64_t elements, uint64_t bytes, uint64_t flops)
{
	if (BRICK_LIKELY(!span))
		return;
	uint32_t index = brick__pair_find(device, span);
	struct brick__pair *pair = index == BRICK__NO_PAIR ? NULL : &device->pairs[index];
	if (!pair || pair->state != PAIR_OPEN || !pair->queue || pair->queue->native != native) {
		struct brick__device_queue *queue = queue_of(device, native);
		if (queue)
			brick__queue_unmatched(queue->queue, 1);
		return;
	}
	struct brick__device_queue *queue = pair->queue;
	pair->command.elements = elements;
	pair->command.bytes = bytes;
	pair->command.flops = flops;
	while (queue->open[queue->depth - 1] != index) {
		brick__queue_unmatched(queue->queue, 1);
		end_top(device, queue);
	}
	int is_immediate = pair->is_immediate;
	end_top(device, queue);
	if ((is_immediate && !queue->depth) || is_filling(device))
		brick_device_drain(device);
}

int brick_device_layer_end(struct brick_device *device, void *native)
{
	if (BRICK_LIKELY(!brick_enabled()) || mode_now(device) != BRICK_MODE_PER_LAYER)
		return 0;
	struct brick__device_queue *queue = queue_of(device, native);
	uint64_t number = queue && queue->last != BRICK__NO_PAIR
				  ? device->pairs[queue->last].command.launch.number
				  : 0;
	int error = brick__device_wait(device, native, number);
	if (error < 0)
		return error;
	error = brick_device_drain(device);
	return error < 0 ? error : 0;
}
