/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of a device, and what is in flight on it. Under the device's lock. */
#pragma once

#include "attach/vulkan/vulkan_device.h"

struct vulkan_submission;

enum { QUEUE_WAITS = 16 };

struct vulkan_queue {
	struct vulkan_queue *next;
	VkQueue handle;
	uint32_t family;
	struct brick_queue *queue;
	struct vulkan_submission *first, **last; /* in flight, oldest first */
	uint64_t number;			 /* of the newest command */
	struct {
		uint64_t device_ns, host_ns; /* by the device's clock, and where that was placed */
	} last_end;			     /* of what is recorded */
	struct {
		uint64_t number, ns; /* commands up to it were done by that time of the host */
	} waits[QUEUE_WAITS];
	uint32_t wait_count; /* ever */
};

/* As vkGetDeviceQueue() handed it out; NULL: not known. Takes the lock. */
struct vulkan_queue *queue_find(struct vulkan_device *device, VkQueue handle);

/* A wait for the command of that number, and for all before it, was over at that time. */
void queue_waited(struct vulkan_queue *queue, uint64_t number, uint64_t host_ns);

/* When the command of that number was over at the latest; UINT64_MAX: not known. */
uint64_t queue_over_ns(const struct vulkan_queue *queue, uint64_t number);
