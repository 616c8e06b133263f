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

/*
 * The `queue` of brick_device_begin(). A wrong size or reserved is -EINVAL. It must outlive the
 * device. One thread at a time.
 */
struct brick_vulkan_queue {
	size_t size;	   /* sizeof(struct brick_vulkan_queue) */
	void *queue;	   /* VkQueue */
	void *commands;	   /* VkCommandBuffer that is being recorded, outside of render passes */
	uint32_t family;   /* index of the queue family of queue and command buffers */
	uint32_t reserved; /* 0 */
	/*
	 * Submits the commands that were recorded, and sets `commands` to a buffer that is being
	 * recorded. The modes immediate and per-layer call it to synchronise. 0, or a negative
	 * code. NULL: these modes are refused (-ENOTSUP).
	 */
	int (*submit)(struct brick_vulkan_queue *queue);
	void *user; /* the program's own; not looked at */
};

#define BRICK_VULKAN_QUEUE_INIT BRICK_SIZED(struct brick_vulkan_queue)

BRICK_END_DECLS

#endif
