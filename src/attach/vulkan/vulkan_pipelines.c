/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of shader modules, compute pipelines and debug names. What is kept of a module is a copy of
 * its words, until the program destroys it.
 */
#include "attach/vulkan/vulkan_pipelines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/fnv.h"
#include "base/scope.h"

/*
 * ---- what a SPIR-V module says of its entry points ----
 * SPIR-V specification 1.6, sections 2.3 physical layout, 3.37 instructions: five words of header
 * and then instructions, length << 16 | opcode, operands. The module is the program's: nothing in
 * it is trusted.
 */

struct spirv_entry {
	uint32_t size[3]; /* of a work group; 0: not known (given by specialisation) */
	int found;
};

enum {
	MAGIC = 0x07230203,
	HEADER_WORDS = 5,
	OP_ENTRY_POINT = 15,
	OP_EXECUTION_MODE = 16,
	MODE_LOCAL_SIZE = 17,
};

/* Does a literal string, NUL-terminated and padded to words, equal name? */
static bool equals(const uint32_t *words, size_t count, const char *name)
{
	size_t bytes = count * sizeof(*words), n = strlen(name);

	return n < bytes && !memcmp(words, name, n + 1);
}

/* Look for the entry point of that name. words: of the module, count of them. */
static void spirv_entry_find(
	struct spirv_entry *entry, const uint32_t *words, size_t count, const char *name)
{
	uint32_t id = 0;

	memset(entry, 0, sizeof(*entry));
	if (count < HEADER_WORDS || words[0] != MAGIC)
		return;
	for (size_t at = HEADER_WORDS; at < count;) {
		const uint32_t *op = words + at;
		size_t length = op[0] >> 16;
		if (!length || length > count - at)
			return;
		uint32_t code = op[0] & 0xffff;
		if (code == OP_ENTRY_POINT && length > 3 && equals(op + 3, length - 3, name)) {
			id = op[2];
			entry->found = 1;
		}
		if (code == OP_EXECUTION_MODE && length >= 6 && entry->found && op[1] == id &&
			op[2] == MODE_LOCAL_SIZE)
			memcpy(entry->size, op + 3, sizeof(entry->size));
		at += length;
	}
}

/* Modules and pipelines. */

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
	struct module *module = calloc(1, sizeof(*module) + bytes);
	if (!module)
		return result;
	module->count = bytes / 4;
	memcpy(module->words, info->pCode, bytes);
	module->hash = fnv1a(module->words, bytes);
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

	snprintf(pipeline->name, sizeof(pipeline->name), "%.100s", stage->pName);
	pipeline->is_named = strcmp(stage->pName, "main") != 0;
	if (!module)
		return;
	spirv_entry_find(&entry, module->words, module->count, stage->pName);
	memcpy(pipeline->block, entry.size, sizeof(pipeline->block));
	pipeline->code = module->hash;
	HOLD(&names);
	pipeline->is_named |= *module->name != 0;
	if (*module->name)
		snprintf(pipeline->name, sizeof(pipeline->name), "%s", module->name);
	else
		snprintf(pipeline->name, sizeof(pipeline->name), "%.100s (SPIR-V %08x)",
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
		struct vulkan_pipeline *pipeline = out[i] ? calloc(1, sizeof(*pipeline)) : NULL;
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
	memset(out, 0, sizeof(*out));
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
			snprintf(module->name, sizeof(module->name), "%s", name);
	} else if (name && *name && info->objectType == VK_OBJECT_TYPE_PIPELINE) {
		struct vulkan_pipeline *pipeline = map_get(&pipelines, info->objectHandle);
		if (pipeline) {
			snprintf(pipeline->name, sizeof(pipeline->name), "%s", name);
			pipeline->is_named = true;
		}
	}
	pthread_mutex_unlock(&names);
	return d->call.SetDebugUtilsObjectNameEXT(device, info);
}
