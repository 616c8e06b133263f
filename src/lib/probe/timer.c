/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timers on a device: one pair at a time, independent of sessions. What was not measured is an
 * error, never a 0. A timer that is started again while its last result is on the way forgets that.
 */
#include <errno.h>
#include <stdlib.h>
#include "lib/device/device_state.h"

enum timer_state { IDLE, STARTED, ENDED, READY, FAILED };

struct brick_timer {
	struct brick_device *device; /* NULL: it was closed */
	struct brick_timer *next, **link;
	enum timer_state state;
	uint32_t pair; /* while STARTED or ENDED */
	int error;     /* while FAILED */
	void *queue;
	uint64_t ns; /* while READY */
};

int brick_timer_create(struct brick_timer **out, struct brick_device *device)
{
	struct brick_timer *timer = device ? calloc(1, sizeof *timer) : NULL;

	if (!timer)
		return device ? -ENOMEM : -EINVAL;
	timer->device = device;
	timer->next = device->timers;
	timer->link = &device->timers;
	if (timer->next)
		timer->next->link = &timer->next;
	device->timers = timer;
	*out = timer;
	return 0;
}

static int fail(struct brick_timer *timer, int error)
{
	timer->state = FAILED;
	timer->error = error;
	return error;
}

void brick__timer_finish(struct brick_timer *timer, uint64_t begin_ns, uint64_t end_ns, int error)
{
	if (!error && end_ns < begin_ns)
		error = BRICK_EDEVICE; /* a time that cannot be */
	if (error) {
		fail(timer, error < 0 ? error : BRICK_EDEVICE);
		return;
	}
	timer->state = READY;
	timer->ns = end_ns - begin_ns;
}

/* Whatever is on the way does not interest any more. */
static void forget(struct brick_timer *timer)
{
	struct brick_device *device = timer->device;

	if (device && timer->state == STARTED) {
		struct brick__pair *pair = &device->pairs[timer->pair];
		int error = brick__call_end(
			device, timer->queue, brick__pair_ticket(device, timer->pair));
		pair->timer = NULL;
		pair->state = PAIR_ENDED;
		if (error < 0)
			brick__pair_release(device, timer->pair);
	} else if (device && timer->state == ENDED) {
		device->pairs[timer->pair].timer = NULL;
	}
	timer->state = IDLE;
}

int brick_timer_start(struct brick_timer *timer, void *queue)
{
	struct brick_device *device = timer->device;
	int saved = errno;

	if (!device)
		return BRICK_ESTATE;
	forget(timer);
	uint32_t index = brick__pair_take(device);
	if (index == BRICK__NO_PAIR)
		return fail(timer, -EAGAIN);
	int error = brick__pair_begin(device, queue, index);
	errno = saved;
	if (error) {
		device->error = 0; /* told here */
		brick__pair_release(device, index);
		return fail(timer, error);
	}
	device->pairs[index].timer = timer;
	timer->pair = index;
	timer->queue = queue;
	timer->state = STARTED;
	return 0;
}

int brick_timer_stop(struct brick_timer *timer, void *queue)
{
	struct brick_device *device = timer->device;
	int saved = errno;

	if (!device)
		return BRICK_ESTATE;
	if (timer->state == FAILED)
		return timer->error;
	if (timer->state != STARTED)
		return -EINVAL;
	int error = brick__call_end(device, queue, brick__pair_ticket(device, timer->pair));
	errno = saved;
	if (error < 0) {
		brick__pair_release(device, timer->pair);
		return fail(timer, error);
	}
	device->pairs[timer->pair].state = PAIR_ENDED;
	timer->state = ENDED;
	return 0;
}

int brick_timer_elapsed_ns(struct brick_timer *timer, uint64_t *ns)
{
	if (timer->state == ENDED) {
		int error = brick_device_drain(timer->device);
		if (timer->state == ENDED)
			return error < 0 ? error : -EAGAIN;
	}
	if (timer->state == FAILED)
		return timer->error;
	if (timer->state != READY)
		return -EINVAL;
	*ns = timer->ns;
	return 0;
}

void brick_timer_destroy(struct brick_timer *timer)
{
	if (!timer)
		return;
	forget(timer);
	if (timer->device) {
		*timer->link = timer->next;
		if (timer->next)
			timer->next->link = timer->link;
	}
	free(timer);
}

void brick__timers_orphan(struct brick_device *device)
{
	for (struct brick_timer *t = device->timers; t; t = t->next) {
		if (t->state == STARTED || t->state == ENDED)
			fail(t, BRICK_ENOTRECORDED);
		t->device = NULL;
	}
	device->timers = NULL;
}
