/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens when command buffers are submitted: a copy of their timestamps follows them in the
 * queue, into memory of that submission alone, and is recorded when its fence says so. Results can
 * therefore come as late as they like, and a command buffer may be submitted or recorded again
 * meanwhile, without any landing on another submission. Any thread.
 */
#pragma once

#include "attach/vulkan/vulkan_device.h"

/* The newest command that a fence waits for; 0: not known. */
uint64_t submits_fence_number(VkFence fence);
