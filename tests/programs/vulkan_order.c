/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Five dispatches, a submission each: the second waits for the first by a binary semaphore, the
 * third for the second by a timeline semaphore, and the program for the third; the last two are
 * not waited for by anybody: the program ends, and destroys nothing.
 */
#include "vulkan_kit.h"

static VkCommandBuffer record_kernel(uint32_t rounds)
{
	VkCommandBuffer commands = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);

	begin(commands, 0);
	run_kernel(commands, rounds);
	hold_apart(commands);
	check(vkEndCommandBuffer(commands), "end");
	return commands;
}

static VkSemaphore make_semaphore(VkSemaphoreType type)
{
	const VkSemaphoreTypeCreateInfo kind = {
		VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, NULL, type, 0};
	const VkSemaphoreCreateInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &kind, 0};
	VkSemaphore semaphore;

	check(vkCreateSemaphore(device, &info, NULL, &semaphore), "semaphore");
	return semaphore;
}

/* Semaphores may be NULL, values are of timelines. */
static void submit_between(VkCommandBuffer commands, const VkSemaphore *waits, uint64_t wait_value,
	const VkSemaphore *signals, uint64_t signal_value)
{
	const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	const VkTimelineSemaphoreSubmitInfo values = {
		VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, NULL, waits != NULL, &wait_value,
		signals != NULL, &signal_value};
	const VkSubmitInfo info = {VK_STRUCTURE_TYPE_SUBMIT_INFO, &values, waits != NULL, waits,
		&stage, 1, &commands, signals != NULL, signals};

	check(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
}

int main(void)
{
	const VkPhysicalDeviceTimelineSemaphoreFeatures timeline_feature = {
		VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, NULL, VK_TRUE};

	kit_features = &timeline_feature;
	kit_open();
	VkSemaphore binary = make_semaphore(VK_SEMAPHORE_TYPE_BINARY);
	VkSemaphore timeline = make_semaphore(VK_SEMAPHORE_TYPE_TIMELINE);
	submit_between(record_kernel(20000), NULL, 0, &binary, 0);
	submit_between(record_kernel(20000), &binary, 0, &timeline, 1);
	submit_between(record_kernel(20000), &timeline, 1, &timeline, 2);
	const uint64_t value = 2;
	const VkSemaphoreWaitInfo wait = {
		VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, NULL, 0, 1, &timeline, &value};
	check(vkWaitSemaphores(device, &wait, UINT64_MAX), "vkWaitSemaphores");
	submit(record_kernel(200000), VK_NULL_HANDLE);
	submit(record_kernel(200000), VK_NULL_HANDLE);
	return 0;
}
