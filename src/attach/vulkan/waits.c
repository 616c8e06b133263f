/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of what waits for the device: each wait becomes a sample of Synchronize on its thread,
 * linked to the newest commands that it waited for, and results that have come are recorded.
 */

#include <string.h>
#include "attach/vulkan/vulkan_completions.h"
#include "attach/vulkan/cost.h"
#include "attach/vulkan/vulkan_hooks.h"
#include "attach/vulkan/vulkan_queue.h"
#include "attach/vulkan/semaphores.h"
#include "attach/vulkan/submission.h"
#include "attach/vulkan/submits.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/brick.h"
#include "lib/probe/waits.h"

/* The queue that the command is in flight on, or NULL. Under the device's lock. */
static struct vulkan_queue *queue_of(struct vulkan_device *d, uint64_t number)
{
	struct vulkan_queue *queue = d->queues;

	while (queue && !submission_find(queue->first, number))
		queue = queue->next;
	return queue;
}

static void waited(struct vulkan_device *d, uint64_t begin, const struct brick__waits *waits)
{
	uint64_t over_ns = monotonic_ns();

	brick__record_waits(begin, brick_ticks(), waits);
	uint64_t begin_ticks = brick_ticks();
	HOLD(&d->lock);
	for (uint32_t i = 0; i < waits->count; i++) {
		struct vulkan_queue *queue = queue_of(d, waits->numbers[i]);
		if (queue)
			queue_waited(queue, waits->numbers[i], over_ns);
	}
	completions_take(d);
	cost_add(begin_ticks);
}

/* The newest commands, of one queue, or of all. Nobody may submit to them meanwhile. */
static struct brick__waits newest(struct vulkan_device *d, VkQueue handle)
{
	struct brick__waits waits = {.count = 0};

	HOLD(&d->lock);
	for (const struct vulkan_queue *q = d->queues; q; q = q->next)
		if (!handle || q->handle == handle)
			brick__waits_add(&waits, q->number);
	return waits;
}

/* A hook of what waits for all of a queue, or of a device's queues: `queue` says of which. */
#define WAIT_IDLE(name, type, queue)                                \
	VKAPI_ATTR VkResult VKAPI_CALL hook_##name(type handle)     \
	{                                                           \
		struct vulkan_device *d = vulkan_device_of(handle); \
		uint64_t begin = brick_ticks();                     \
		VkResult result = d->call.name(handle);             \
		struct brick__waits waits = newest(d, queue);       \
		waited(d, begin, &waits);                           \
		return result;                                      \
	}
WAIT_IDLE(QueueWaitIdle, VkQueue, handle)
WAIT_IDLE(DeviceWaitIdle, VkDevice, NULL)

VKAPI_ATTR VkResult VKAPI_CALL hook_WaitForFences(
	VkDevice device, uint32_t count, const VkFence *list, VkBool32 all, uint64_t timeout_ns)
{
	struct vulkan_device *d = vulkan_device_of(device);
	struct brick__waits waits = {.count = 0};
	uint64_t begin = brick_ticks();
	VkResult result = d->call.WaitForFences(device, count, list, all, timeout_ns);

	/* Of any of several it is not known which one it was. */
	for (uint32_t i = 0; result == VK_SUCCESS && (all || count == 1) && i < count; i++)
		brick__waits_add(&waits, submits_fence_number(list[i]));
	waited(d, begin, &waits);
	return result;
}

static VkResult wait_semaphores_by(PFN_vkWaitSemaphores next, struct vulkan_device *d,
	const VkSemaphoreWaitInfo *info, uint64_t timeout_ns)
{
	struct brick__waits waits = {.count = 0};
	uint64_t begin = brick_ticks();
	VkResult result = next(d->handle, info, timeout_ns);
	int all = !(info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) || info->semaphoreCount == 1;

	for (uint32_t i = 0; result == VK_SUCCESS && all && i < info->semaphoreCount; i++)
		brick__waits_add(&waits, semaphores_wait(info->pSemaphores[i], info->pValues[i]));
	waited(d, begin, &waits);
	return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_WaitSemaphores(
	VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout_ns)
{
	struct vulkan_device *d = vulkan_device_of(device);

	return wait_semaphores_by(d->call.WaitSemaphores, d, info, timeout_ns);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_WaitSemaphoresKHR(
	VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t timeout_ns)
{
	struct vulkan_device *d = vulkan_device_of(device);

	return wait_semaphores_by(d->call.WaitSemaphoresKHR, d, info, timeout_ns);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_QueuePresentKHR(VkQueue handle, const VkPresentInfoKHR *info)
{
	struct vulkan_device *d = vulkan_device_of(handle);
	VkResult result = d->call.QueuePresentKHR(handle, info);

	HOLD(&d->lock);
	completions_take(d);
	return result;
}
