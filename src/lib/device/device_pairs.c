/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pairs of a device: a fixed table made when it is opened, and what comes back for them. A
 * ticket names a pair and the use it is in, so that what comes late or twice finds nobody.
 */
#include <errno.h>
#include "base/members.h"
#include "lib/device/device_state.h"

uint32_t brick__pair_find(const struct brick_device *device, uint64_t ticket)
{
	uint32_t index = (uint32_t)ticket - 1;

	if (index >= device->pair_count || device->pairs[index].state == PAIR_FREE ||
		brick__pair_ticket(device, index) != ticket)
		return BRICK__NO_PAIR;
	return index;
}

static uint32_t take(struct brick_device *device)
{
	uint32_t index = device->free;

	if (index == BRICK__NO_PAIR)
		return index;
	struct brick__pair *pair = &device->pairs[index];
	device->free = pair->next;
	device->in_use++;
	uint32_t generation = pair->generation + 1;
	*pair = (struct brick__pair){.generation = generation,
		.next = BRICK__NO_PAIR,
		.state = PAIR_OPEN,
		.command = {
			.size = sizeof(struct brick_command), .source = device->backend->source}};
	return index;
}

uint32_t brick__pair_take(struct brick_device *device)
{
	uint32_t index = take(device);

	if (index != BRICK__NO_PAIR)
		return index;
	brick_device_drain(device);
	return take(device);
}

void brick__pair_release(struct brick_device *device, uint32_t index)
{
	struct brick__pair *pair = &device->pairs[index];

	pair->state = PAIR_FREE;
	pair->next = device->free;
	device->free = index;
	device->in_use--;
}

int brick__pair_begin(struct brick_device *device, void *native, uint32_t index)
{
	uint64_t ticket = brick__pair_ticket(device, index);
	int error = brick__call_begin(device, native, ticket);

	if (error == -EAGAIN) {
		brick_device_drain(device);
		error = brick__call_begin(device, native, ticket);
	}
	if (error < 0 && error != -EAGAIN)
		brick__device_failed(device, error);
	return error < 0 ? error : 0;
}

void brick__device_complete(void *context, const struct brick_completion *completion)
{
	struct brick_device *device = context;
	uint32_t index = brick__pair_find(device, completion->ticket);
	struct brick__pair *pair = index == BRICK__NO_PAIR ? NULL : &device->pairs[index];

	if (!pair || pair->state != PAIR_ENDED) {
		device->strays++;
		return;
	}
	int error = completion->reserved ? -EINVAL : completion->error;
	pair->state = error ? PAIR_FAILED : PAIR_DONE;
	pair->error = error;
	members_copy(&pair->command, completion, begin_ns, end_ns, queued_ns, submitted_ns);
	if (pair->queue)
		return; /* a span waits for those around it */
	if (pair->timer)
		brick__timer_finish(pair->timer, completion->begin_ns, completion->end_ns, error);
	brick__pair_release(device, index);
}

void brick__device_lost(void *context, uint64_t count)
{
	((struct brick_device *)context)->lost += count;
}

uint32_t brick__device_pending(const struct brick_device *device)
{
	uint32_t pending = 0;

	for (uint32_t i = 0; i < device->pair_count; i++)
		pending += device->pairs[i].state == PAIR_ENDED;
	return pending;
}

void brick__device_give_up(struct brick_device *device)
{
	for (uint32_t i = 0; i < device->pair_count; i++) {
		struct brick__pair *pair = &device->pairs[i];
		if (pair->state != PAIR_ENDED)
			continue;
		pair->state = PAIR_FAILED;
		pair->error = BRICK_ENOTRECORDED;
		if (pair->queue)
			continue;
		if (pair->timer)
			brick__timer_finish(pair->timer, 0, 0, BRICK_ENOTRECORDED);
		brick__pair_release(device, i);
	}
	device->lost = 0; /* they are among these */
}
