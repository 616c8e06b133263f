/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of what waits for the device: each wait becomes a sample of Synchronize on its thread,
 * linked to the newest command that it waited for, and results that have come are recorded.
 */
#include "attach/vulkan/waits.h"

#include <string.h>
#include "attach/vulkan/completions.h"
#include "attach/vulkan/queue.h"
#include "attach/vulkan/semaphores.h"
#include "attach/vulkan/submission.h"
#include "attach/vulkan/submits.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/brick.h"

/* The queue that the command is in flight on, or NULL. Under the device's lock. */
static struct vulkan_queue *queue_of(struct vulkan_device *d, uint64_t number)
{
	struct vulkan_queue *queue = d->queues;

	while (queue && !submission_find(queue->first, number))
		queue = queue->next;
	return queue;
}

static void waited(struct vulkan_device *d, uint64_t begin, uint64_t number)
{
	uint64_t over_ns = monotonic_ns();

	brick_record_wait(begin, brick_ticks(), number);
	HOLD(&d->lock);
	struct vulkan_queue *queue = number ? queue_of(d, number) : NULL;
	if (queue)
		queue_waited(queue, number, over_ns);
	completions_take(d);
}

/* The newest command of the queues that match; NULL: of all. */
static uint64_t newest(struct vulkan_device *d, const struct vulkan_queue *queue)
{
	uint64_t number = queue ? queue->number : 0;

	HOLD(&d->lock);
	for (const struct vulkan_queue *q = queue ? NULL : d->queues; q; q = q->next)
		number = q->number > number ? q->number : number;
	return number;
}

static VKAPI_ATTR VkResult VKAPI_CALL queue_idle(VkQueue handle)
{
	struct vulkan_device *d = vulkan_device_of(handle);
	uint64_t begin = brick_ticks();
	VkResult result = d->call.QueueWaitIdle(handle);
	struct vulkan_queue *queue = queue_find(d, handle);

	waited(d, begin, queue ? newest(d, queue) : 0);
	return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL device_idle(VkDevice device)
{
	struct vulkan_device *d = vulkan_device_of(device);
	uint64_t begin = brick_ticks();
	VkResult result = d->call.DeviceWaitIdle(device);

	waited(d, begin, newest(d, NULL));
	return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_fences(
	VkDevice device, uint32_t count, const VkFence *list, VkBool32 all, uint64_t timeout_ns)
{
	struct vulkan_device *d = vulkan_device_of(device);
	uint64_t begin = brick_ticks(), number = 0;
	VkResult result = d->call.WaitForFences(device, count, list, all, timeout_ns);

	/* Of any of several it is not known which one it was. */
	for (uint32_t i = 0; result == VK_SUCCESS && (all || count == 1) && i < count; i++) {
		uint64_t each = submits_fence_number(list[i]);
		number = each > number ? each : number;
	}
	waited(d, begin, number);
	return result;
}

static VkResult wait_semaphores_by(PFN_vkWaitSemaphores next, struct vulkan_device *d,
	const VkSemaphoreWaitInfo *info, uint64_t timeout_ns)
{
	uint64_t begin = brick_ticks(), number = 0;
	VkResult result = next(d->handle, info, timeout_ns);
	int all = !(info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) || info->semaphoreCount == 1;

	for (uint32_t i = 0; result == VK_SUCCESS && all && i < info->semaphoreCount; i++) {
		uint64_t each = semaphores_wait(info->pSemaphores[i], info->pValues[i]);
		number = each > number ? each : number;
	}
	waited(d, begin, number);
	return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_semaphores(
	VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout_ns)
{
	struct vulkan_device *d = vulkan_device_of(device);

	return wait_semaphores_by(d->call.WaitSemaphores, d, info, timeout_ns);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_semaphores_khr(
	VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout_ns)
{
	struct vulkan_device *d = vulkan_device_of(device);

	return wait_semaphores_by(d->call.WaitSemaphoresKHR, d, info, timeout_ns);
}

static VKAPI_ATTR VkResult VKAPI_CALL present(VkQueue handle, const VkPresentInfoKHR *info)
{
	struct vulkan_device *d = vulkan_device_of(handle);
	VkResult result = d->call.QueuePresentKHR(handle, info);

	HOLD(&d->lock);
	completions_take(d);
	return result;
}

PFN_vkVoidFunction waits_hook(const char *name)
{
	static const struct {
		const char *name;
		PFN_vkVoidFunction hook;
	} hooks[] = {
		{"vkQueueWaitIdle", (PFN_vkVoidFunction)queue_idle},
		{"vkDeviceWaitIdle", (PFN_vkVoidFunction)device_idle},
		{"vkWaitForFences", (PFN_vkVoidFunction)wait_fences},
		{"vkWaitSemaphores", (PFN_vkVoidFunction)wait_semaphores},
		{"vkWaitSemaphoresKHR", (PFN_vkVoidFunction)wait_semaphores_khr},
		{"vkQueuePresentKHR", (PFN_vkVoidFunction)present},
	};

	for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
		if (!strcmp(name, hooks[i].name))
			return hooks[i].hook;
	return NULL;
}
