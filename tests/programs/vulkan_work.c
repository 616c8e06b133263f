/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work for a Vulkan device that times itself: dispatches and copies in several submissions that are
 * all in flight at once, a secondary command buffer, one submitted twice, and one recorded anew.
 * Prints a checksum of what was computed; writes what its own timestamps say of each dispatch to
 * the file of its first argument, a line "rounds nanoseconds" each, in the order of submission.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>
#include "vulkan_spin.h" /* vulkan_spin[]: the shader, made from vulkan_spin.comp */

enum { GROUPS = 16, NUMBERS = GROUPS * 64, SUBMISSIONS = 6, QUERIES = 64 };

static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;
static VkQueryPool queries;
static VkPipeline pipeline;
static VkPipelineLayout layout;
static VkDescriptorSet set;
static VkBuffer numbers, copy;
static const uint32_t *result;
static float period_ns;
static uint32_t query_count, rounds_of[QUERIES / 2];

static void check(VkResult r, const char *what)
{
	if (r == VK_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", what, r);
	exit(r == VK_ERROR_INCOMPATIBLE_DRIVER ? 77 : 1);
}

static VkPhysicalDevice make_device(VkInstance instance)
{
	uint32_t count = 1;
	VkPhysicalDevice physical = NULL;
	VkPhysicalDeviceProperties properties;
	const float priority = 1;

	vkEnumeratePhysicalDevices(instance, &count, &physical);
	if (!physical)
		exit(77);
	vkGetPhysicalDeviceProperties(physical, &properties);
	period_ns = properties.limits.timestampPeriod;
	const VkDeviceQueueCreateInfo queues = {
		VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, 0, 0, 0, 1, &priority};
	const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queues};
	check(vkCreateDevice(physical, &info, NULL, &device), "vkCreateDevice");
	vkGetDeviceQueue(device, 0, 0, &queue);
	return physical;
}

static VkBuffer make_buffer(VkPhysicalDevice physical, VkDeviceMemory *memory)
{
	const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = NUMBERS * sizeof(uint32_t),
		.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
			 VK_BUFFER_USAGE_TRANSFER_DST_BIT};
	const VkMemoryPropertyFlags wanted =
		VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
	VkPhysicalDeviceMemoryProperties memories;
	VkMemoryRequirements needs;
	VkBuffer buffer;
	uint32_t type = 0;

	check(vkCreateBuffer(device, &info, NULL, &buffer), "vkCreateBuffer");
	vkGetBufferMemoryRequirements(device, buffer, &needs);
	vkGetPhysicalDeviceMemoryProperties(physical, &memories);
	while (type < memories.memoryTypeCount &&
		(!(needs.memoryTypeBits >> type & 1) ||
			(memories.memoryTypes[type].propertyFlags & wanted) != wanted))
		type++;
	const VkMemoryAllocateInfo allocate = {
		VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, NULL, needs.size, type};
	check(vkAllocateMemory(device, &allocate, NULL, memory), "vkAllocateMemory");
	check(vkBindBufferMemory(device, buffer, *memory, 0), "vkBindBufferMemory");
	return buffer;
}

static void make_pipeline(VkDescriptorSetLayout *sets, VkDescriptorPool *descriptors)
{
	const VkDescriptorSetLayoutBinding binding = {
		0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
	const VkDescriptorSetLayoutCreateInfo set_info = {
		VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO, NULL, 0, 1, &binding};
	const VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 4};
	const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
	const VkDescriptorPoolCreateInfo pool_info = {
		VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, NULL, 0, 1, 1, &size};
	const VkShaderModuleCreateInfo shader = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, NULL,
		0, sizeof vulkan_spin, vulkan_spin};
	VkShaderModule module;

	check(vkCreateDescriptorSetLayout(device, &set_info, NULL, sets), "set layout");
	const VkPipelineLayoutCreateInfo layout_info = {
		VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, NULL, 0, 1, sets, 1, &push};
	check(vkCreatePipelineLayout(device, &layout_info, NULL, &layout), "pipeline layout");
	check(vkCreateShaderModule(device, &shader, NULL, &module), "shader");
	const VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		NULL, 0,
		{VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, NULL, 0,
			VK_SHADER_STAGE_COMPUTE_BIT, module, "main", NULL},
		layout, VK_NULL_HANDLE, 0};
	check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline),
		"pipeline");
	vkDestroyShaderModule(device, module, NULL);
	check(vkCreateDescriptorPool(device, &pool_info, NULL, descriptors), "descriptors");
	const VkDescriptorSetAllocateInfo allocate = {
		VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, NULL, *descriptors, 1, sets};
	check(vkAllocateDescriptorSets(device, &allocate, &set), "set");
	const VkDescriptorBufferInfo buffer = {numbers, 0, VK_WHOLE_SIZE};
	const VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, NULL, set, 0, 0,
		1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, NULL, &buffer, NULL};
	vkUpdateDescriptorSets(device, 1, &write, 0, NULL);
}

static VkCommandBuffer make_commands(VkCommandBufferLevel level)
{
	const VkCommandBufferAllocateInfo info = {
		VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, NULL, pool, level, 1};
	VkCommandBuffer commands;

	check(vkAllocateCommandBuffers(device, &info, &commands), "command buffer");
	return commands;
}

static void begin(VkCommandBuffer commands, VkCommandBufferUsageFlags flags)
{
	const VkCommandBufferInheritanceInfo inheritance = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
	const VkCommandBufferBeginInfo info = {
		VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, NULL, flags, &inheritance};

	check(vkBeginCommandBuffer(commands, &info), "begin");
}

/* The kernel between two timestamps of our own, if it is to be timed. */
static void dispatch(VkCommandBuffer commands, uint32_t rounds, int timed)
{
	const VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL,
		VK_ACCESS_SHADER_WRITE_BIT,
		VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT};

	vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
	vkCmdBindDescriptorSets(
		commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
	vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &rounds);
	if (timed) {
		rounds_of[query_count / 2] = rounds;
		vkCmdWriteTimestamp(
			commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, query_count++);
	}
	vkCmdDispatch(commands, GROUPS, 1, 1);
	if (timed)
		vkCmdWriteTimestamp(
			commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, query_count++);
	vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
		VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1,
		&barrier, 0, NULL, 0, NULL);
}

static void submit(VkCommandBuffer commands, VkFence fence)
{
	const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
		.pCommandBuffers = &commands};

	check(vkQueueSubmit(queue, 1, &info, fence), "vkQueueSubmit");
}

/* Six submissions of 1000, 2000, ... rounds, none waited for; each copies what it made. */
static void many_in_flight(void)
{
	const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
	const VkBufferCopy region = {0, 0, NUMBERS * sizeof(uint32_t)};
	VkFence fences[SUBMISSIONS];

	for (uint32_t i = 0; i < SUBMISSIONS; i++) {
		VkCommandBuffer commands = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
		check(vkCreateFence(device, &info, NULL, &fences[i]), "fence");
		begin(commands, 0);
		if (!i)
			vkCmdResetQueryPool(commands, queries, 0, QUERIES);
		dispatch(commands, 20000 * (i + 1), 1);
		vkCmdCopyBuffer(commands, numbers, copy, 1, &region);
		check(vkEndCommandBuffer(commands), "end");
		submit(commands, fences[i]);
	}
	check(vkWaitForFences(device, SUBMISSIONS, fences, VK_TRUE, UINT64_MAX), "wait");
	for (uint32_t i = 0; i < SUBMISSIONS; i++)
		vkDestroyFence(device, fences[i], NULL);
}

static void secondary_and_again(void)
{
	VkCommandBuffer second = make_commands(VK_COMMAND_BUFFER_LEVEL_SECONDARY);
	VkCommandBuffer first = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
	VkCommandBuffer twice = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);

	begin(second, 0);
	dispatch(second, 30000, 1);
	check(vkEndCommandBuffer(second), "end");
	begin(first, 0);
	vkCmdExecuteCommands(first, 1, &second);
	vkCmdFillBuffer(first, copy, 0, VK_WHOLE_SIZE, 7);
	check(vkEndCommandBuffer(first), "end");
	submit(first, VK_NULL_HANDLE);
	check(vkQueueWaitIdle(queue), "idle");

	begin(first, 0); /* recorded anew */
	dispatch(first, 50000, 1);
	check(vkEndCommandBuffer(first), "end");
	submit(first, VK_NULL_HANDLE);

	begin(twice, VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT);
	dispatch(twice, 40000, 0);
	check(vkEndCommandBuffer(twice), "end");
	submit(twice, VK_NULL_HANDLE);
	submit(twice, VK_NULL_HANDLE);
	check(vkDeviceWaitIdle(device), "idle");
}

static void write_times(const char *path)
{
	uint64_t stamps[QUERIES];
	FILE *out = path ? fopen(path, "w") : NULL;

	check(vkGetQueryPoolResults(device, queries, 0, query_count, sizeof stamps, stamps, 8,
		      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT),
		"results");
	for (uint32_t i = 0; out && i < query_count; i += 2)
		fprintf(out, "%u %.0f\n", rounds_of[i / 2],
			(double)(stamps[i + 1] - stamps[i]) * period_ns);
	if (out)
		fclose(out);
}

int main(int argc, char **argv)
{
	const VkApplicationInfo application = {
		.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
	const VkInstanceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
	VkInstance instance;
	VkDeviceMemory memory, copied;
	VkDescriptorSetLayout sets;
	VkDescriptorPool descriptors;
	uint64_t sum = 0;

	check(vkCreateInstance(&info, NULL, &instance), "vkCreateInstance");
	VkPhysicalDevice physical = make_device(instance);
	const VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL,
		VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, 0};
	const VkQueryPoolCreateInfo query_info = {VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, NULL, 0,
		VK_QUERY_TYPE_TIMESTAMP, QUERIES, 0};
	check(vkCreateCommandPool(device, &pool_info, NULL, &pool), "pool");
	check(vkCreateQueryPool(device, &query_info, NULL, &queries), "queries");
	numbers = make_buffer(physical, &memory);
	copy = make_buffer(physical, &copied);
	make_pipeline(&sets, &descriptors);
	check(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, (void **)&result), "map");
	many_in_flight();
	secondary_and_again();
	write_times(argc > 1 ? argv[1] : NULL);
	for (int i = 0; i < NUMBERS; i++)
		sum = sum * 31 + result[i];
	printf("%016llx\n", (unsigned long long)sum);
	vkDestroyPipeline(device, pipeline, NULL);
	vkDestroyPipelineLayout(device, layout, NULL);
	vkDestroyDescriptorPool(device, descriptors, NULL);
	vkDestroyDescriptorSetLayout(device, sets, NULL);
	vkDestroyBuffer(device, numbers, NULL);
	vkDestroyBuffer(device, copy, NULL);
	vkFreeMemory(device, memory, NULL);
	vkFreeMemory(device, copied, NULL);
	vkDestroyQueryPool(device, queries, NULL);
	vkDestroyCommandPool(device, pool, NULL);
	vkDestroyDevice(device, NULL);
	vkDestroyInstance(instance, NULL);
	return 0;
}
