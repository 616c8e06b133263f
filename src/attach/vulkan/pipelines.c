/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of shader modules, compute pipelines and debug names. What is kept of a module is a copy of
 * its words, until the program destroys it.
 */
#include "attach/vulkan/pipelines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/vulkan/vulkan_hooks.h"
#include "attach/vulkan/vulkan_map.h"
#include "attach/vulkan/spirv.h"
#include "base/scope.h"

enum { MAX_MODULE_BYTES = 16 << 20 };

struct module {
	char name[96]; /* given by the program, or "" */
	uint64_t hash;
	size_t count;
	uint32_t words[];
};

static struct map modules = MAP_INITIALIZER, pipelines = MAP_INITIALIZER;
static pthread_mutex_t names = PTHREAD_MUTEX_INITIALIZER; /* of what is in the maps */

VKAPI_ATTR VkResult VKAPI_CALL hook_CreateShaderModule(VkDevice device,
	const VkShaderModuleCreateInfo *info, const VkAllocationCallbacks *allocator,
	VkShaderModule *out)
{
	struct vulkan_device *d = vulkan_device_of(device);
	VkResult result = d->call.CreateShaderModule(device, info, allocator, out);
	size_t bytes = info->codeSize;

	if (result != VK_SUCCESS || !bytes || bytes % 4 || bytes > MAX_MODULE_BYTES)
		return result;
	struct module *module = calloc(1, sizeof *module + bytes);
	if (!module)
		return result;
	module->count = bytes / 4;
	memcpy(module->words, info->pCode, bytes);
	module->hash = spirv_hash(module->words, module->count);
	free(map_take(&modules, VULKAN_KEY(*out)));
	if (map_set(&modules, VULKAN_KEY(*out), module))
		free(module);
	return result;
}

VKAPI_ATTR void VKAPI_CALL hook_DestroyShaderModule(
	VkDevice device, VkShaderModule handle, const VkAllocationCallbacks *allocator)
{
	free(map_take(&modules, VULKAN_KEY(handle)));
	vulkan_device_of(device)->call.DestroyShaderModule(device, handle, allocator);
}

/* A module must outlive the creation of its pipelines: it is the program's to see to that. */
static void describe(struct vulkan_pipeline *pipeline, const VkPipelineShaderStageCreateInfo *stage)
{
	struct module *module = map_get(&modules, VULKAN_KEY(stage->module));
	struct spirv_entry entry;

	snprintf(pipeline->name, sizeof pipeline->name, "%.100s", stage->pName);
	pipeline->is_named = strcmp(stage->pName, "main") != 0;
	if (!module)
		return;
	spirv_entry_find(&entry, module->words, module->count, stage->pName);
	memcpy(pipeline->block, entry.size, sizeof pipeline->block);
	pipeline->code = module->hash;
	HOLD(&names);
	pipeline->is_named |= *module->name != 0;
	if (*module->name)
		snprintf(pipeline->name, sizeof pipeline->name, "%s", module->name);
	else
		snprintf(pipeline->name, sizeof pipeline->name, "%.100s (SPIR-V %08x)",
			stage->pName, (unsigned)(module->hash >> 32));
}

VKAPI_ATTR VkResult VKAPI_CALL hook_CreateComputePipelines(VkDevice device, VkPipelineCache cache,
	uint32_t count, const VkComputePipelineCreateInfo *infos,
	const VkAllocationCallbacks *allocator, VkPipeline *out)
{
	struct vulkan_device *d = vulkan_device_of(device);
	VkResult result =
		d->call.CreateComputePipelines(device, cache, count, infos, allocator, out);

	for (uint32_t i = 0; i < count && result >= 0; i++) {
		struct vulkan_pipeline *pipeline = out[i] ? calloc(1, sizeof *pipeline) : NULL;
		if (!pipeline)
			continue;
		describe(pipeline, &infos[i].stage);
		free(map_take(&pipelines, VULKAN_KEY(out[i])));
		if (map_set(&pipelines, VULKAN_KEY(out[i]), pipeline))
			free(pipeline);
	}
	return result;
}

VKAPI_ATTR void VKAPI_CALL hook_DestroyPipeline(
	VkDevice device, VkPipeline handle, const VkAllocationCallbacks *allocator)
{
	pthread_mutex_lock(&names);
	free(map_take(&pipelines, VULKAN_KEY(handle)));
	pthread_mutex_unlock(&names);
	vulkan_device_of(device)->call.DestroyPipeline(device, handle, allocator);
}

void pipelines_get(struct vulkan_pipeline *out, VkPipeline handle)
{
	memset(out, 0, sizeof *out);
	pthread_mutex_lock(&names);
	const struct vulkan_pipeline *pipeline = map_get(&pipelines, VULKAN_KEY(handle));
	if (pipeline)
		*out = *pipeline;
	pthread_mutex_unlock(&names);
	if (!*out->name)
		strcpy(out->name, "compute");
}

VKAPI_ATTR VkResult VKAPI_CALL hook_SetDebugUtilsObjectNameEXT(
	VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
	struct vulkan_device *d = vulkan_device_of(device);
	const char *name = info->pObjectName;

	pthread_mutex_lock(&names);
	if (name && *name && info->objectType == VK_OBJECT_TYPE_SHADER_MODULE) {
		struct module *module = map_get(&modules, info->objectHandle);
		if (module)
			snprintf(module->name, sizeof module->name, "%s", name);
	} else if (name && *name && info->objectType == VK_OBJECT_TYPE_PIPELINE) {
		struct vulkan_pipeline *pipeline = map_get(&pipelines, info->objectHandle);
		if (pipeline) {
			snprintf(pipeline->name, sizeof pipeline->name, "%s", name);
			pipeline->is_named = 1;
		}
	}
	pthread_mutex_unlock(&names);
	return d->call.SetDebugUtilsObjectNameEXT(device, info);
}
