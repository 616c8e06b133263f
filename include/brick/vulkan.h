/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the backend "vulkan", for a program that times work on its queue with device.h.
 * Handles are passed as pointers, so that Vulkan's headers are not needed here.
 * brick_backend_options.native: VkInstance, VkPhysicalDevice, VkDevice, and a pointer to a struct
 * brick_vulkan_queue; all four are needed. The device's queue family must have timestamps.
 */
#ifndef BRICK_VULKAN_H
#define BRICK_VULKAN_H

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

/* The `queue` of brick_device_begin(), which refuses it (-EINVAL) when size or reserved are wrong.
 * Outlives the device. One thread at a time. */
struct brick_vulkan_queue {
	size_t size;	   /* sizeof(struct brick_vulkan_queue) */
	void *queue;	   /* VkQueue */
	void *commands;	   /* VkCommandBuffer that is being recorded, outside of render passes */
	uint32_t family;   /* of the queue and of the command buffers */
	uint32_t reserved; /* 0 */
	/*
	 * Submit what was recorded and set `commands` to a buffer that is being recorded: what the
	 * modes immediate and per-layer need to synchronise. 0, or a negative code. NULL: these
	 * modes are refused (-ENOTSUP).
	 */
	int (*submit)(struct brick_vulkan_queue *queue);
	void *user;
};

#define BRICK_VULKAN_QUEUE_INIT BRICK_SIZED(struct brick_vulkan_queue)

BRICK_END_DECLS

#endif
