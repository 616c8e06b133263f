/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of submitting: what is in a submission, and the copy of its timestamps that follows it
 * (submits.h). The driver is asked for nothing while the program waits for its own call,
 * but for one small submission behind each of the program's.
 */
#include "attach/vulkan/submits.h"

#include <stdlib.h>
#include <string.h>
#include "attach/vulkan/vulkan_clock.h"
#include "attach/vulkan/vulkan_completions.h"
#include "attach/vulkan/cost.h"
#include "attach/vulkan/vulkan_hooks.h"
#include "attach/vulkan/vulkan_map.h"
#include "attach/vulkan/vulkan_queue.h"
#include "attach/vulkan/semaphores.h"
#include "attach/vulkan/submission.h"
#include "base/scope.h"
#include "brick/brick.h"

enum { MAX_IN_FLIGHT = 256 };

static struct map fences = MAP_INITIALIZER; /* VkFence -> number of the newest command */

uint64_t submits_fence_number(VkFence fence)
{
	return (uintptr_t)map_get(&fences, VULKAN_KEY(fence));
}

/* ---- what is in a submission ---- */

static int holds(const struct vulkan_submission *s, const struct vulkan_chunk *chunk)
{
	for (uint32_t i = 0; i < s->chunks.count; i++)
		if (s->chunks.items[i] == chunk)
			return 1;
	return 0;
}

/* Take over the timed commands of one command buffer, and of those that it executes. */
static void gather(
	struct vulkan_submission *s, uint32_t batch, VkCommandBuffer handle, unsigned depth)
{
	const struct vulkan_commands *c = commands_find(handle);

	if (!c)
		return;
	s->untimed += c->untimed;
	for (uint32_t i = 0; i < c->executed.count && depth < 4; i++)
		gather(s, batch, c->executed.items[i], depth + 1);
	if (c->chunks.count && holds(s, c->chunks.items[0])) {
		/* Executed twice in one submission: only the last time's results will be left. */
		s->untimed += c->steps.count;
		return;
	}
	uint32_t base = s->chunks.count, at = s->timestamps;
	for (uint32_t i = 0; i < c->chunks.count; i++) {
		if (array_reserve(&s->chunks, 1)) {
			s->failed = 1;
			return;
		}
		chunk_hold(c->chunks.items[i]);
		s->chunks.items[s->chunks.count++] = c->chunks.items[i];
		s->timestamps += c->chunks.items[i]->used;
	}
	for (uint32_t i = 0; i < c->steps.count; i++) {
		if (array_reserve(&s->pending, 1)) {
			s->failed = 1;
			return;
		}
		struct pending *p = &s->pending.items[s->pending.count++];
		*p = (struct pending){.step = c->steps.items[i], .at = at, .batch = batch};
		for (uint32_t j = 0; j < c->steps.items[i].chunk; j++)
			p->at += s->chunks.items[base + j]->used;
		p->at += c->steps.items[i].first;
	}
}

/* ---- submitting ---- */

static void number_commands(struct vulkan_queue *queue, struct vulkan_submission *s)
{
	for (uint32_t i = 0; i < s->pending.count; i++)
		s->pending.items[i].number = s->launch.number + i;
	if (s->pending.count)
		queue->number = s->pending.items[s->pending.count - 1].number;
}

/*
 * Where the clock can be read by submissions only: ahead of the program's, while the queue has
 * nothing in it that we know of.
 */
static void read_clock(
	struct vulkan_device *d, struct vulkan_queue *queue, const struct vulkan_submission *s)
{
	if (d->has_calibration || !s->timestamps)
		return;
	HOLD(&d->lock);
	completions_take(d);
	if (!queue->first)
		clock_correlate_by(d, queue);
}

/* Send the copies after the program's own submission. Under the device's lock. */
static void follow(struct vulkan_device *d, struct vulkan_queue *queue, struct vulkan_submission *s)
{
	uint32_t at = 0;

	clock_correlate(d);
	s->slot = slot_take(d, queue->family, s->timestamps);
	for (uint32_t i = 0; s->slot && i < s->chunks.count; i++) {
		slot_copy(s->slot, s->chunks.items[i]->pool, s->chunks.items[i]->used, at);
		at += s->chunks.items[i]->used;
	}
	if (!s->slot || slot_submit(s->slot, queue->handle) != VK_SUCCESS) {
		brick_queue_dropped(queue->queue, s->pending.count);
		if (s->slot)
			slot_give_back(s->slot);
		submission_destroy(s);
		return;
	}
	*queue->last = s;
	queue->last = &s->next;
}

static uint32_t in_flight(const struct vulkan_queue *queue)
{
	uint32_t count = 0;

	for (const struct vulkan_submission *s = queue->first; s; s = s->next)
		count++;
	return count;
}

static void submitted(struct vulkan_device *d, struct vulkan_queue *queue,
	struct vulkan_submission *s, VkResult result, VkFence fence)
{
	HOLD(&d->lock);
	completions_take(d);
	brick_queue_unsupported(queue->queue, s->untimed);
	uint64_t before = queue->number;
	int is_recorded = result == VK_SUCCESS && s->timestamps && !s->failed && s->launch.number &&
			  in_flight(queue) < MAX_IN_FLIGHT;
	if (is_recorded)
		number_commands(queue, s);
	if (result == VK_SUCCESS)
		submission_order(s, is_recorded, before);
	if (fence)
		map_set(&fences, VULKAN_KEY(fence),
			(void *)(uintptr_t)(result == VK_SUCCESS ? queue->number : 0));
	if (is_recorded) {
		follow(d, queue, s);
	} else {
		if (result == VK_SUCCESS && s->launch.number)
			brick_queue_dropped(queue->queue, s->pending.count);
		submission_destroy(s);
	}
}

static void before_call(struct vulkan_device *d, struct vulkan_queue *queue,
	struct vulkan_submission *s, uint64_t begin_ticks)
{
	read_clock(d, queue, s);
	submission_launch(s);
	s->begin_ticks = brick_ticks() - begin_ticks;
}

static void behind_call(struct vulkan_device *d, struct vulkan_queue *queue,
	struct vulkan_submission *s, VkResult result, VkFence fence)
{
	uint64_t begin_ticks = brick_ticks() - s->begin_ticks;

	brick_launch_end(&s->launch);
	submitted(d, queue, s, result, fence);
	cost_add(begin_ticks);
}

/* ---- the program's calls ---- */

/* Values of timeline semaphores; NULL: all are binary. */
static const VkTimelineSemaphoreSubmitInfo *values_of(const VkSubmitInfo *info)
{
	const VkBaseInStructure *at = info->pNext;

	while (at && at->sType != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
		at = at->pNext;
	return (const void *)at;
}

static void look_at(struct vulkan_submission *s, uint32_t batch, const VkSubmitInfo *info)
{
	static const VkTimelineSemaphoreSubmitInfo none;
	const VkTimelineSemaphoreSubmitInfo *values = values_of(info);

	if (!values)
		values = &none;
	for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
		submission_edge(s, &(struct vulkan_edge){info->pWaitSemaphores[i],
					   i < values->waitSemaphoreValueCount
						   ? values->pWaitSemaphoreValues[i]
						   : 0,
					   batch, 0});
	for (uint32_t i = 0; i < info->commandBufferCount; i++)
		gather(s, batch, info->pCommandBuffers[i], 0);
	for (uint32_t i = 0; i < info->signalSemaphoreCount; i++)
		submission_edge(s, &(struct vulkan_edge){info->pSignalSemaphores[i],
					   i < values->signalSemaphoreValueCount
						   ? values->pSignalSemaphoreValues[i]
						   : 0,
					   batch, 1});
}

static void look_at_newer(struct vulkan_submission *s, uint32_t batch, const VkSubmitInfo2 *info)
{
	for (uint32_t i = 0; i < info->waitSemaphoreInfoCount; i++)
		submission_edge(s, &(struct vulkan_edge){info->pWaitSemaphoreInfos[i].semaphore,
					   info->pWaitSemaphoreInfos[i].value, batch, 0});
	for (uint32_t i = 0; i < info->commandBufferInfoCount; i++)
		gather(s, batch, info->pCommandBufferInfos[i].commandBuffer, 0);
	for (uint32_t i = 0; i < info->signalSemaphoreInfoCount; i++)
		submission_edge(s, &(struct vulkan_edge){info->pSignalSemaphoreInfos[i].semaphore,
					   info->pSignalSemaphoreInfos[i].value, batch, 1});
}

/* The body of a hook that submits `infos`, each of which `look` looks at, by that function. */
#define SUBMIT(name, look)                                                          \
	do {                                                                        \
		uint64_t begin_ticks = brick_ticks();                               \
		struct vulkan_device *d = vulkan_device_of(handle);                 \
		struct vulkan_queue *queue = queue_find(d, handle);                 \
		struct vulkan_submission *s =                                       \
			queue && brick_enabled() ? submission_create(count) : NULL; \
		for (uint32_t i = 0; s && i < count; i++)                           \
			look(s, i, &infos[i]);                                      \
		if (s)                                                              \
			before_call(d, queue, s, begin_ticks);                      \
		VkResult result = d->call.name(handle, count, infos, fence);        \
		if (s)                                                              \
			behind_call(d, queue, s, result, fence);                    \
		return result;                                                      \
	} while (0)

VKAPI_ATTR VkResult VKAPI_CALL hook_QueueSubmit(
	VkQueue handle, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
	SUBMIT(QueueSubmit, look_at);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_QueueSubmit2(
	VkQueue handle, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence)
{
	SUBMIT(QueueSubmit2, look_at_newer);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_QueueSubmit2KHR(
	VkQueue handle, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence)
{
	SUBMIT(QueueSubmit2KHR, look_at_newer);
}

VKAPI_ATTR void VKAPI_CALL hook_DestroyFence(
	VkDevice device, VkFence fence, const VkAllocationCallbacks *allocator)
{
	map_take(&fences, VULKAN_KEY(fence));
	vulkan_device_of(device)->call.DestroyFence(device, fence, allocator);
}

/* What it stood for is over: its next signal may be anybody's. */
VKAPI_ATTR VkResult VKAPI_CALL hook_ResetFences(
	VkDevice device, uint32_t count, const VkFence *list)
{
	for (uint32_t i = 0; i < count; i++)
		map_take(&fences, VULKAN_KEY(list[i]));
	return vulkan_device_of(device)->call.ResetFences(device, count, list);
}

VKAPI_ATTR void VKAPI_CALL hook_DestroySemaphore(
	VkDevice device, VkSemaphore semaphore, const VkAllocationCallbacks *allocator)
{
	semaphores_forget(semaphore);
	vulkan_device_of(device)->call.DestroySemaphore(device, semaphore, allocator);
}
