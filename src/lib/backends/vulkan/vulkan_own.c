/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions of ours (own.h). Called by vulkan.c. */
#include "lib/backends/vulkan/vulkan_own.h"

#include <sched.h>
#include "brick/error.h"
#include "lib/sys/ticks.h"

int vulkan_own_begin(struct vulkan_own *own, const struct vulkan_calls *call, VkDevice device,
	VkCommandPool pool)
{
	const VkCommandBufferAllocateInfo allocate = {
		VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, pool,
		VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
	const VkCommandBufferBeginInfo begin = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
	const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};

	own->call = call;
	own->device = device;
	if (call->CreateFence(device, &fence, NULL, &own->fence) != VK_SUCCESS ||
		call->AllocateCommandBuffers(device, &allocate, &own->commands) != VK_SUCCESS)
		return BRICK_EDEVICE;
	return call->BeginCommandBuffer(own->commands, &begin) == VK_SUCCESS ? 0 : BRICK_EDEVICE;
}

int vulkan_own_end(struct vulkan_own *own)
{
	return own->call->EndCommandBuffer(own->commands) == VK_SUCCESS ? 0 : BRICK_EDEVICE;
}

int vulkan_own_submit(struct vulkan_own *own, VkQueue queue)
{
	const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
		.pCommandBuffers = &own->commands};

	if (own->call->ResetFences(own->device, 1, &own->fence) != VK_SUCCESS ||
		own->call->QueueSubmit(queue, 1, &submit, own->fence) != VK_SUCCESS)
		return BRICK_EDEVICE;
	own->is_out = 1;
	return 0;
}

int vulkan_own_is_done(struct vulkan_own *own)
{
	if (!own->is_out)
		return 1;
	VkResult result = own->call->GetFenceStatus(own->device, own->fence);
	own->is_out = result != VK_SUCCESS;
	return result == VK_SUCCESS ? 1 : result == VK_NOT_READY ? 0 : BRICK_EDEVICE;
}

int vulkan_own_wait(struct vulkan_own *own, uint64_t timeout_ns)
{
	if (own->is_out)
		own->call->WaitForFences(own->device, 1, &own->fence, VK_TRUE, timeout_ns);
	return vulkan_own_is_done(own);
}

int vulkan_own_watch(struct vulkan_own *own, uint64_t timeout_ns)
{
	uint64_t begin = brick__monotonic_ns();
	int done;

	while (!(done = vulkan_own_is_done(own)) && brick__monotonic_ns() - begin < timeout_ns)
		sched_yield();
	return done;
}

void vulkan_own_free(struct vulkan_own *own)
{
	if (own->fence)
		own->call->DestroyFence(own->device, own->fence, NULL);
	own->fence = VK_NULL_HANDLE;
}
