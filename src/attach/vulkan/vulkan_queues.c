/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues (vulkan_queues.h). Behind each of the program's submissions the layer submits one small
 * copy of the timestamps, into memory of that submission alone, and asks the driver for nothing
 * else during the call. The commands are recorded when the copy's fence is signalled. So results
 * may come late, and a command buffer may be submitted or recorded again meanwhile, without mixing
 * up submissions.
 */
#include "attach/vulkan/vulkan_queues.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "attach/vulkan/vulkan_clock.h"
#include "attach/vulkan/vulkan_submission.h"
#include "base/clock_ns.h"
#include "base/scope.h"
#include "brick/attach.h"
#include "brick/brick.h"
#include "lib/device/queue_lane.h"
#include "lib/probe/waits.h"

enum { MAX_IN_FLIGHT = 256, EXIT_PATIENCE_S = 1 };

/* Handing out queues. */

static void vulkan_queues_add(
	struct vulkan_device *d, VkQueue handle, uint32_t family, uint32_t index)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	char name[96];

	if (!handle || family >= d->family_count || queue_find(d, handle))
		return;
	struct vulkan_queue *queue = calloc(1, sizeof(*queue));
	if (!queue)
		return;
	snprintf(name, sizeof(name), "%.48s family %u queue %u", d->name, family, index);
	options.name = name;
	options.backend = "vulkan";
	options.flags = BRICK_QUEUE_OUT_OF_ORDER; /* only barriers keep commands apart */
	queue->handle = handle;
	queue->family = family;
	queue->last = &queue->first;
	if (brick_queue_create(&queue->queue, &options)) {
		free(queue);
		return;
	}
	brick__queue_on_gpu(queue->queue, "vulkan", d->gpu);
	HOLD(&d->lock);
	queue->next = d->queues;
	d->queues = queue;
}

VKAPI_ATTR void VKAPI_CALL hook_GetDeviceQueue(
	VkDevice device, uint32_t family, uint32_t index, VkQueue *out)
{
	struct vulkan_device *d = vulkan_device_of(device);

	d->call.GetDeviceQueue(device, family, index, out);
	vulkan_queues_add(d, *out, family, index);
}

VKAPI_ATTR void VKAPI_CALL hook_GetDeviceQueue2(
	VkDevice device, const VkDeviceQueueInfo2 *info, VkQueue *out)
{
	struct vulkan_device *d = vulkan_device_of(device);

	d->call.GetDeviceQueue2(device, info, out);
	vulkan_queues_add(d, *out, info->queueFamilyIndex, info->queueIndex);
}

/* Submitting. */

static struct map fences = MAP_INITIALIZER; /* VkFence -> number of the newest command */

/* The newest command that a fence waits for; 0: not known. */
static uint64_t fence_number(VkFence fence)
{
	return (uintptr_t)map_get(&fences, VULKAN_KEY(fence));
}

/* Takes over the timed commands of one command buffer, and of those that it executes. */
static void vulkan_queues_gather(
	struct vulkan_submission *s, uint32_t batch, VkCommandBuffer handle, unsigned depth)
{
	const struct vulkan_commands *c = commands_find(handle);

	if (!c)
		return;
	s->untimed += c->untimed;
	for (uint32_t i = 0; i < c->executed.count && depth < 4; i++)
		vulkan_queues_gather(s, batch, c->executed.items[i], depth + 1);
	for (uint32_t i = 0; c->chunks.count && i < s->chunks.count; i++)
		if (s->chunks.items[i] == c->chunks.items[0]) {
			/* Executed twice in one submission: only the last time's results will be
			 * left. */
			s->untimed += c->steps.count;
			return;
		}
	uint32_t base = s->chunks.count, at = s->timestamps;
	for (uint32_t i = 0; i < c->chunks.count; i++) {
		if (array_push(&s->chunks, c->chunks.items[i])) {
			s->failed = true;
			return;
		}
		chunk_hold(c->chunks.items[i]);
		s->timestamps += c->chunks.items[i]->used;
	}
	for (uint32_t i = 0; i < c->steps.count; i++) {
		if (array_reserve(&s->pending, 1)) {
			s->failed = true;
			return;
		}
		struct pending *p = &s->pending.items[s->pending.count++];
		*p = (struct pending){.step = c->steps.items[i], .at = at, .batch = batch};
		for (uint32_t j = 0; j < c->steps.items[i].chunk; j++)
			p->at += s->chunks.items[base + j]->used;
		p->at += c->steps.items[i].first;
	}
}

/* Sends the copies after the program's own submission. The caller holds the device's lock. */
static void vulkan_queues_follow(
	struct vulkan_device *d, struct vulkan_queue *queue, struct vulkan_submission *s)
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

static void submitted(struct vulkan_device *d, struct vulkan_queue *queue,
	struct vulkan_submission *s, VkResult result, VkFence fence)
{
	HOLD(&d->lock);
	submissions_take_done(d);
	brick_queue_unsupported(queue->queue, s->untimed);
	uint64_t before = queue->number;
	uint32_t in_flight = 0;
	for (const struct vulkan_submission *other = queue->first; other; other = other->next)
		in_flight++;
	bool is_recorded = result == VK_SUCCESS && s->timestamps && !s->failed &&
			   s->launch.number && in_flight < MAX_IN_FLIGHT;
	for (uint32_t i = 0; is_recorded && i < s->pending.count; i++)
		queue->number = s->pending.items[i].number = s->launch.number + i;
	if (result == VK_SUCCESS)
		submission_order(s, is_recorded, before);
	if (fence)
		map_set(&fences, VULKAN_KEY(fence),
			(void *)(uintptr_t)(result == VK_SUCCESS ? queue->number : 0));
	if (is_recorded) {
		vulkan_queues_follow(d, queue, s);
	} else {
		if (result == VK_SUCCESS && s->launch.number)
			brick_queue_dropped(queue->queue, s->pending.count);
		submission_destroy(s);
	}
}

static void before_call(struct vulkan_device *d, struct vulkan_queue *queue,
	struct vulkan_submission *s, uint64_t begin_ticks)
{
	/* A clock that only submissions can read is read ahead of the program's, while we know of
	 * nothing in the queue. */
	if (!d->has_calibration && s->timestamps) {
		HOLD(&d->lock);
		submissions_take_done(d);
		if (!queue->first)
			clock_correlate_by(d, queue);
	}
	submission_launch(s);
	s->begin_ticks = brick_ticks() - begin_ticks;
}

static void behind_call(struct vulkan_device *d, struct vulkan_queue *queue,
	struct vulkan_submission *s, VkResult result, VkFence fence)
{
	uint64_t begin_ticks = brick_ticks() - s->begin_ticks;

	brick_launch_end(&s->launch);
	submitted(d, queue, s, result, fence);
	commands_cost(begin_ticks);
}

/* The program's calls. */

static void vulkan_queues_look_at(
	struct vulkan_submission *s, uint32_t batch, const VkSubmitInfo *info)
{
	static const VkTimelineSemaphoreSubmitInfo none;
	const VkBaseInStructure *at = info->pNext;

	while (at && at->sType != VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO)
		at = at->pNext;
	/* none: all are binary */
	const VkTimelineSemaphoreSubmitInfo *values = at ? (const void *)at : &none;
	for (uint32_t i = 0; i < info->waitSemaphoreCount; i++)
		submission_edge(s, &(struct vulkan_edge){info->pWaitSemaphores[i],
					   i < values->waitSemaphoreValueCount
						   ? values->pWaitSemaphoreValues[i]
						   : 0,
					   batch, 0});
	for (uint32_t i = 0; i < info->commandBufferCount; i++)
		vulkan_queues_gather(s, batch, info->pCommandBuffers[i], 0);
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
		vulkan_queues_gather(s, batch, info->pCommandBufferInfos[i].commandBuffer, 0);
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
	SUBMIT(QueueSubmit, vulkan_queues_look_at);
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

/* A reset fence's command is over: its next signal may be anybody's. */
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

/* Waiting: each wait becomes a sample of Synchronize on its thread. */

/* The queue that the command is in flight on, or NULL. Under the device's lock. */
static struct vulkan_queue *vulkan_queues_of(struct vulkan_device *d, uint64_t number)
{
	struct vulkan_queue *queue = d->queues;

	while (queue && !submission_find(queue->first, number))
		queue = queue->next;
	return queue;
}

static void vulkan_queues_waited(
	struct vulkan_device *d, uint64_t begin, const struct brick__waits *waits)
{
	uint64_t over_ns = monotonic_ns();

	if (begin)
		brick__record_waits(begin, brick_ticks(), waits);
	uint64_t begin_ticks = brick_ticks();
	HOLD(&d->lock);
	for (uint32_t i = 0; i < waits->count; i++) {
		struct vulkan_queue *queue = vulkan_queues_of(d, waits->numbers[i]);
		if (queue)
			wait_ends_add(&queue->wait_ends, waits->numbers[i] + 1, over_ns);
	}
	submissions_take_done(d);
	commands_cost(begin_ticks);
}

/* The newest commands, of one queue, or of all. Nobody may submit to them meanwhile. */
static struct brick__waits vulkan_queues_newest(struct vulkan_device *d, VkQueue handle)
{
	struct brick__waits waits = {.count = 0};

	HOLD(&d->lock);
	for (const struct vulkan_queue *q = d->queues; q; q = q->next)
		if (!handle || q->handle == handle)
			brick__waits_add(&waits, q->number);
	return waits;
}

/* Makes a hook of a call that waits for all of a queue, or of a device's queues, by `queue`. */
#define WAIT_IDLE(name, type, queue)                                        \
	VKAPI_ATTR VkResult VKAPI_CALL hook_##name(type handle)             \
	{                                                                   \
		struct vulkan_device *d = vulkan_device_of(handle);         \
		uint64_t begin = brick__wait_begin();                       \
		VkResult result = d->call.name(handle);                     \
		struct brick__waits waits = vulkan_queues_newest(d, queue); \
		vulkan_queues_waited(d, begin, &waits);                     \
		return result;                                              \
	}
WAIT_IDLE(QueueWaitIdle, VkQueue, handle)
WAIT_IDLE(DeviceWaitIdle, VkDevice, NULL)

VKAPI_ATTR VkResult VKAPI_CALL hook_WaitForFences(
	VkDevice device, uint32_t count, const VkFence *list, VkBool32 all, uint64_t timeout_ns)
{
	struct vulkan_device *d = vulkan_device_of(device);
	struct brick__waits waits = {.count = 0};
	uint64_t begin = brick__wait_begin();
	VkResult result = d->call.WaitForFences(device, count, list, all, timeout_ns);

	/* If one of several was enough, nobody knows which one it was. */
	for (uint32_t i = 0; result == VK_SUCCESS && (all || count == 1) && i < count; i++)
		brick__waits_add(&waits, fence_number(list[i]));
	vulkan_queues_waited(d, begin, &waits);
	return result;
}

/*
 * A program that asks again and again whether a fence is signalled waits for it, as ggml does at
 * the end of a graph. It does not where its thread recorded anything between two questions, or
 * worked.
 */
enum { POLL_WORK_NS = 1000000, POLL_GAP_NS = 200000000 };

static __thread struct {
	VkFence fence; /* VK_NULL_HANDLE: the thread polls no fence */
	uint64_t begin, last, place;
	uint64_t last_ns, cpu_ns; /* of the last answer, and the thread's CPU time */
} poll;

/* The fence was asked for at `begin`, and answered. */
static void polled(struct vulkan_device *d, VkFence fence, uint64_t begin, VkResult result)
{
	uint64_t now_ns = monotonic_ns(), cpu_ns = thread_cpu_ns();
	bool goes_on = poll.fence == fence && poll.place == brick__recording_place();
	bool worked = now_ns - poll.last_ns > POLL_GAP_NS || cpu_ns - poll.cpu_ns > POLL_WORK_NS;
	struct brick__waits waits = {.count = 0};

	if (goes_on && worked) {
		brick__record_waits(poll.begin, poll.last, &waits);
	} else if (goes_on && result == VK_SUCCESS) {
		brick__waits_add(&waits, fence_number(fence));
		vulkan_queues_waited(d, poll.begin, &waits);
	}
	if (!goes_on || worked)
		poll.begin = begin;
	poll.fence = result == VK_NOT_READY ? fence : VK_NULL_HANDLE;
	poll.place = brick__recording_place();
	poll.last_ns = now_ns;
	poll.cpu_ns = cpu_ns;
	poll.last = brick_ticks();
}

VKAPI_ATTR VkResult VKAPI_CALL hook_GetFenceStatus(VkDevice device, VkFence fence)
{
	struct vulkan_device *d = vulkan_device_of(device);
	uint64_t begin = brick__wait_begin();
	VkResult result = d->call.GetFenceStatus(device, fence);

	if (begin && brick_enabled())
		polled(d, fence, begin, result);
	return result;
}

static VkResult wait_semaphores_by(PFN_vkWaitSemaphores next, struct vulkan_device *d,
	const VkSemaphoreWaitInfo *info, uint64_t timeout_ns)
{
	struct brick__waits waits = {.count = 0};
	uint64_t begin = brick__wait_begin();
	VkResult result = next(d->handle, info, timeout_ns);
	int all = !(info->flags & VK_SEMAPHORE_WAIT_ANY_BIT) || info->semaphoreCount == 1;

	for (uint32_t i = 0; result == VK_SUCCESS && all && i < info->semaphoreCount; i++)
		brick__waits_add(&waits, semaphores_wait(info->pSemaphores[i], info->pValues[i]));
	vulkan_queues_waited(d, begin, &waits);
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
	submissions_take_done(d);
	return result;
}

/* Devices come and go. */

void queues_device_begin(struct vulkan_device *d)
{
	brick_note("attach", "Vulkan layer");
	brick_note("backend", "vulkan %s", d->name);
}

static void describe_clock(const struct vulkan_device *d)
{
	if (!d->clock.residual_ns)
		return; /* nothing was recorded */
	brick_note("vulkan.clock", "%s; residual %llu ns",
		d->has_calibration ? "calibrated timestamps"
				   : "timestamps between readings of the host's clock",
		(unsigned long long)d->clock.residual_ns);
}

void queues_device_end(struct vulkan_device *d)
{
	d->call.DeviceWaitIdle(d->handle);
	HOLD(&d->lock);
	submissions_take_done(d);
	describe_clock(d);
	clock_close(d);
	while (d->queues) {
		struct vulkan_queue *queue = d->queues;
		d->queues = queue->next;
		while (queue->first) { /* the device is lost */
			struct vulkan_submission *s = queue->first;
			queue->first = s->next;
			brick_queue_dropped(queue->queue, s->pending.count);
			slot_give_back(s->slot);
			submission_destroy(s);
		}
		brick_queue_destroy(queue->queue);
		free(queue);
	}
	slots_destroy(d);
}

/* Nothing of the driver's is destroyed: threads of the program may still be using it. */
void queues_device_exit(struct vulkan_device *d)
{
	struct timespec until = timespec_in_ns(CLOCK_REALTIME, EXIT_PATIENCE_S * NS_PER_S);

	if (pthread_mutex_timedlock(&d->lock, &until))
		return;
	for (const struct vulkan_queue *queue = d->queues; queue; queue = queue->next) {
		const struct vulkan_submission *last = queue->first;
		while (last && last->next)
			last = last->next;
		if (last)
			slot_wait(last->slot, EXIT_PATIENCE_S);
	}
	submissions_take_done(d);
	for (const struct vulkan_queue *queue = d->queues; queue; queue = queue->next)
		for (const struct vulkan_submission *s = queue->first; s; s = s->next)
			brick_queue_dropped(queue->queue, s->pending.count);
	describe_clock(d);
	pthread_mutex_unlock(&d->lock);
}
