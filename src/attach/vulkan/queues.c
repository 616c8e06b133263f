/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that hand out queues, and what becomes of them when their device goes: the last submissions
 * are waited for and recorded. Called by layer.c.
 */
#include "attach/vulkan/queues.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "attach/vulkan/vulkan_clock.h"
#include "attach/vulkan/vulkan_completions.h"
#include "attach/vulkan/vulkan_hooks.h"
#include "attach/vulkan/vulkan_queue.h"
#include "attach/vulkan/submission.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/brick.h"

enum { EXIT_PATIENCE_S = 1 };

static void add_queue(struct vulkan_device *d, VkQueue handle, uint32_t family, uint32_t index)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	char name[96];

	if (!handle || family >= d->family_count || queue_find(d, handle))
		return;
	struct vulkan_queue *queue = calloc(1, sizeof *queue);
	if (!queue)
		return;
	snprintf(name, sizeof name, "%.48s family %u queue %u", d->name, family, index);
	options.name = name;
	options.backend = "vulkan";
	options.flags = BRICK_QUEUE_OUT_OF_ORDER; /* only barriers keep commands apart */
	queue->handle = handle;
	queue->family = family;
	queue->last = &queue->first;
	if (brick_queue_create(&queue->queue, &options)) {
		free(queue);
		return;
	}
	HOLD(&d->lock);
	queue->next = d->queues;
	d->queues = queue;
}

VKAPI_ATTR void VKAPI_CALL hook_GetDeviceQueue(
	VkDevice device, uint32_t family, uint32_t index, VkQueue *out)
{
	struct vulkan_device *d = vulkan_device_of(device);

	d->call.GetDeviceQueue(device, family, index, out);
	add_queue(d, *out, family, index);
}

VKAPI_ATTR void VKAPI_CALL hook_GetDeviceQueue2(
	VkDevice device, const VkDeviceQueueInfo2 *info, VkQueue *out)
{
	struct vulkan_device *d = vulkan_device_of(device);

	d->call.GetDeviceQueue2(device, info, out);
	add_queue(d, *out, info->queueFamilyIndex, info->queueIndex);
}

void queues_device_begin(struct vulkan_device *d)
{
	brick_note("attach", "Vulkan layer");
	brick_note("backend", "vulkan %s", d->name);
}

static void describe_clock(const struct vulkan_device *d)
{
	if (!d->residual_ns)
		return; /* nothing was recorded */
	brick_note("vulkan.clock", "%s; residual %llu ns",
		d->has_calibration ? "calibrated timestamps"
				   : "timestamps between readings of the host's clock",
		(unsigned long long)d->residual_ns);
}

void queues_device_end(struct vulkan_device *d)
{
	d->call.DeviceWaitIdle(d->handle);
	HOLD(&d->lock);
	completions_take(d);
	describe_clock(d);
	clock_close(d);
	while (d->queues) {
		struct vulkan_queue *queue = d->queues;
		d->queues = queue->next;
		while (queue->first) { /* the device is lost */
			struct vulkan_submission *s = queue->first;
			queue->first = s->next;
			brick_queue_dropped(queue->queue, s->pending.count);
			slot_give_back(s->slot);
			submission_destroy(s);
		}
		brick_queue_destroy(queue->queue);
		free(queue);
	}
	slots_destroy(d);
}

static void wait_for_last(const struct vulkan_queue *queue)
{
	const struct vulkan_submission *last = queue->first;

	while (last && last->next)
		last = last->next;
	if (last)
		slot_wait(last->slot, EXIT_PATIENCE_S);
}

/* Nothing of the driver's is destroyed: threads of the program may still be using it. */
void queues_device_exit(struct vulkan_device *d)
{
	struct timespec until = timespec_in_ns(CLOCK_REALTIME, EXIT_PATIENCE_S * NS_PER_S);

	if (pthread_mutex_timedlock(&d->lock, &until))
		return;
	for (const struct vulkan_queue *queue = d->queues; queue; queue = queue->next)
		wait_for_last(queue);
	completions_take(d);
	for (const struct vulkan_queue *queue = d->queues; queue; queue = queue->next)
		for (const struct vulkan_submission *s = queue->first; s; s = s->next)
			brick_queue_dropped(queue->queue, s->pending.count);
	describe_clock(d);
	pthread_mutex_unlock(&d->lock);
}
