/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of queues, and submissions from the moment they are made to that when their timestamps are
 * recorded (submits.h). The driver is asked for nothing while the program waits for its own call,
 * but for one small submission behind each of the program's.
 */
#include "attach/vulkan/submits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/vulkan/array.h"
#include "attach/vulkan/commands.h"
#include "attach/vulkan/readback.h"
#include "brick/brick.h"

enum { MOST_IN_FLIGHT = 256 };

/* A timed command, on its way. */
struct pending {
	struct vulkan_step step;
	uint32_t at; /* of its first timestamp in the slot's memory */
	uint64_t number;
};

struct vulkan_submission {
	struct vulkan_submission *next;
	struct vulkan_slot *slot;
	struct brick_launch launch;
	struct vulkan_chunk **chunks;
	uint32_t chunk_count, pending_count, chunk_room, pending_room;
	struct pending *pending;
	uint32_t timestamps;
	uint32_t untimed;
	int failed; /* no memory: some of it is missing */
};

static struct map fences = MAP_INITIALIZER; /* VkFence -> number of the newest command */

uint64_t submits_fence_number(VkFence fence)
{
	return (uintptr_t)map_get(&fences, VULKAN_KEY(fence));
}

/* ---- queues ---- */

struct vulkan_queue *queues_find(struct vulkan_device *d, VkQueue handle)
{
	struct vulkan_queue *queue;

	pthread_mutex_lock(&d->lock);
	for (queue = d->queues; queue && queue->handle != handle;)
		queue = queue->next;
	pthread_mutex_unlock(&d->lock);
	return queue;
}

static void add_queue(struct vulkan_device *d, VkQueue handle, uint32_t family, uint32_t index)
{
	struct brick_queue_options options = BRICK_QUEUE_OPTIONS_INIT;
	char name[96];

	if (!handle || family >= d->family_count || queues_find(d, handle))
		return;
	struct vulkan_queue *queue = calloc(1, sizeof *queue);
	if (!queue)
		return;
	snprintf(name, sizeof name, "%.48s family %u queue %u", d->name, family, index);
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
	pthread_mutex_lock(&d->lock);
	queue->next = d->queues;
	d->queues = queue;
	pthread_mutex_unlock(&d->lock);
}

static VKAPI_ATTR void VKAPI_CALL get_queue(
	VkDevice device, uint32_t family, uint32_t index, VkQueue *out)
{
	struct vulkan_device *d = vulkan_device_of(device);

	d->call.GetDeviceQueue(device, family, index, out);
	add_queue(d, *out, family, index);
}

static VKAPI_ATTR void VKAPI_CALL get_queue_2(
	VkDevice device, const VkDeviceQueueInfo2 *info, VkQueue *out)
{
	struct vulkan_device *d = vulkan_device_of(device);

	d->call.GetDeviceQueue2(device, info, out);
	add_queue(d, *out, info->queueFamilyIndex, info->queueIndex);
}

/* ---- what is in a submission ---- */

static int holds(const struct vulkan_submission *s, const struct vulkan_chunk *chunk)
{
	for (uint32_t i = 0; i < s->chunk_count; i++)
		if (s->chunks[i] == chunk)
			return 1;
	return 0;
}

/* Take over the timed commands of one command buffer, and of those that it executes. */
static void gather(struct vulkan_submission *s, VkCommandBuffer handle, unsigned depth)
{
	const struct vulkan_commands *c = commands_find(handle);

	if (!c)
		return;
	s->untimed += c->untimed;
	for (uint32_t i = 0; i < c->executed_count && depth < 4; i++)
		gather(s, c->executed[i], depth + 1);
	if (c->chunk_count && holds(s, c->chunks[0])) {
		/* Executed twice in one submission: only the last time's results will be left. */
		s->untimed += c->step_count;
		return;
	}
	uint32_t base = s->chunk_count, at = s->timestamps;
	for (uint32_t i = 0; i < c->chunk_count; i++) {
		if (!array_room(&s->chunks, s->chunk_count, &s->chunk_room, sizeof *s->chunks)) {
			s->failed = 1;
			return;
		}
		chunk_hold(c->chunks[i]);
		s->chunks[s->chunk_count++] = c->chunks[i];
		s->timestamps += c->chunks[i]->used;
	}
	for (uint32_t i = 0; i < c->step_count; i++) {
		if (!array_room(
			    &s->pending, s->pending_count, &s->pending_room, sizeof *s->pending)) {
			s->failed = 1;
			return;
		}
		struct pending *p = &s->pending[s->pending_count++];
		*p = (struct pending){.step = c->steps[i], .at = at};
		for (uint32_t j = 0; j < c->steps[i].chunk; j++)
			p->at += s->chunks[base + j]->used;
		p->at += c->steps[i].first;
	}
}

static void destroy_submission(struct vulkan_submission *s)
{
	for (uint32_t i = 0; i < s->chunk_count; i++)
		chunk_release(s->chunks[i]);
	free(s->chunks);
	free(s->pending);
	free(s);
}

/* ---- results ---- */

struct timed {
	const struct pending *pending;
	const struct vulkan_submission *submission;
	uint64_t begin_ns, end_ns; /* on the device's clock */
};

static int by_begin(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* All bits of a timestamp of which the device gives some: the one nearest to the newest before. */
static uint64_t whole_ticks(struct vulkan_queue *queue, uint64_t mask, uint64_t ticks)
{
	if (mask == UINT64_MAX)
		return ticks;
	uint64_t ahead = (ticks - queue->ticks) & mask;
	uint64_t whole =
		ahead <= mask / 2 ? queue->ticks + ahead : queue->ticks - (mask + 1 - ahead);
	if (!queue->ticks)
		whole = ticks & mask;
	if (whole > queue->ticks)
		queue->ticks = whole;
	return whole;
}

static uint64_t ns_of(const struct vulkan_device *d, struct vulkan_queue *queue, uint64_t ticks)
{
	ticks = whole_ticks(queue, d->families[queue->family].mask, ticks);
	return vulkan_ns(d, ticks);
}

static void record(struct vulkan_device *d, struct vulkan_queue *queue, const struct timed *t)
{
	const struct vulkan_step *step = &t->pending->step;
	struct brick_command command = {.size = sizeof command,
		.launch = t->submission->launch,
		.kernel = step->kernel,
		.source = BRICK_SOURCE_TIMESTAMP_QUERY,
		.begin_ns = brick_correlation_host_ns(&d->correlation, t->begin_ns),
		.end_ns = brick_correlation_host_ns(&d->correlation, t->end_ns),
		.bytes = step->bytes,
		.residual_ns = d->correlation.residual_ns < UINT32_MAX
				       ? (uint32_t)d->correlation.residual_ns
				       : UINT32_MAX};

	command.launch.number = t->pending->number;
	if (step->brick != 0xffff) {
		command.launch.brick = step->brick;
		command.launch.layer = step->layer;
	}
	if (!command.begin_ns)
		brick_queue_unsupported(queue->queue, 1); /* there is no way to the host's clock */
	else
		brick_queue_record(queue->queue, &command);
}

/* Record submissions [first, end) of a queue, all of which are done. */
static void record_all(struct vulkan_device *d, struct vulkan_queue *queue,
	struct vulkan_submission *end, size_t count)
{
	struct timed *list = calloc(count + 1, sizeof *list);
	size_t n = 0;

	for (struct vulkan_submission *s = queue->first; s != end; s = s->next) {
		for (uint32_t i = 0; list && i < s->pending_count; i++) {
			const uint64_t *results = s->slot->results + s->pending[i].at;
			list[n++] = (struct timed){&s->pending[i], s, ns_of(d, queue, results[0]),
				ns_of(d, queue, results[1])};
		}
		if (!list)
			brick_queue_dropped(queue->queue, s->pending_count);
	}
	if (n)
		qsort(list, n, sizeof *list, by_begin);
	for (size_t i = 0; i < n; i++)
		record(d, queue, &list[i]);
	free(list);
}

static void harvest_queue(struct vulkan_device *d, struct vulkan_queue *queue)
{
	struct vulkan_submission *end = queue->first;
	size_t count = 0;

	for (; end && slot_is_done(end->slot) > 0; end = end->next)
		count += end->pending_count;
	if (end == queue->first)
		return;
	record_all(d, queue, end, count);
	while (queue->first != end) {
		struct vulkan_submission *s = queue->first;
		queue->first = s->next;
		slot_give_back(s->slot);
		destroy_submission(s);
	}
	if (!queue->first)
		queue->last = &queue->first;
}

void submits_harvest(struct vulkan_device *d)
{
	for (struct vulkan_queue *queue = d->queues; queue; queue = queue->next)
		harvest_queue(d, queue);
}

/* ---- submitting ---- */

static void number_commands(struct vulkan_queue *queue, struct vulkan_submission *s)
{
	for (uint32_t i = 0; i < s->pending_count; i++)
		s->pending[i].number =
			i || !s->launch.number ? brick_launch_number() : s->launch.number;
	if (s->pending_count)
		queue->number = s->pending[s->pending_count - 1].number;
}

/* Send the copies after the program's own submission. Under the device's lock. */
static void follow(struct vulkan_device *d, struct vulkan_queue *queue, struct vulkan_submission *s)
{
	uint32_t at = 0;

	slot_correlate(d, queue->handle, queue->family);
	s->slot = slot_take(d, queue->family, s->timestamps);
	for (uint32_t i = 0; s->slot && i < s->chunk_count; i++) {
		slot_copy(s->slot, s->chunks[i]->pool, s->chunks[i]->used, at);
		at += s->chunks[i]->used;
	}
	if (!s->slot || slot_submit(s->slot, queue->handle) != VK_SUCCESS) {
		brick_queue_dropped(queue->queue, s->pending_count);
		if (s->slot)
			slot_give_back(s->slot);
		destroy_submission(s);
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
	pthread_mutex_lock(&d->lock);
	submits_harvest(d);
	brick_queue_unsupported(queue->queue, s->untimed);
	if (result == VK_SUCCESS && s->timestamps && !s->failed && s->launch.number &&
		in_flight(queue) < MOST_IN_FLIGHT) {
		number_commands(queue, s);
		if (fence)
			map_set(&fences, VULKAN_KEY(fence), (void *)(uintptr_t)queue->number);
		follow(d, queue, s);
	} else {
		if (result == VK_SUCCESS && s->launch.number)
			brick_queue_dropped(queue->queue, s->pending_count);
		if (fence)
			map_take(&fences, VULKAN_KEY(fence));
		destroy_submission(s);
	}
	pthread_mutex_unlock(&d->lock);
}

static VKAPI_ATTR VkResult VKAPI_CALL submit(
	VkQueue handle, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
	struct vulkan_device *d = vulkan_device_of(handle);
	struct vulkan_queue *queue = queues_find(d, handle);
	struct vulkan_submission *s = queue && brick_enabled() ? calloc(1, sizeof *s) : NULL;

	for (uint32_t i = 0; s && i < count; i++)
		for (uint32_t j = 0; j < infos[i].commandBufferCount; j++)
			gather(s, infos[i].pCommandBuffers[j], 0);
	if (s)
		brick_launch_begin(&s->launch);
	VkResult result = d->call.QueueSubmit(handle, count, infos, fence);
	if (s) {
		brick_launch_end(&s->launch);
		submitted(d, queue, s, result, fence);
	}
	return result;
}

static VkResult submit_newer(PFN_vkQueueSubmit2 next, VkQueue handle, uint32_t count,
	const VkSubmitInfo2 *infos, VkFence fence)
{
	struct vulkan_device *d = vulkan_device_of(handle);
	struct vulkan_queue *queue = queues_find(d, handle);
	struct vulkan_submission *s = queue && brick_enabled() ? calloc(1, sizeof *s) : NULL;

	for (uint32_t i = 0; s && i < count; i++)
		for (uint32_t j = 0; j < infos[i].commandBufferInfoCount; j++)
			gather(s, infos[i].pCommandBufferInfos[j].commandBuffer, 0);
	if (s)
		brick_launch_begin(&s->launch);
	VkResult result = next(handle, count, infos, fence);
	if (s) {
		brick_launch_end(&s->launch);
		submitted(d, queue, s, result, fence);
	}
	return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL submit_2(
	VkQueue handle, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence)
{
	return submit_newer(
		vulkan_device_of(handle)->call.QueueSubmit2, handle, count, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL submit_2_khr(
	VkQueue handle, uint32_t count, const VkSubmitInfo2 *infos, VkFence fence)
{
	return submit_newer(
		vulkan_device_of(handle)->call.QueueSubmit2KHR, handle, count, infos, fence);
}

/* ---- devices ---- */

void submits_device_begin(struct vulkan_device *d)
{
	brick_note("attach", "Vulkan layer");
	brick_note("backend", "vulkan %s", d->name);
	brick_note("vulkan.clock",
		d->has_calibration ? "calibrated timestamps"
				   : "timestamps between readings of the host's clock, once");
}

void submits_device_end(struct vulkan_device *d)
{
	d->call.DeviceWaitIdle(d->handle);
	pthread_mutex_lock(&d->lock);
	submits_harvest(d);
	while (d->queues) {
		struct vulkan_queue *queue = d->queues;
		d->queues = queue->next;
		while (queue->first) { /* the device is lost */
			struct vulkan_submission *s = queue->first;
			queue->first = s->next;
			brick_queue_dropped(queue->queue, s->pending_count);
			slot_give_back(s->slot);
			destroy_submission(s);
		}
		brick_queue_destroy(queue->queue);
		free(queue);
	}
	slots_destroy(d);
	pthread_mutex_unlock(&d->lock);
}

static VKAPI_ATTR void VKAPI_CALL destroy_fence(
	VkDevice device, VkFence fence, const VkAllocationCallbacks *allocator)
{
	map_take(&fences, VULKAN_KEY(fence));
	vulkan_device_of(device)->call.DestroyFence(device, fence, allocator);
}

PFN_vkVoidFunction submits_hook(const char *name)
{
	static const struct {
		const char *name;
		PFN_vkVoidFunction hook;
	} hooks[] = {
		{"vkGetDeviceQueue", (PFN_vkVoidFunction)get_queue},
		{"vkGetDeviceQueue2", (PFN_vkVoidFunction)get_queue_2},
		{"vkQueueSubmit", (PFN_vkVoidFunction)submit},
		{"vkQueueSubmit2", (PFN_vkVoidFunction)submit_2},
		{"vkQueueSubmit2KHR", (PFN_vkVoidFunction)submit_2_khr},
		{"vkDestroyFence", (PFN_vkVoidFunction)destroy_fence},
	};

	for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
		if (!strcmp(name, hooks[i].name))
			return hooks[i].hook;
	return NULL;
}
