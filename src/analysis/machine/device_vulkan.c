/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of Vulkan (device_queue.h), by its loader, opened at run time. */
#include "base/members.h"
#include "analysis/machine/device_queue.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>
#include "brick/vulkan.h"
#include "device_vulkan_words.h"

#define OF_INSTANCE(X)                                                                     \
	EACH_NAME(X, EnumeratePhysicalDevices, GetPhysicalDeviceProperties,                \
		GetPhysicalDeviceMemoryProperties, GetPhysicalDeviceQueueFamilyProperties, \
		CreateDevice, GetDeviceProcAddr, DestroyInstance)
#define OF_DEVICE(X)                                                                            \
	EACH_NAME(X, GetDeviceQueue, CreateBuffer, GetBufferMemoryRequirements, AllocateMemory, \
		BindBufferMemory, CreateShaderModule, CreateDescriptorSetLayout,                \
		CreateDescriptorPool, AllocateDescriptorSets, UpdateDescriptorSets,             \
		CreatePipelineLayout, CreateComputePipelines, CreateCommandPool,                \
		AllocateCommandBuffers, BeginCommandBuffer, EndCommandBuffer)                   \
	EACH_NAME(X, CmdFillBuffer, CmdBindPipeline, CmdBindDescriptorSets, CmdPushConstants,   \
		CmdDispatch, QueueSubmit, QueueWaitIdle, DestroyPipeline, DestroyCommandPool,   \
		DestroyPipelineLayout, DestroyDescriptorPool, DestroyDescriptorSetLayout,       \
		DestroyShaderModule, DestroyBuffer, FreeMemory, DestroyDevice)

enum { GROUPS = 3, MAX_DEVICES = 16, MAX_FAMILIES = 32, NO_TYPE = VK_MAX_MEMORY_TYPES };

/* Sizes of a group: as device_run.group. */
static const uint32_t device_vulkan_groups[GROUPS] = {1, 64, 256};

struct vulkan {
#define X(name) PFN_vk##name name;
	OF_INSTANCE(X)
	OF_DEVICE(X)
#undef X
	struct brick_vulkan_queue queue;
	VkInstance instance;
	VkPhysicalDevice physical;
	VkDevice device;
	uint32_t most_group;
	VkBuffer buffer;
	VkDeviceMemory memory;
	VkShaderModule shader;
	VkDescriptorSetLayout set_layout;
	VkDescriptorPool set_pool;
	VkDescriptorSet set;
	VkPipelineLayout layout;
	VkPipeline pipelines[DEVICE_JOBS][GROUPS];
	VkCommandPool pool;
};

static int device_vulkan_check(VkResult result)
{
	return result == VK_SUCCESS ? 0 : -EIO;
}

static int device_vulkan_create_instance(struct vulkan *v)
{
	void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
	PFN_vkGetInstanceProcAddr get = library ? (PFN_vkGetInstanceProcAddr)(uintptr_t)dlsym(
							  library, "vkGetInstanceProcAddr")
						: NULL;
	PFN_vkCreateInstance create =
		get ? (PFN_vkCreateInstance)get(NULL, "vkCreateInstance") : NULL;
	const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};

	if (!create || create(&info, NULL, &v->instance) != VK_SUCCESS)
		return -ENODEV;
#define X(name) v->name = (PFN_vk##name)get(v->instance, "vk" #name);
	OF_INSTANCE(X)
#undef X
	return 0;
}

/* Takes the first queue family that computes and has a clock. */
static int find_family(struct vulkan *v)
{
	VkQueueFamilyProperties families[MAX_FAMILIES];
	uint32_t count = MAX_FAMILIES;

	v->GetPhysicalDeviceQueueFamilyProperties(v->physical, &count, families);
	for (uint32_t i = 0; i < count; i++)
		if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT &&
			families[i].timestampValidBits) {
			v->queue.family = i;
			return 0;
		}
	return -ENOTSUP;
}

static int device_vulkan_create_device(struct device_queue *q, struct vulkan *v, unsigned index)
{
	VkPhysicalDevice devices[MAX_DEVICES];
	VkPhysicalDeviceProperties properties;
	uint32_t count = MAX_DEVICES;
	const float priority = 1;
	VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueCount = 1,
		.pQueuePriorities = &priority};
	const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queue};
	VkResult result = v->EnumeratePhysicalDevices(v->instance, &count, devices);

	if (result < 0 || index >= count)
		return -ENODEV;
	v->physical = devices[index];
	v->GetPhysicalDeviceProperties(v->physical, &properties);
	snprintf(q->name, sizeof(q->name), "%.127s", properties.deviceName);
	q->bytes = device_bytes(properties.limits.maxStorageBufferRange);
	v->most_group = properties.limits.maxComputeWorkGroupInvocations;
	if (find_family(v))
		return -ENOTSUP;
	queue.queueFamilyIndex = v->queue.family;
	if (v->CreateDevice(v->physical, &info, NULL, &v->device) != VK_SUCCESS)
		return -EIO;
#define X(name) v->name = (PFN_vk##name)v->GetDeviceProcAddr(v->device, "vk" #name);
	OF_DEVICE(X)
#undef X
	VkQueue native;
	v->GetDeviceQueue(v->device, v->queue.family, 0, &native);
	v->queue.queue = native;
	return 0;
}

/* Its own memory, of a heap that is four times as large; NO_TYPE: there is none. */
static uint32_t memory_type(const struct vulkan *v, const VkMemoryRequirements *needed)
{
	VkPhysicalDeviceMemoryProperties memory;

	v->GetPhysicalDeviceMemoryProperties(v->physical, &memory);
	for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
		if (needed->memoryTypeBits & 1u << i &&
			memory.memoryTypes[i].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT &&
			memory.memoryHeaps[memory.memoryTypes[i].heapIndex].size / 4 >=
				needed->size)
			return i;
	return NO_TYPE;
}

static int create_buffer(struct device_queue *q, struct vulkan *v)
{
	const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = q->bytes,
		.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
	VkMemoryRequirements needed;

	if (v->CreateBuffer(v->device, &info, NULL, &v->buffer) != VK_SUCCESS)
		return -EIO;
	v->GetBufferMemoryRequirements(v->device, v->buffer, &needed);
	const VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
		.allocationSize = needed.size,
		.memoryTypeIndex = memory_type(v, &needed)};
	if (allocate.memoryTypeIndex == NO_TYPE ||
		v->AllocateMemory(v->device, &allocate, NULL, &v->memory) != VK_SUCCESS)
		return -ENOBUFS; /* of the device, not ours */
	return device_vulkan_check(v->BindBufferMemory(v->device, v->buffer, v->memory, 0));
}

static int create_set(struct vulkan *v)
{
	const VkDescriptorSetLayoutBinding binding = {
		.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
		.descriptorCount = 1,
		.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
	const VkDescriptorSetLayoutCreateInfo layout = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
		.bindingCount = 1,
		.pBindings = &binding};
	const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1};
	const VkDescriptorPoolCreateInfo pool = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
		.maxSets = 1,
		.poolSizeCount = 1,
		.pPoolSizes = &size};

	if (v->CreateDescriptorSetLayout(v->device, &layout, NULL, &v->set_layout) ||
		v->CreateDescriptorPool(v->device, &pool, NULL, &v->set_pool))
		return -EIO;
	const VkDescriptorSetAllocateInfo allocate = {
		.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
		.descriptorPool = v->set_pool,
		.descriptorSetCount = 1,
		.pSetLayouts = &v->set_layout};
	if (v->AllocateDescriptorSets(v->device, &allocate, &v->set))
		return -EIO;
	const VkDescriptorBufferInfo buffer = {v->buffer, 0, VK_WHOLE_SIZE};
	const VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
		.dstSet = v->set,
		.descriptorCount = 1,
		.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
		.pBufferInfo = &buffer};
	v->UpdateDescriptorSets(v->device, 1, &write, 0, NULL);
	return 0;
}

static int create_layout(struct vulkan *v)
{
	const VkShaderModuleCreateInfo shader = {
		.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
		.codeSize = sizeof(device_vulkan_words),
		.pCode = device_vulkan_words};
	const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 3 * sizeof(uint32_t)};
	const VkPipelineLayoutCreateInfo layout = {
		.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
		.setLayoutCount = 1,
		.pSetLayouts = &v->set_layout,
		.pushConstantRangeCount = 1,
		.pPushConstantRanges = &range};

	return v->CreateShaderModule(v->device, &shader, NULL, &v->shader) ||
			       v->CreatePipelineLayout(v->device, &layout, NULL, &v->layout)
		       ? -EIO
		       : 0;
}

static int create_pipeline(struct vulkan *v, enum device_job job, uint32_t group, VkPipeline *out)
{
	const uint32_t values[] = {group, job};
	const VkSpecializationMapEntry entries[] = {{0, 0, 4}, {1, 4, 4}};
	const VkSpecializationInfo special = {2, entries, sizeof(values), values};
	const VkComputePipelineCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
		.stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
			.stage = VK_SHADER_STAGE_COMPUTE_BIT,
			.module = v->shader,
			.pName = "main",
			.pSpecializationInfo = &special},
		.layout = v->layout};

	return device_vulkan_check(
		v->CreateComputePipelines(v->device, VK_NULL_HANDLE, 1, &info, NULL, out));
}

static int create_commands(struct vulkan *v)
{
	const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
		.queueFamilyIndex = v->queue.family};
	VkCommandBuffer commands;

	if (v->CreateCommandPool(v->device, &pool, NULL, &v->pool))
		return -EIO;
	const VkCommandBufferAllocateInfo allocate = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandPool = v->pool,
		.commandBufferCount = 1};
	int rc = device_vulkan_check(v->AllocateCommandBuffers(v->device, &allocate, &commands));
	v->queue.commands = rc ? NULL : commands;
	return rc;
}

static int device_vulkan_prepare(struct device_queue *q)
{
	const struct vulkan *v = q->own;
	const VkCommandBufferBeginInfo info = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};

	return device_vulkan_check(v->BeginCommandBuffer(v->queue.commands, &info));
}

/* Submits for the backend, which then waits for the queue. */
static int submit(struct brick_vulkan_queue *queue)
{
	const struct vulkan *v = queue->user;
	VkCommandBuffer commands = queue->commands;
	const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.commandBufferCount = 1,
		.pCommandBuffers = &commands};

	return v->EndCommandBuffer(commands) ||
			       v->QueueSubmit(queue->queue, 1, &info, VK_NULL_HANDLE)
		       ? -EIO
		       : 0;
}

static int device_vulkan_fill(struct device_queue *q, struct vulkan *v)
{
	const float half = 0.5f;
	uint32_t bits;
	int rc = device_vulkan_prepare(q);

	memcpy(&bits, &half, sizeof(bits));
	if (rc)
		return rc;
	v->CmdFillBuffer(v->queue.commands, v->buffer, 0, VK_WHOLE_SIZE, bits);
	rc = submit(&v->queue);
	return rc ? rc : device_vulkan_check(v->QueueWaitIdle(v->queue.queue));
}

static int device_vulkan_run(struct device_queue *q, const struct device_run *r)
{
	struct vulkan *v = q->own;
	const uint32_t arguments[] = {r->rounds, r->share, r->set - 1};
	int which = 0;

	if (r->group > v->most_group)
		return -ENOTSUP;
	while (which < GROUPS - 1 && device_vulkan_groups[which] != r->group)
		which++;
	VkPipeline *pipeline = &v->pipelines[r->job][which];
	int rc = *pipeline ? 0 : create_pipeline(v, r->job, r->group, pipeline);
	if (rc)
		return rc;
	v->CmdBindPipeline(v->queue.commands, VK_PIPELINE_BIND_POINT_COMPUTE, *pipeline);
	v->CmdBindDescriptorSets(v->queue.commands, VK_PIPELINE_BIND_POINT_COMPUTE, v->layout, 0, 1,
		&v->set, 0, NULL);
	v->CmdPushConstants(v->queue.commands, v->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
		sizeof(arguments), arguments);
	v->CmdDispatch(v->queue.commands, r->groups, 1, 1);
	return 0;
}

static void device_vulkan_close_device(struct device_queue *q)
{
	struct vulkan *v = q->own;

	if (v && v->device) {
		for (int i = 0; i < DEVICE_JOBS * GROUPS; i++)
			v->DestroyPipeline(v->device, v->pipelines[i / GROUPS][i % GROUPS], NULL);
		v->DestroyCommandPool(v->device, v->pool, NULL);
		v->DestroyPipelineLayout(v->device, v->layout, NULL);
		v->DestroyDescriptorPool(v->device, v->set_pool, NULL);
		v->DestroyDescriptorSetLayout(v->device, v->set_layout, NULL);
		v->DestroyShaderModule(v->device, v->shader, NULL);
		v->DestroyBuffer(v->device, v->buffer, NULL);
		v->FreeMemory(v->device, v->memory, NULL);
		v->DestroyDevice(v->device, NULL);
	}
	if (v && v->instance)
		v->DestroyInstance(v->instance, NULL);
	free(v);
	memset(q, 0, sizeof(*q));
}

static int device_vulkan_open_device(struct device_queue *q, unsigned index)
{
	struct vulkan *v = calloc(1, sizeof(*v));

	*q = (struct device_queue){.own = v};
	int rc = v ? device_vulkan_create_instance(v) : -ENOMEM;
	if (!rc) {
		v->queue = (struct brick_vulkan_queue){
			.size = sizeof(v->queue), .submit = submit, .user = v};
		rc = device_vulkan_create_device(q, v, index);
	}
	if (!rc)
		rc = create_buffer(q, v);
	if (!rc && (create_set(v) || create_layout(v) || create_commands(v) ||
			   device_vulkan_fill(q, v)))
		rc = -EIO;
	if (rc) {
		device_vulkan_close_device(q);
		return rc;
	}
	q->native[0] = v->instance;
	q->native[1] = v->physical;
	q->native[2] = v->device;
	q->native[3] = &v->queue;
	q->queue = &v->queue;
	return 0;
}

const struct device_kind device_vulkan = {"vulkan", device_vulkan_open_device,
	device_vulkan_prepare, device_vulkan_run, device_vulkan_close_device};
