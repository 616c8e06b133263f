/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that hand out queues, and what becomes of them when their device goes: the last submissions
 * are waited for and recorded. Called by layer.c and submits.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/vulkan/submission.h"
#include "brick/brick.h"

struct vulkan_queue *queues_find(struct vulkan_device *d, VkQueue handle)
{
	struct vulkan_queue *queue;

	pthread_mutex_lock(&d->lock);
	for (queue = d->queues; queue && queue->handle != handle;)
		queue = queue->next;
	pthread_mutex_unlock(&d->lock);
	return queue;
}

static void add_queue(struct vulkan_device *d, VkQueue handle, uint32_t family, uint32_t index)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	char name[96];

	if (!handle || family >= d->family_count || queues_find(d, handle))
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
	pthread_mutex_lock(&d->lock);
	queue->next = d->queues;
	d->queues = queue;
	pthread_mutex_unlock(&d->lock);
}

static VKAPI_ATTR void VKAPI_CALL get_queue(
	VkDevice device, uint32_t family, uint32_t index, VkQueue *out)
{
	struct vulkan_device *d = vulkan_device_of(device);

	d->call.GetDeviceQueue(device, family, index, out);
	add_queue(d, *out, family, index);
}

static VKAPI_ATTR void VKAPI_CALL get_queue_2(
	VkDevice device, const VkDeviceQueueInfo2 *info, VkQueue *out)
{
	struct vulkan_device *d = vulkan_device_of(device);

	d->call.GetDeviceQueue2(device, info, out);
	add_queue(d, *out, info->queueFamilyIndex, info->queueIndex);
}

void submits_device_begin(struct vulkan_device *d)
{
	brick_note("attach", "Vulkan layer");
	brick_note("backend", "vulkan %s", d->name);
	brick_note("vulkan.clock",
		d->has_calibration ? "calibrated timestamps"
				   : "timestamps between readings of the host's clock, once");
}

void submits_device_end(struct vulkan_device *d)
{
	d->call.DeviceWaitIdle(d->handle);
	pthread_mutex_lock(&d->lock);
	submits_harvest(d);
	while (d->queues) {
		struct vulkan_queue *queue = d->queues;
		d->queues = queue->next;
		while (queue->first) { /* the device is lost */
			struct vulkan_submission *s = queue->first;
			queue->first = s->next;
			brick_queue_dropped(queue->queue, s->pending_count);
			slot_give_back(s->slot);
			submission_destroy(s);
		}
		brick_queue_destroy(queue->queue);
		free(queue);
	}
	slots_destroy(d);
	pthread_mutex_unlock(&d->lock);
}

PFN_vkVoidFunction queues_hook(const char *name)
{
	if (!strcmp(name, "vkGetDeviceQueue"))
		return (PFN_vkVoidFunction)get_queue;
	if (!strcmp(name, "vkGetDeviceQueue2"))
		return (PFN_vkVoidFunction)get_queue_2;
	return NULL;
}
