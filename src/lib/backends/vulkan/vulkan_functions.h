/* SPDX-License-Identifier: Apache-2.0 */
/* Vulkan's functions, from the loader that the system has, opened at run time. Any thread. */
#pragma once

#define VK_NO_PROTOTYPES
#include <stddef.h>
#include <vulkan/vulkan.h>
#include "base/members.h"

#define VULKAN_FUNCTIONS(X)                                                                       \
	EACH_NAME(X, CreateQueryPool, DestroyQueryPool, GetQueryPoolResults, CmdResetQueryPool,   \
		CmdWriteTimestamp, CreateCommandPool, DestroyCommandPool, AllocateCommandBuffers, \
		BeginCommandBuffer, EndCommandBuffer, QueueSubmit, QueueWaitIdle, CreateFence,    \
		DestroyFence, ResetFences, GetFenceStatus, WaitForFences)

struct vulkan_calls {
#define X(name) PFN_vk##name name;
	VULKAN_FUNCTIONS(X)
#undef X
	PFN_vkGetCalibratedTimestampsEXT
		GetCalibratedTimestampsEXT; /* or NULL: none, or not wanted */
	PFN_vkGetPhysicalDeviceProperties GetPhysicalDeviceProperties;
	PFN_vkGetPhysicalDeviceQueueFamilyProperties GetPhysicalDeviceQueueFamilyProperties;
};

/* vkGetInstanceProcAddr, or NULL and a sentence. The library stays open. */
PFN_vkGetInstanceProcAddr vulkan_loader(char *reason, size_t bytes);

/* 0; -ENOTSUP: the device lacks a function that all should have. */
int vulkan_calls_load(struct vulkan_calls *calls, VkInstance instance, VkDevice device);
