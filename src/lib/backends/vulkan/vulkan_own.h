/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command buffer of ours, recorded once and submitted to the program's queue, with a fence that
 * says when it is done. What the queue holds before it may take any time, and may wait for what the
 * program does next: nothing here waits without a bound. One thread at a time.
 */
#pragma once

#include "lib/backends/vulkan/vulkan_functions.h"

/* All zero: there is none, and nothing is on its way. */
struct vulkan_own {
	const struct vulkan_calls *call;
	VkDevice device;
	VkCommandBuffer commands;
	VkFence fence;
	int is_out; /* submitted, and not seen done */
};

/* Make it and begin to record; 0 or BRICK_EDEVICE. `call` stays the caller's. */
int vulkan_own_begin(struct vulkan_own *own, const struct vulkan_calls *call, VkDevice device,
	VkCommandPool pool);
int vulkan_own_end(struct vulkan_own *own);

/* Nothing may be out. */
int vulkan_own_submit(struct vulkan_own *own, VkQueue queue);

/* 1: nothing is out; 0: it is; BRICK_EDEVICE. */
int vulkan_own_is_done(struct vulkan_own *own);

/* The same after a wait of at most so long: asleep, or by looking all the time. */
int vulkan_own_wait(struct vulkan_own *own, uint64_t timeout_ns);
int vulkan_own_watch(struct vulkan_own *own, uint64_t timeout_ns);

/* Nothing may be out. The command buffer goes with its pool. */
void vulkan_own_free(struct vulkan_own *own);
