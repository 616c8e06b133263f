/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a queue, and reading its timestamps (queue.h). */
#include "attach/vulkan/queue.h"
#include "base/scope.h"

struct vulkan_queue *queue_find(struct vulkan_device *d, VkQueue handle)
{
	struct vulkan_queue *queue;

	HOLD(&d->lock);
	for (queue = d->queues; queue && queue->handle != handle;)
		queue = queue->next;
	return queue;
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

uint64_t queue_ns(const struct vulkan_device *d, struct vulkan_queue *queue, uint64_t ticks)
{
	ticks = whole_ticks(queue, d->families[queue->family].mask, ticks);
	return vulkan_ns(d, ticks);
}

void queue_waited(struct vulkan_queue *queue, uint64_t number, uint64_t host_ns)
{
	uint32_t at = queue->wait_count++ % QUEUE_WAITS;

	queue->waits[at].number = number;
	queue->waits[at].ns = host_ns;
}

uint64_t queue_over_ns(const struct vulkan_queue *queue, uint64_t number)
{
	uint64_t over_ns = UINT64_MAX;

	for (uint32_t i = 0; i < QUEUE_WAITS && i < queue->wait_count; i++)
		if (number <= queue->waits[i].number && queue->waits[i].ns < over_ns)
			over_ns = queue->waits[i].ns;
	return over_ns;
}
