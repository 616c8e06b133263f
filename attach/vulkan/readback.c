/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bringing timestamps back: they are copied in the queue, behind the commands that wrote them, so
 * that the query pools may be used again by whatever comes later. Called by submits.c.
 */
#include "attach/vulkan/readback.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_CAPACITY = 512, READINGS = 5, MOST_AGE_NS = 500000000 };

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
	struct vulkan_slot *slot = calloc(1, sizeof *slot);

	if (!slot)
		return NULL;
	slot->device = d;
	slot->family = family;
	slot->capacity = LEAST_CAPACITY;
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

	d->call.WaitForFences(d->handle, 1, &slot->fence, VK_TRUE, seconds * 1000000000ull);
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

/* ---- the device's clock ---- */

static uint64_t host_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* One timestamp, written and waited for between two readings of the host's clock. */
static int read_by_submission(struct vulkan_device *d, VkQueue queue, uint32_t family,
	VkQueryPool pool, struct brick_reading *reading)
{
	struct vulkan_slot *slot = slot_take(d, family, 1);

	if (!slot)
		return 0;
	d->call.CmdResetQueryPool(slot->commands, pool, 0, 1);
	d->call.CmdWriteTimestamp(slot->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, 0);
	slot_copy(slot, pool, 1, 0);
	reading->before_ns = host_ns();
	VkResult result = slot_submit(slot, queue);
	if (result == VK_SUCCESS)
		result = d->call.WaitForFences(d->handle, 1, &slot->fence, VK_TRUE, 1000000000);
	reading->after_ns = host_ns();
	if (result != VK_SUCCESS)
		return 0; /* the slot is still in use, or the device is lost: leave it */
	reading->device_ns = vulkan_ns(d, slot->results[0] & d->families[family].mask);
	slot_give_back(slot);
	return 1;
}

static uint32_t read_by_submissions(
	struct vulkan_device *d, VkQueue queue, uint32_t family, struct brick_reading *readings)
{
	const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
		.queryType = VK_QUERY_TYPE_TIMESTAMP,
		.queryCount = 1};
	VkQueryPool pool;
	uint32_t count = 0;

	if (d->call.CreateQueryPool(d->handle, &info, NULL, &pool) != VK_SUCCESS)
		return 0;
	while (count < READINGS && read_by_submission(d, queue, family, pool, &readings[count]))
		count++;
	d->call.DestroyQueryPool(d->handle, pool, NULL);
	return count;
}

static uint32_t read_by_calibration(struct vulkan_device *d, struct brick_reading *readings)
{
	const VkCalibratedTimestampInfoEXT infos[2] = {
		{.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
			.timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
		{.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
			.timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT},
	};
	uint32_t count = 0;

	for (; count < READINGS; count++) {
		uint64_t stamps[2], off_ns;
		if (d->call.GetCalibratedTimestampsEXT(d->handle, 2, infos, stamps, &off_ns) !=
			VK_SUCCESS)
			break;
		readings[count] = (struct brick_reading){
			stamps[1] - off_ns, vulkan_ns(d, stamps[0]), stamps[1] + off_ns};
	}
	return count;
}

static void add_readings(
	struct vulkan_device *d, const struct brick_reading *readings, uint32_t count)
{
	if (count)
		brick_correlation_add(&d->correlation, readings, count);
}

void slot_correlate(struct vulkan_device *d)
{
	struct brick_reading readings[READINGS];
	uint64_t now = host_ns(), age = now - d->correlated_ns;

	if (!d->has_calibration ||
		(d->correlated_ns &&
			age < brick_correlation_period_ns(&d->correlation, MOST_AGE_NS)))
		return;
	d->correlated_ns = now;
	add_readings(d, readings, read_by_calibration(d, readings));
}

void slot_correlate_once(struct vulkan_device *d, VkQueue queue, uint32_t family)
{
	struct brick_reading readings[READINGS];

	if (d->has_calibration || d->correlated_ns)
		return;
	d->correlated_ns = host_ns();
	add_readings(d, readings, read_by_submissions(d, queue, family, readings));
}
