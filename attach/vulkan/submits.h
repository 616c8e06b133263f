/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens when command buffers are submitted: a copy of their timestamps follows them in the
 * queue, into memory of that submission alone, and is recorded when its fence says so. Results can
 * therefore come as late as they like, and a command buffer may be submitted or recorded again
 * meanwhile, without any landing on another submission. Any thread.
 */
#ifndef BRICK_ATTACH_VULKAN_SUBMITS_H
#define BRICK_ATTACH_VULKAN_SUBMITS_H

#include "attach/vulkan/layer.h"

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

/* Queues of a device as vkGetDeviceQueue() hands them out; NULL: not known. */
struct vulkan_queue *queues_find(struct vulkan_device *device, VkQueue handle);

/* Record what is done, on all queues. Under the device's lock. */
void submits_harvest(struct vulkan_device *device);

void submits_device_begin(struct vulkan_device *device);

/* The device is idle from here on: the last submissions are recorded, all else is freed. */
void submits_device_end(struct vulkan_device *device);

/* The process ends, the device does not: what comes within a second is recorded. */
void submits_device_exit(struct vulkan_device *device);

PFN_vkVoidFunction submits_hook(const char *name);
PFN_vkVoidFunction queues_hook(const char *name);
PFN_vkVoidFunction waits_hook(const char *name);

/* The newest command that a fence waits for; 0: not known. */
uint64_t submits_fence_number(VkFence fence);

#endif
