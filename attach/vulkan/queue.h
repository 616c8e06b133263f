/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of a device, and what is in flight on it. Under the device's lock. */
#ifndef BRICK_ATTACH_VULKAN_QUEUE_H
#define BRICK_ATTACH_VULKAN_QUEUE_H

#include "attach/vulkan/device.h"

struct vulkan_submission;

struct vulkan_queue {
	struct vulkan_queue *next;
	VkQueue handle;
	uint32_t family;
	struct brick_queue *queue;
	struct vulkan_submission *first, **last; /* in flight, oldest first */
	uint64_t number;			 /* of the newest command */
	uint64_t ticks;				 /* newest timestamp, all 64 bits */
};

/* As vkGetDeviceQueue() handed it out; NULL: not known. Takes the lock. */
struct vulkan_queue *queue_find(struct vulkan_device *device, VkQueue handle);

/* A timestamp of that queue, in ns of the device's clock. */
uint64_t queue_ns(const struct vulkan_device *device, struct vulkan_queue *queue, uint64_t ticks);

#endif
