/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots for reading timestamps back: each has a command buffer, a fence, and memory that the host
 * can read. Free slots are kept in vulkan_device.slots. The caller holds the device's lock.
 */
#pragma once

#include "attach/vulkan/vulkan_device.h"

struct vulkan_slot {
	struct vulkan_slot *next;
	struct vulkan_device *device;
	uint32_t family;
	VkCommandBuffer commands;
	VkFence fence;
	VkBuffer buffer;
	VkDeviceMemory memory;
	uint32_t capacity;	 /* of `results` */
	const uint64_t *results; /* timestamps, mapped; valid once slot_is_done() returns 1 */
};

/*
 * Get a slot with room for `count` timestamps, its command buffer begun. NULL: no memory, or the
 * driver failed. Give it back by slot_give_back().
 */
struct vulkan_slot *slot_take(struct vulkan_device *device, uint32_t family, uint32_t count);

/* Copy the first `count` results of a pool to the slot's memory from index `at` on. */
void slot_copy(struct vulkan_slot *slot, VkQueryPool pool, uint32_t count, uint32_t at);

/* End the command buffer and submit it. */
VkResult slot_submit(struct vulkan_slot *slot, VkQueue queue);

/* 1: the results are there; 0: not yet; negative: the device failed. */
int slot_is_done(const struct vulkan_slot *slot);

/* Wait for the results, at most so many seconds; time in which the process was stopped hardly
 * counts. */
void slot_wait(const struct vulkan_slot *slot, unsigned seconds);

/* Gives a slot back. It must be done, or never have been submitted. */
void slot_give_back(struct vulkan_slot *slot);

/* Destroys all free slots of a device; the device is idle. */
void slots_destroy(struct vulkan_device *device);
