/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatches in whose order semaphores are. Without an argument five, a submission each: the second
 * waits for the first by a binary semaphore, the third for the second by a timeline semaphore, and
 * the program for the third; the last two are not waited for by anybody: the program ends, and
 * destroys nothing. "batches" and "batches2" (vkQueueSubmit2) submit several batches in a call, and
 * "poll" asks for the fence of each of eight until it is signalled.
 */
#include "vulkan_kit.h"

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

static void one_by_one(void)
{
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
}

/* A batch, in a way that both calls can be made from; NULL: none of that. */
struct batch {
	VkCommandBuffer commands;
	VkSemaphore wait, signal;
};

static void submit_old(const struct batch *batches, uint32_t count)
{
	static const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	VkSubmitInfo infos[4];

	for (uint32_t i = 0; i < count; i++)
		infos[i] = (VkSubmitInfo){VK_STRUCTURE_TYPE_SUBMIT_INFO, NULL,
			batches[i].wait != VK_NULL_HANDLE, &batches[i].wait, &stage,
			batches[i].commands != NULL, &batches[i].commands,
			batches[i].signal != VK_NULL_HANDLE, &batches[i].signal};
	check(vkQueueSubmit(queue, count, infos, VK_NULL_HANDLE), "vkQueueSubmit");
}

static void submit_new(const struct batch *batches, uint32_t count)
{
	PFN_vkQueueSubmit2 call = (PFN_vkQueueSubmit2)vkGetDeviceProcAddr(device, "vkQueueSubmit2");
	VkSemaphoreSubmitInfo waits[4], signals[4];
	VkCommandBufferSubmitInfo commands[4];
	VkSubmitInfo2 infos[4];

	for (uint32_t i = 0; i < count; i++) {
		waits[i] = signals[i] =
			(VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
				.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
		waits[i].semaphore = batches[i].wait;
		signals[i].semaphore = batches[i].signal;
		commands[i] = (VkCommandBufferSubmitInfo){
			VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, NULL, batches[i].commands, 0};
		infos[i] = (VkSubmitInfo2){VK_STRUCTURE_TYPE_SUBMIT_INFO_2, NULL, 0,
			batches[i].wait != VK_NULL_HANDLE, &waits[i], batches[i].commands != NULL,
			&commands[i], batches[i].signal != VK_NULL_HANDLE, &signals[i]};
	}
	check(call ? call(queue, count, infos, VK_NULL_HANDLE) : VK_ERROR_INCOMPATIBLE_DRIVER,
		"vkQueueSubmit2");
}

/*
 * P signals p. A waits for nothing and signals a, C waits for p: one call. B waits for a and
 * signals b, D waits for b, a batch without commands signals e: one call. E waits for e.
 */
static void in_batches(void (*submit_batches)(const struct batch *, uint32_t))
{
	VkSemaphore p = make_semaphore(VK_SEMAPHORE_TYPE_BINARY);
	VkSemaphore a = make_semaphore(VK_SEMAPHORE_TYPE_BINARY);
	VkSemaphore b = make_semaphore(VK_SEMAPHORE_TYPE_BINARY);
	VkSemaphore e = make_semaphore(VK_SEMAPHORE_TYPE_BINARY);
	const struct batch one[] = {{record_kernel(20000), VK_NULL_HANDLE, p}};
	const struct batch two[] = {{record_kernel(20000), VK_NULL_HANDLE, a},
		{record_kernel(20000), p, VK_NULL_HANDLE}};
	const struct batch three[] = {{record_kernel(20000), a, b},
		{record_kernel(20000), b, VK_NULL_HANDLE}, {NULL, VK_NULL_HANDLE, e}};
	const struct batch four[] = {{record_kernel(20000), e, VK_NULL_HANDLE}};

	submit_batches(one, 1);
	submit_batches(two, 2);
	submit_batches(three, 3);
	submit_batches(four, 1);
	check(vkDeviceWaitIdle(device), "idle");
	vkDestroySemaphore(device, p, NULL);
	vkDestroySemaphore(device, a, NULL);
	vkDestroySemaphore(device, b, NULL);
	vkDestroySemaphore(device, e, NULL);
	kit_close();
}

/* It asks once more after each: this is no wait. */
static void poll_fences(void)
{
	const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	VkFence fence;

	check(vkCreateFence(device, &info, NULL, &fence), "vkCreateFence");
	for (int i = 0; i < 8; i++) {
		submit(record_kernel(200000), fence);
		while (vkGetFenceStatus(device, fence) == VK_NOT_READY)
			;
		check(vkGetFenceStatus(device, fence), "vkGetFenceStatus");
		check(vkResetFences(device, 1, &fence), "vkResetFences");
	}
	vkDestroyFence(device, fence, NULL);
	kit_close();
}

int main(int argc, char **argv)
{
	const VkPhysicalDeviceSynchronization2Features newer = {
		VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES, NULL, VK_TRUE};
	const char *call = argc > 1 ? argv[1] : "";
	int is_newer = !strcmp(call, "batches2");

	kit_open(is_newer ? (const void *)&newer : &kit_timeline);
	if (!strcmp(call, "poll"))
		poll_fences();
	else if (*call)
		in_batches(is_newer ? submit_new : submit_old);
	else
		one_by_one();
	return 0;
}
