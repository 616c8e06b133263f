/* SPDX-License-Identifier: Apache-2.0 */
/* Finding a queue, and reading its timestamps (queue.h). */
#include "attach/vulkan/vulkan_queue.h"
#include "base/scope.h"

struct vulkan_queue *queue_find(struct vulkan_device *d, VkQueue handle)
{
	struct vulkan_queue *queue;

	HOLD(&d->lock);
	for (queue = d->queues; queue && queue->handle != handle;)
		queue = queue->next;
	return queue;
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
