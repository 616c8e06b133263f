/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs that work on a Vulkan device share: a device, buffers, a pipeline of the kernel
 * vulkan_spin.comp, command buffers. All of it ends with the program that an error ends.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>
#include "vulkan_spin.h" /* vulkan_spin[]: the shader, made from vulkan_spin.comp */

enum { GROUPS = 16, NUMBERS = GROUPS * 64 };

static VkInstance instance;
static VkPhysicalDevice physical;
static VkDevice device;
static VkQueue queue;
static VkCommandPool pool;
static VkPipeline pipeline;
static VkPipelineLayout layout;
static VkDescriptorSetLayout set_layout;
static VkDescriptorPool descriptors;
static VkDescriptorSet set;
static VkBuffer numbers, copy;
static VkDeviceMemory memory, copied;
static float period_ns;
__attribute__((unused)) static const char *kit_extension; /* of the instance; NULL: none */

__attribute__((unused)) static const VkPhysicalDeviceTimelineSemaphoreFeatures kit_timeline = {
	VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES, NULL, VK_TRUE};

static void check(VkResult r, const char *what)
{
	if (r == VK_SUCCESS)
		return;
	fprintf(stderr, "%s: %d\n", what, r);
	exit(r == VK_ERROR_INCOMPATIBLE_DRIVER ? 77 : 1);
}

static void make_device(const void *features)
{
	uint32_t count = 1;
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
		.pNext = features,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queues};
	check(vkCreateDevice(physical, &info, NULL, &device), "vkCreateDevice");
	vkGetDeviceQueue(device, 0, 0, &queue);
}

static VkBuffer make_buffer(VkDeviceMemory *to)
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
	check(vkAllocateMemory(device, &allocate, NULL, to), "vkAllocateMemory");
	check(vkBindBufferMemory(device, buffer, *to, 0), "vkBindBufferMemory");
	return buffer;
}

static void make_pipeline(void)
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

	check(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set_layout), "set layout");
	const VkPipelineLayoutCreateInfo layout_info = {
		VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, NULL, 0, 1, &set_layout, 1, &push};
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
	check(vkCreateDescriptorPool(device, &pool_info, NULL, &descriptors), "descriptors");
	const VkDescriptorSetAllocateInfo allocate = {
		VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO, NULL, descriptors, 1, &set_layout};
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

/* The kernel, and a barrier behind it. */
static void run_kernel(VkCommandBuffer commands, uint32_t rounds)
{
	vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
	vkCmdBindDescriptorSets(
		commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
	vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, 4, &rounds);
	vkCmdDispatch(commands, GROUPS, 1, 1);
}

static void hold_apart(VkCommandBuffer commands)
{
	const VkMemoryBarrier barrier = {VK_STRUCTURE_TYPE_MEMORY_BARRIER, NULL,
		VK_ACCESS_SHADER_WRITE_BIT,
		VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT};

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

__attribute__((unused)) static VkSemaphore make_semaphore(VkSemaphoreType type)
{
	const VkSemaphoreTypeCreateInfo kind = {
		VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, NULL, type, 0};
	const VkSemaphoreCreateInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &kind, 0};
	VkSemaphore semaphore;

	check(vkCreateSemaphore(device, &info, NULL, &semaphore), "semaphore");
	return semaphore;
}

/* The kernel alone, ready to be submitted. */
__attribute__((unused)) static VkCommandBuffer record_kernel(uint32_t rounds)
{
	VkCommandBuffer commands = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);

	begin(commands, 0);
	run_kernel(commands, rounds);
	hold_apart(commands);
	check(vkEndCommandBuffer(commands), "end");
	return commands;
}

/* Features may be NULL. */
static void kit_open(const void *features)
{
	const VkApplicationInfo application = {
		.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_3};
	const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
		.pApplicationInfo = &application,
		.enabledExtensionCount = kit_extension != NULL,
		.ppEnabledExtensionNames = &kit_extension};
	const VkCommandPoolCreateInfo pool_info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, NULL,
		VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT, 0};

	check(vkCreateInstance(&info, NULL, &instance), "vkCreateInstance");
	make_device(features);
	check(vkCreateCommandPool(device, &pool_info, NULL, &pool), "pool");
	numbers = make_buffer(&memory);
	copy = make_buffer(&copied);
	make_pipeline();
}

/* A checksum of what was computed. */
__attribute__((unused)) static uint64_t kit_sum(void)
{
	void *mapped;
	uint64_t sum = 0;

	check(vkMapMemory(device, memory, 0, VK_WHOLE_SIZE, 0, &mapped), "map");
	const uint32_t *result = mapped;
	for (int i = 0; i < NUMBERS; i++)
		sum = sum * 31 + result[i];
	return sum;
}

__attribute__((unused)) static void kit_close(void)
{
	vkDestroyPipeline(device, pipeline, NULL);
	vkDestroyPipelineLayout(device, layout, NULL);
	vkDestroyDescriptorPool(device, descriptors, NULL);
	vkDestroyDescriptorSetLayout(device, set_layout, NULL);
	vkDestroyBuffer(device, numbers, NULL);
	vkDestroyBuffer(device, copy, NULL);
	vkFreeMemory(device, memory, NULL);
	vkFreeMemory(device, copied, NULL);
	vkDestroyCommandPool(device, pool, NULL);
	vkDestroyDevice(device, NULL);
	vkDestroyInstance(instance, NULL);
}
