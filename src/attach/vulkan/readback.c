/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bringing timestamps back: they are copied in the queue, behind the commands that wrote them, so
 * that the query pools may be used again by whatever comes later.
 */
#include "attach/vulkan/readback.h"

#include <stdlib.h>
#include "base/clock_ns.h"

enum { MIN_CAPACITY = 512, WAITS_PER_SECOND = 20 };

static VkCommandPool pool_of(struct vulkan_device *d, uint32_t family)
{
	const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
		.queueFamilyIndex = family};
	VkCommandPool *pool = &d->families[family].pool;

	if (!*pool && d->call.CreateCommandPool(d->handle, &info, NULL, pool) != VK_SUCCESS)
		*pool = VK_NULL_HANDLE;
	return *pool;
}

static void destroy_slot(struct vulkan_slot *slot)
{
	struct vulkan_device *d = slot->device;

	if (slot->commands)
		d->call.FreeCommandBuffers(
			d->handle, d->families[slot->family].pool, 1, &slot->commands);
	if (slot->fence)
		d->call.DestroyFence(d->handle, slot->fence, NULL);
	if (slot->buffer)
		d->call.DestroyBuffer(d->handle, slot->buffer, NULL);
	if (slot->memory)
		d->call.FreeMemory(d->handle, slot->memory, NULL);
	free(slot);
}

static int make_memory(struct vulkan_slot *slot)
{
	struct vulkan_device *d = slot->device;
	const VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = slot->capacity * sizeof(uint64_t),
		.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT};
	VkMemoryRequirements needs;
	void *mapped;

	if (d->call.CreateBuffer(d->handle, &buffer, NULL, &slot->buffer) != VK_SUCCESS)
		return 0;
	d->call.GetBufferMemoryRequirements(d->handle, slot->buffer, &needs);
	if (d->memory_type >= 32 || !(needs.memoryTypeBits >> d->memory_type & 1))
		return 0;
	const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
		.allocationSize = needs.size,
		.memoryTypeIndex = d->memory_type};
	if (d->call.AllocateMemory(d->handle, &memory, NULL, &slot->memory) != VK_SUCCESS ||
		d->call.BindBufferMemory(d->handle, slot->buffer, slot->memory, 0) != VK_SUCCESS ||
		d->call.MapMemory(d->handle, slot->memory, 0, VK_WHOLE_SIZE, 0, &mapped) !=
			VK_SUCCESS)
		return 0;
	slot->results = mapped;
	return 1;
}

static int make_commands(struct vulkan_slot *slot)
{
	struct vulkan_device *d = slot->device;
	const VkCommandBufferAllocateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = pool_of(d, slot->family),
		.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
		.commandBufferCount = 1};
	const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

	if (!info.commandPool ||
		d->call.AllocateCommandBuffers(d->handle, &info, &slot->commands) != VK_SUCCESS)
		return 0;
	/* The loader has to know dispatchable handles that it did not see being made. */
	if (!d->set_loader_data || d->set_loader_data(d->handle, slot->commands) != VK_SUCCESS)
		return 0;
	return d->call.CreateFence(d->handle, &fence, NULL, &slot->fence) == VK_SUCCESS;
}

static struct vulkan_slot *slot_create(struct vulkan_device *d, uint32_t family, uint32_t capacity)
{
	struct vulkan_slot *slot = calloc(1, sizeof(*slot));

	if (!slot)
		return NULL;
	slot->device = d;
	slot->family = family;
	slot->capacity = MIN_CAPACITY;
	while (slot->capacity < capacity)
		slot->capacity *= 2;
	if (make_memory(slot) && make_commands(slot))
		return slot;
	destroy_slot(slot);
	return NULL;
}

struct vulkan_slot *slot_take(struct vulkan_device *d, uint32_t family, uint32_t count)
{
	const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
		.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
	struct vulkan_slot **at = &d->slots;

	while (*at && ((*at)->family != family || (*at)->capacity < count))
		at = &(*at)->next;
	struct vulkan_slot *slot = *at;
	if (slot)
		*at = slot->next;
	else
		slot = slot_create(d, family, count);
	if (slot && d->call.BeginCommandBuffer(slot->commands, &info) != VK_SUCCESS) {
		destroy_slot(slot);
		return NULL;
	}
	return slot;
}

void slot_copy(struct vulkan_slot *slot, VkQueryPool pool, uint32_t count, uint32_t at)
{
	slot->device->call.CmdCopyQueryPoolResults(slot->commands, pool, 0, count, slot->buffer,
		at * sizeof(uint64_t), sizeof(uint64_t),
		VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
}

VkResult slot_submit(struct vulkan_slot *slot, VkQueue queue)
{
	struct vulkan_device *d = slot->device;
	const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
		.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_HOST_READ_BIT};
	const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
		.pCommandBuffers = &slot->commands};

	d->call.CmdPipelineBarrier(slot->commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
		VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
	VkResult result = d->call.EndCommandBuffer(slot->commands);
	if (result == VK_SUCCESS)
		result = d->call.QueueSubmit(queue, 1, &submit, slot->fence);
	return result;
}

int slot_is_done(const struct vulkan_slot *slot)
{
	VkResult result = slot->device->call.GetFenceStatus(slot->device->handle, slot->fence);

	return result == VK_SUCCESS ? 1 : result == VK_NOT_READY ? 0 : -1;
}

void slot_wait(const struct vulkan_slot *slot, unsigned seconds)
{
	struct vulkan_device *d = slot->device;
	VkResult result = VK_TIMEOUT;

	for (unsigned i = 0; result == VK_TIMEOUT && i < seconds * WAITS_PER_SECOND; i++)
		result = d->call.WaitForFences(
			d->handle, 1, &slot->fence, VK_TRUE, NS_PER_S / WAITS_PER_SECOND);
}

void slot_give_back(struct vulkan_slot *slot)
{
	struct vulkan_device *d = slot->device;

	if (d->call.ResetFences(d->handle, 1, &slot->fence) != VK_SUCCESS) {
		destroy_slot(slot);
		return;
	}
	slot->next = d->slots;
	d->slots = slot;
}

void slots_destroy(struct vulkan_device *d)
{
	while (d->slots) {
		struct vulkan_slot *slot = d->slots;
		d->slots = slot->next;
		destroy_slot(slot);
	}
	for (uint32_t i = 0; i < d->family_count; i++)
		if (d->families[i].pool)
			d->call.DestroyCommandPool(d->handle, d->families[i].pool, NULL);
}
