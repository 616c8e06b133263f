/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instances and devices, with the functions of the next layer or the driver. They are found by the
 * dispatch pointer with which every dispatchable handle begins. Any thread; members under a
 * device's lock are marked.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>
#include "attach/common/device_clock.h"
#include "attach/common/wait_ends.h"
#include "base/hashmap.h"
#include "brick/queue.h"
#include "lib/device/wrapped_ticks.h"

/* clang-format off */
/* Functions of devices that the layer stands in front of, by hook_ and their name:
 * hook_CmdDispatch() is called for vkCmdDispatch() and calls the next one. */
#define HOOKED_FUNCTIONS(X) \
	X(GetDeviceQueue) X(GetDeviceQueue2) X(QueueSubmit) X(QueueSubmit2) \
	X(QueueSubmit2KHR) X(QueueWaitIdle) X(QueuePresentKHR) X(DeviceWaitIdle) \
	X(DestroyFence) X(DestroySemaphore) X(ResetFences) X(GetFenceStatus) \
	X(WaitForFences) X(WaitSemaphores) X(WaitSemaphoresKHR) X(CreateCommandPool) \
	X(DestroyCommandPool) \
	X(AllocateCommandBuffers) X(FreeCommandBuffers) X(BeginCommandBuffer) \
	X(ResetCommandBuffer) X(CreateShaderModule) X(DestroyShaderModule) \
	X(CreateComputePipelines) X(DestroyPipeline) X(CmdBindPipeline) X(CmdDispatch) \
	X(CmdDispatchIndirect) X(CmdDispatchBase) X(CmdDispatchBaseKHR) X(CmdCopyBuffer) \
	X(CmdCopyBuffer2) X(CmdCopyBuffer2KHR) X(CmdCopyImage) X(CmdCopyImage2) \
	X(CmdCopyImage2KHR) X(CmdCopyBufferToImage) X(CmdCopyBufferToImage2) \
	X(CmdCopyBufferToImage2KHR) X(CmdCopyImageToBuffer) X(CmdCopyImageToBuffer2) \
	X(CmdCopyImageToBuffer2KHR) X(CmdBlitImage) X(CmdResolveImage) X(CmdClearColorImage) \
	X(CmdFillBuffer) X(CmdUpdateBuffer) X(CmdBeginRenderPass) X(CmdEndRenderPass) \
	X(CmdBeginRenderPass2) X(CmdEndRenderPass2) X(CmdBeginRenderPass2KHR) \
	X(CmdEndRenderPass2KHR) X(CmdBeginRendering) X(CmdEndRendering) \
	X(CmdBeginRenderingKHR) X(CmdEndRenderingKHR) X(CmdExecuteCommands) \
	X(SetDebugUtilsObjectNameEXT) X(CmdBeginDebugUtilsLabelEXT) \
	X(CmdEndDebugUtilsLabelEXT)

/* Functions that the layer only calls. */
#define CALLED_FUNCTIONS(X) \
	X(DestroyDevice) X(CreateFence) X(EndCommandBuffer) \
	X(CmdWriteTimestamp) X(CmdResetQueryPool) X(CmdCopyQueryPoolResults) \
	X(CmdPipelineBarrier) X(CreateQueryPool) X(DestroyQueryPool) X(CreateBuffer) \
	X(DestroyBuffer) X(GetBufferMemoryRequirements) X(AllocateMemory) X(FreeMemory) \
	X(BindBufferMemory) X(MapMemory) X(GetCalibratedTimestampsEXT)
/* clang-format on */

#define DEVICE_FUNCTIONS(X) HOOKED_FUNCTIONS(X) CALLED_FUNCTIONS(X)

#define X(name) extern __typeof__(vk##name) hook_##name;
HOOKED_FUNCTIONS(X)
#undef X

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
	PFN_vkGetPhysicalDeviceProperties2 GetPhysicalDeviceProperties2; /* NULL before 1.1 */
	PFN_vkGetPhysicalDeviceMemoryProperties GetPhysicalDeviceMemoryProperties;
	PFN_vkGetPhysicalDeviceQueueFamilyProperties GetPhysicalDeviceQueueFamilyProperties;
	PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT time_domains; /* or NULL */
};

enum { VULKAN_FAMILIES = 16 }; /* further queue families are not recorded */

struct vulkan_family {
	uint64_t mask;	    /* the valid bits of timestamps; 0: it writes none */
	bool can_copy;	    /* it can copy query results into a buffer */
	VkCommandPool pool; /* ours, for reading back; under the device's lock */
};

struct vulkan_submission;

/* A queue of a device, and its submissions in flight. Under the device's lock. */
struct vulkan_queue {
	struct vulkan_queue *next;
	VkQueue handle;
	uint32_t family;
	struct brick_queue *queue;
	struct vulkan_submission *first, **last; /* in flight, oldest first */
	uint64_t number;			 /* of the newest command */
	struct {
		uint64_t device_ns, host_ns;
	} last_end; /* end of the last recorded command, by both clocks */
	struct wait_ends wait_ends;
};

/* A submission of ours that writes a timestamp, to read the device's clock. */
struct vulkan_stamp {
	struct vulkan_slot *slot; /* NULL: none is in flight */
	struct vulkan_queue *queue;
	VkQueryPool query;
	uint64_t before_ns; /* host's time before it was submitted */
};

struct vulkan_device {
	VkDevice handle;
	PFN_vkGetDeviceProcAddr next;
	PFN_vkSetDeviceLoaderData set_loader_data;
	struct vulkan_functions call;
	struct vulkan_instance *instance;
	char name[64];
	uint64_t gpu;	      /* the physical device */
	uint32_t memory_type; /* index of a host-visible and coherent type */
	struct vulkan_family families[VULKAN_FAMILIES];
	uint32_t family_count;
	bool has_calibration;
	pid_t process; /* that made it; a forked process must not call the driver */

	pthread_mutex_t lock;	      /* protects the members below */
	struct wrapped_ticks counter; /* with the fewest valid bits of any family */
	struct vulkan_queue *queues;
	struct vulkan_slot *slots; /* free ones */
	struct device_clock clock;
	struct vulkan_stamp stamp;
};

/* A queue by the handle of vkGetDeviceQueue(); NULL: not known. Takes the lock. */
struct vulkan_queue *queue_find(struct vulkan_device *device, VkQueue handle);

/*
 * A device by any of its dispatchable handles (VkDevice, VkQueue, VkCommandBuffer); NULL: not
 * known.
 */
struct vulkan_device *vulkan_device_of(const void *handle);
struct vulkan_instance *vulkan_instance_of(const void *handle);

/*
 * Add an instance or device to the tables: 0, or -ENOMEM. take: remove it; the caller frees it.
 */
int vulkan_instance_add(struct vulkan_instance *instance);
struct vulkan_instance *vulkan_instance_take(VkInstance handle);
int vulkan_device_add(struct vulkan_device *device);
void vulkan_device_take(const struct vulkan_device *device);
void vulkan_devices_each(void (*visit)(void *device));

/* Handles that are no pointers, as keys. */
#define VULKAN_KEY(handle) ((uint64_t)(handle))

/* A map from handles to the layer's objects. Any thread: looking up takes a read lock. */
struct map {
	pthread_rwlock_t lock;
	struct hashmap entries;
};

#define MAP_INITIALIZER                            \
	{                                          \
		.lock = PTHREAD_RWLOCK_INITIALIZER \
	}

/* Set or replace; -EINVAL: key 0, -ENOMEM. */
int map_set(struct map *map, uint64_t key, void *value);

/* NULL: not there. */
void *map_get(struct map *map, uint64_t key);

/* Removes an entry; returns its value, or NULL. */
void *map_take(struct map *map, uint64_t key);

/* Removes an entry for which match() returns 1; returns its value, or NULL. */
void *map_take_match(
	struct map *map, int (*match)(const void *value, const void *context), const void *context);
