/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances and devices with the functions of whatever lies below the layer, found by the dispatch
 * pointer that every dispatchable handle begins with. Any thread; what a device's lock protects
 * says so.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>
#include "base/members.h"
#include "brick/correlation.h"
#include "brick/queue.h"
#include "lib/probe/wrapped_ticks.h"

/* Functions of devices that the layer stands in front of, by hook_ and their name (hooks.h). */
#define HOOKED_FUNCTIONS(X)                                                                        \
	EACH_NAME(X, GetDeviceQueue, GetDeviceQueue2, QueueSubmit, QueueSubmit2, QueueSubmit2KHR,  \
		QueueWaitIdle, QueuePresentKHR, DeviceWaitIdle, DestroyFence, DestroySemaphore,    \
		ResetFences, WaitForFences, WaitSemaphores, WaitSemaphoresKHR)                     \
	EACH_NAME(X, CreateCommandPool, DestroyCommandPool, AllocateCommandBuffers,                \
		FreeCommandBuffers, BeginCommandBuffer, ResetCommandBuffer, CreateShaderModule,    \
		DestroyShaderModule, CreateComputePipelines, DestroyPipeline)                      \
	EACH_NAME(X, CmdBindPipeline, CmdDispatch, CmdDispatchIndirect, CmdDispatchBase,           \
		CmdDispatchBaseKHR, CmdCopyBuffer, CmdCopyBuffer2, CmdCopyBuffer2KHR,              \
		CmdCopyImage, CmdCopyImage2, CmdCopyImage2KHR, CmdCopyBufferToImage,               \
		CmdCopyBufferToImage2, CmdCopyBufferToImage2KHR, CmdCopyImageToBuffer,             \
		CmdCopyImageToBuffer2, CmdCopyImageToBuffer2KHR, CmdBlitImage, CmdResolveImage,    \
		CmdClearColorImage, CmdFillBuffer, CmdUpdateBuffer)                                \
	EACH_NAME(X, CmdBeginRenderPass, CmdEndRenderPass, CmdBeginRenderPass2, CmdEndRenderPass2, \
		CmdBeginRenderPass2KHR, CmdEndRenderPass2KHR, CmdBeginRendering, CmdEndRendering,  \
		CmdBeginRenderingKHR, CmdEndRenderingKHR, CmdExecuteCommands)                      \
	EACH_NAME(X, SetDebugUtilsObjectNameEXT, CmdBeginDebugUtilsLabelEXT,                       \
		CmdEndDebugUtilsLabelEXT)

/* Those that it only calls. */
#define CALLED_FUNCTIONS(X)                                                                        \
	EACH_NAME(X, DestroyDevice, CreateFence, GetFenceStatus, EndCommandBuffer,                 \
		CmdWriteTimestamp, CmdResetQueryPool, CmdCopyQueryPoolResults, CmdPipelineBarrier, \
		CreateQueryPool, DestroyQueryPool, CreateBuffer, DestroyBuffer,                    \
		GetBufferMemoryRequirements, AllocateMemory, FreeMemory, BindBufferMemory,         \
		MapMemory, GetCalibratedTimestampsEXT)

#define DEVICE_FUNCTIONS(X) HOOKED_FUNCTIONS(X) CALLED_FUNCTIONS(X)

struct vulkan_functions {
#define X(name) PFN_vk##name name;
	DEVICE_FUNCTIONS(X)
#undef X
};

struct vulkan_instance {
	VkInstance handle;
	PFN_vkGetInstanceProcAddr next;
	PFN_vkDestroyInstance DestroyInstance;
	PFN_vkEnumerateDeviceExtensionProperties EnumerateDeviceExtensionProperties;
	PFN_vkGetPhysicalDeviceProperties GetPhysicalDeviceProperties;
	PFN_vkGetPhysicalDeviceMemoryProperties GetPhysicalDeviceMemoryProperties;
	PFN_vkGetPhysicalDeviceQueueFamilyProperties GetPhysicalDeviceQueueFamilyProperties;
	PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT time_domains; /* or NULL */
};

enum { VULKAN_FAMILIES = 16 };

struct vulkan_family {
	uint64_t mask;	    /* of the bits that timestamps have; 0: none can be written */
	uint32_t can_copy;  /* query results into a buffer */
	VkCommandPool pool; /* ours, for reading back; under the device's lock */
};

struct vulkan_queue;

/* A timestamp of ours on its way, to read the clock by. */
struct vulkan_stamp {
	struct vulkan_slot *slot; /* NULL: none is */
	struct vulkan_queue *queue;
	VkQueryPool query;
	uint64_t before_ns;
};

struct vulkan_device {
	VkDevice handle;
	PFN_vkGetDeviceProcAddr next;
	PFN_vkSetDeviceLoaderData set_loader_data;
	struct vulkan_functions call;
	struct vulkan_instance *instance;
	char name[64];
	uint32_t memory_type; /* host-visible and coherent */
	struct vulkan_family families[VULKAN_FAMILIES];
	uint32_t family_count;
	int has_calibration;
	pid_t process; /* that made it: a forked one has nothing of the driver's */

	pthread_mutex_t lock;	      /* for all that follows */
	struct wrapped_ticks counter; /* with the fewest bits that any family has */
	struct vulkan_queue *queues;
	struct vulkan_slot *slots; /* free ones */
	struct brick_correlation correlation;
	uint64_t correlated_ns; /* when it was last looked at */
	uint64_t residual_ns;	/* the greatest of all that was recorded */
	struct vulkan_stamp stamp;
};

/* By any dispatchable handle of a device (VkDevice, VkQueue, VkCommandBuffer); NULL: not known. */
struct vulkan_device *vulkan_device_of(const void *handle);
struct vulkan_instance *vulkan_instance_of(const void *handle);

/* They take the instance or device over, or -ENOMEM; and give it back. */
int vulkan_instance_add(struct vulkan_instance *instance);
struct vulkan_instance *vulkan_instance_take(VkInstance handle);
int vulkan_device_add(struct vulkan_device *device);
void vulkan_device_take(const struct vulkan_device *device);
void vulkan_devices_each(void (*visit)(void *device));

/* Handles that are no pointers, as keys. */
#define VULKAN_KEY(handle) ((uint64_t)(handle))
