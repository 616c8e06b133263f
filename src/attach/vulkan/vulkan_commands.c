/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each dispatch, copy, fill and render pass is passed on between two timestamps. A command buffer
 * that is recorded anew gets new query pools where the old results are still to be read.
 */
#include "attach/vulkan/vulkan_commands.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "attach/vulkan/vulkan_device.h"
#include "base/fnv.h"
#include "base/scope.h"
#include "brick/attach.h"
#include "brick/brick.h"

/*
 * Shader modules, compute pipelines and debug names. We keep a copy of a module's words until the
 * program destroys it.
 */
struct vulkan_pipeline {
	char name[128];
	bool is_named;	   /* the program named it; else the name is made from the code's hash */
	uint32_t block[3]; /* 0: not known */
	uint64_t code;	   /* hash of its module, 0: not known */
};

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

/* Looks for the entry point of that name in the `count` words of a module. */
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
		/* its name is a literal string, NUL-terminated and padded to words */
		if (code == OP_ENTRY_POINT && length > 3 &&
			strlen(name) < (length - 3) * sizeof(*op) &&
			!memcmp(op + 3, name, strlen(name) + 1)) {
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
static pthread_mutex_t vulkan_commands_names =
	PTHREAD_MUTEX_INITIALIZER; /* of the objects in the maps */

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
static void vulkan_commands_describe(
	struct vulkan_pipeline *pipeline, const VkPipelineShaderStageCreateInfo *stage)
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
	HOLD(&vulkan_commands_names);
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
		vulkan_commands_describe(pipeline, &infos[i].stage);
		free(map_take(&pipelines, VULKAN_KEY(out[i])));
		if (map_set(&pipelines, VULKAN_KEY(out[i]), pipeline))
			free(pipeline);
	}
	return result;
}

VKAPI_ATTR void VKAPI_CALL hook_DestroyPipeline(
	VkDevice device, VkPipeline handle, const VkAllocationCallbacks *allocator)
{
	pthread_mutex_lock(&vulkan_commands_names);
	free(map_take(&pipelines, VULKAN_KEY(handle)));
	pthread_mutex_unlock(&vulkan_commands_names);
	vulkan_device_of(device)->call.DestroyPipeline(device, handle, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_SetDebugUtilsObjectNameEXT(
	VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
	struct vulkan_device *d = vulkan_device_of(device);
	const char *name = info->pObjectName;

	pthread_mutex_lock(&vulkan_commands_names);
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
	pthread_mutex_unlock(&vulkan_commands_names);
	return d->call.SetDebugUtilsObjectNameEXT(device, info);
}

enum { FIRST_GROUP = 16, GROUP = 64, CODE_NAME_BYTES = 128 };

static struct map buffers = MAP_INITIALIZER; /* VkCommandBuffer -> vulkan_commands */
static struct map pools = MAP_INITIALIZER;   /* VkCommandPool -> family + 1 */

struct vulkan_commands *commands_find(VkCommandBuffer handle)
{
	return map_get(&buffers, VULKAN_KEY((uintptr_t)handle));
}

/*
 * ---- what the layer costs ----
 * All calls are timed, as they are few or dear, and told of in as large groups as other attachers
 * tell of theirs: a thread's calls count by their mean.
 */

static __thread struct {
	uint64_t ticks;
	uint32_t calls, was_told;
} vulkan_commands_cost __attribute__((tls_model("initial-exec")));

void commands_cost(uint64_t begin_ticks)
{
	vulkan_commands_cost.ticks += brick_ticks() - begin_ticks;
	if (++vulkan_commands_cost.calls <
		(uint32_t)(vulkan_commands_cost.was_told ? GROUP : FIRST_GROUP))
		return;
	brick_hook_cost(vulkan_commands_cost.calls,
		vulkan_commands_cost.ticks / vulkan_commands_cost.calls);
	vulkan_commands_cost.ticks = vulkan_commands_cost.calls = 0;
	vulkan_commands_cost.was_told = 1;
}

/* Query pools. */

void chunk_hold(struct vulkan_chunk *chunk)
{
	__atomic_add_fetch(&chunk->refs, 1, __ATOMIC_RELAXED);
}

void chunk_release(struct vulkan_chunk *chunk)
{
	struct vulkan_device *d = chunk->device;

	if (__atomic_sub_fetch(&chunk->refs, 1, __ATOMIC_ACQ_REL))
		return;
	d->call.DestroyQueryPool(d->handle, chunk->pool, NULL);
	free(chunk);
}

/* A chunk with room for two queries, reset in this recording; NULL: there is none to be had. */
static struct vulkan_chunk *chunk_for(struct vulkan_commands *c)
{
	const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
		.queryType = VK_QUERY_TYPE_TIMESTAMP,
		.queryCount = CHUNK_QUERIES};
	struct vulkan_chunk *last = c->chunks.count ? c->chunks.items[c->chunks.count - 1] : NULL;
	struct vulkan_device *d = c->device;

	if (last && last->used + 2 <= CHUNK_QUERIES)
		return last;
	if (array_reserve(&c->chunks, 1))
		return NULL;
	struct vulkan_chunk *chunk = calloc(1, sizeof(*chunk));
	if (!chunk)
		return NULL;
	chunk->device = d;
	chunk->refs = 1;
	if (d->call.CreateQueryPool(d->handle, &info, NULL, &chunk->pool) != VK_SUCCESS) {
		free(chunk);
		return NULL;
	}
	c->chunks.items[c->chunks.count++] = chunk;
	d->call.CmdResetQueryPool(c->handle, chunk->pool, 0, CHUNK_QUERIES);
	return chunk;
}

/* One timed command, between two timestamps. */

static void write_timestamp(struct vulkan_commands *c, VkPipelineStageFlagBits stage, int which)
{
	const struct vulkan_step *step = &c->steps.items[c->steps.count - 1];

	c->device->call.CmdWriteTimestamp(c->handle, stage, c->chunks.items[step->chunk]->pool,
		step->first + (uint32_t)which);
}

static void name_step(struct vulkan_step *step, struct brick_kernel *kernel, const char *fallback)
{
	step->code.owner = kernel->name ? NULL : brick_launch_owner();
	if (step->code.owner) {
		step->code.code = kernel->code;
		memcpy(step->code.grid, kernel->grid, sizeof(kernel->grid));
		memcpy(step->code.block, kernel->block, sizeof(kernel->block));
		return;
	}
	if (!kernel->name)
		kernel->name = fallback;
	kernel->backend = "vulkan";
	step->kernel = brick_kernel_register(kernel);
}

/* Names code that has no name of its own after its use. */
static void code_name(char name[CODE_NAME_BYTES], const char *what, uint64_t code)
{
	snprintf(name, CODE_NAME_BYTES, "%.64s (SPIR-V %08x)", what, (unsigned)(code >> 32));
}

uint32_t step_kernel(const struct vulkan_step *step)
{
	const struct step_code *code = &step->code;
	char name[CODE_NAME_BYTES];

	if (!code->owner)
		return step->kernel;
	code_name(name, __atomic_load_n(&code->owner->operation, __ATOMIC_ACQUIRE), code->code);
	struct brick_kernel kernel = {.size = sizeof(struct brick_kernel),
		.name = name,
		.backend = "vulkan",
		.kind = BRICK_KERNEL_COMPUTE,
		.code = code->code};
	memcpy(kernel.grid, code->grid, sizeof(kernel.grid));
	memcpy(kernel.block, code->block, sizeof(kernel.block));
	return brick_kernel_register(&kernel);
}

/*
 * Begin and end a timed command; NULL and 0 are legal for what is not being timed. kernel: name,
 * kind, grid, block and code; backend is filled in. Without a name it is called after whose work it
 * is, and where that is nobody's after `fallback`.
 */
static struct vulkan_commands *vulkan_commands_step_begin(
	VkCommandBuffer handle, struct brick_kernel *kernel, const char *fallback, uint64_t bytes)
{
	struct vulkan_commands *c = commands_find(handle);
	struct vulkan_chunk *chunk = NULL;
	struct brick_launch parent;
	uint64_t begin_ticks = brick_ticks();

	if (!c || c->excluded || !brick_enabled() || brick_thread_ready())
		return NULL;
	const struct vulkan_family *family = &c->device->families[c->family];
	if (family->mask && family->can_copy && !c->is_inside && !c->open &&
		!array_reserve(&c->steps, 1))
		chunk = chunk_for(c);
	if (!chunk) {
		c->untimed++;
		return NULL;
	}
	brick_launch_parent(&parent);
	struct vulkan_step *step = &c->steps.items[c->steps.count++];
	*step = (struct vulkan_step){
		.chunk = c->chunks.count - 1,
		.first = chunk->used,
		.brick = parent.brick,
		.layer = parent.layer,
		.bytes = bytes,
		.work = kernel->kind == BRICK_KERNEL_COMPUTE ? brick_launch_work() : NULL,
	};
	name_step(step, kernel, fallback);
	chunk->used += 2;
	c->open = 1;
	write_timestamp(c, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, 0);
	c->begin_ticks = brick_ticks() - begin_ticks;
	return c;
}

static void step_end(struct vulkan_commands *c)
{
	uint64_t begin_ticks = brick_ticks();

	if (!c || !c->open)
		return;
	write_timestamp(c, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 1);
	c->open = 0;
	commands_cost(begin_ticks - c->begin_ticks);
}

#define CALL(handle) vulkan_device_of(handle)->call
#define HOOK VKAPI_ATTR void VKAPI_CALL

/* Dispatches. */

HOOK hook_CmdBindPipeline(VkCommandBuffer handle, VkPipelineBindPoint point, VkPipeline pipeline)
{
	struct vulkan_commands *c = commands_find(handle);

	if (c && point == VK_PIPELINE_BIND_POINT_COMPUTE)
		c->pipeline = pipeline;
	CALL(handle).CmdBindPipeline(handle, point, pipeline);
}

static struct vulkan_commands *dispatch_begin(
	VkCommandBuffer handle, uint32_t x, uint32_t y, uint32_t z)
{
	const struct vulkan_commands *c = commands_find(handle);
	struct vulkan_pipeline pipeline;
	char labelled[CODE_NAME_BYTES];
	const char *fallback = pipeline.name;
	uint64_t begin_ticks = brick_ticks();

	if (!c)
		return NULL;
	memset(&pipeline, 0, sizeof(pipeline));
	pthread_mutex_lock(&vulkan_commands_names);
	const struct vulkan_pipeline *known = map_get(&pipelines, VULKAN_KEY(c->pipeline));
	if (known)
		pipeline = *known;
	pthread_mutex_unlock(&vulkan_commands_names);
	if (!*pipeline.name)
		strcpy(pipeline.name, "compute");
	if (c->labels.count) {
		code_name(labelled, c->labels.items[c->labels.count - 1].text, pipeline.code);
		fallback = labelled;
	}
	struct brick_kernel kernel = {.size = sizeof(struct brick_kernel),
		.name = pipeline.is_named ? pipeline.name : NULL,
		.kind = BRICK_KERNEL_COMPUTE,
		.grid = {x, y, z},
		.code = pipeline.code};
	memcpy(kernel.block, pipeline.block, sizeof(kernel.block));
	struct vulkan_commands *step = vulkan_commands_step_begin(handle, &kernel, fallback, 0);
	if (step)
		step->begin_ticks = brick_ticks() - begin_ticks;
	return step;
}

/* Makes a hook that times the part between `begin` and its end; its arguments are passed on. */
#define TIMED(next, begin, arguments, ...)         \
	HOOK hook_##next arguments                 \
	{                                          \
		struct vulkan_commands *c = begin; \
		CALL(handle).next(__VA_ARGS__);    \
		step_end(c);                       \
	}
#define BASE_ARGUMENTS                                                                          \
	(VkCommandBuffer handle, uint32_t bx, uint32_t by, uint32_t bz, uint32_t x, uint32_t y, \
		uint32_t z)

TIMED(CmdDispatch, dispatch_begin(handle, x, y, z),
	(VkCommandBuffer handle, uint32_t x, uint32_t y, uint32_t z), handle, x, y, z)
TIMED(CmdDispatchIndirect, dispatch_begin(handle, 0, 0, 0),
	(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset), handle, buffer, offset)
TIMED(CmdDispatchBase, dispatch_begin(handle, x, y, z), BASE_ARGUMENTS, handle, bx, by, bz, x, y, z)
TIMED(CmdDispatchBaseKHR, dispatch_begin(handle, x, y, z), BASE_ARGUMENTS, handle, bx, by, bz, x, y,
	z)

/* Copies. */

static struct vulkan_commands *copy_begin(
	VkCommandBuffer handle, const char *name, uint32_t kind, uint64_t bytes)
{
	struct brick_kernel kernel = {
		.size = sizeof(struct brick_kernel), .name = name, .kind = kind};

	return vulkan_commands_step_begin(handle, &kernel, NULL, bytes);
}

static uint64_t bytes_in(uint32_t count, const VkBufferCopy *regions)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += regions[i].size;
	return bytes;
}

static uint64_t vulkan_commands_bytes_of(const VkCopyBufferInfo2 *info)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < info->regionCount; i++)
		bytes += info->pRegions[i].size;
	return bytes;
}

#define COPY(next, kind, bytes, arguments, ...) \
	TIMED(next, copy_begin(handle, "vk" #next, kind, bytes), arguments, __VA_ARGS__)

COPY(CmdFillBuffer, BRICK_KERNEL_FILL, size == VK_WHOLE_SIZE ? 0 : size,
	(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size,
		uint32_t data),
	handle, buffer, offset, size, data)
COPY(CmdUpdateBuffer, BRICK_KERNEL_H2D, size,
	(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size,
		const void *data),
	handle, buffer, offset, size, data)
COPY(CmdCopyBuffer, BRICK_KERNEL_D2D, bytes_in(count, regions),
	(VkCommandBuffer handle, VkBuffer from, VkBuffer to, uint32_t count,
		const VkBufferCopy *regions),
	handle, from, to, count, regions)
COPY(CmdCopyBuffer2, BRICK_KERNEL_D2D, vulkan_commands_bytes_of(info),
	(VkCommandBuffer handle, const VkCopyBufferInfo2 *info), handle, info)
COPY(CmdCopyBuffer2KHR, BRICK_KERNEL_D2D, vulkan_commands_bytes_of(info),
	(VkCommandBuffer handle, const VkCopyBufferInfo2 *info), handle, info)
COPY(CmdCopyImage, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, VkImage from, VkImageLayout from_layout, VkImage to,
		VkImageLayout to_layout, uint32_t count, const VkImageCopy *regions),
	handle, from, from_layout, to, to_layout, count, regions)
COPY(CmdCopyImage2, BRICK_KERNEL_D2D, 0, (VkCommandBuffer handle, const VkCopyImageInfo2 *info),
	handle, info)
COPY(CmdCopyImage2KHR, BRICK_KERNEL_D2D, 0, (VkCommandBuffer handle, const VkCopyImageInfo2 *info),
	handle, info)
COPY(CmdCopyBufferToImage, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, VkBuffer from, VkImage to, VkImageLayout layout, uint32_t count,
		const VkBufferImageCopy *regions),
	handle, from, to, layout, count, regions)
COPY(CmdCopyBufferToImage2, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, const VkCopyBufferToImageInfo2 *info), handle, info)
COPY(CmdCopyBufferToImage2KHR, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, const VkCopyBufferToImageInfo2 *info), handle, info)
COPY(CmdCopyImageToBuffer, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, VkImage from, VkImageLayout layout, VkBuffer to, uint32_t count,
		const VkBufferImageCopy *regions),
	handle, from, layout, to, count, regions)
COPY(CmdCopyImageToBuffer2, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, const VkCopyImageToBufferInfo2 *info), handle, info)
COPY(CmdCopyImageToBuffer2KHR, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, const VkCopyImageToBufferInfo2 *info), handle, info)
COPY(CmdBlitImage, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, VkImage from, VkImageLayout from_layout, VkImage to,
		VkImageLayout to_layout, uint32_t count, const VkImageBlit *regions,
		VkFilter filter),
	handle, from, from_layout, to, to_layout, count, regions, filter)
COPY(CmdResolveImage, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, VkImage from, VkImageLayout from_layout, VkImage to,
		VkImageLayout to_layout, uint32_t count, const VkImageResolve *regions),
	handle, from, from_layout, to, to_layout, count, regions)
COPY(CmdClearColorImage, BRICK_KERNEL_FILL, 0,
	(VkCommandBuffer handle, VkImage image, VkImageLayout layout,
		const VkClearColorValue *colour, uint32_t count,
		const VkImageSubresourceRange *ranges),
	handle, image, layout, colour, count, ranges)

/* Render passes. */

static void pass_begin(VkCommandBuffer handle)
{
	const struct vulkan_commands *c = commands_find(handle);
	struct brick_kernel kernel = {.size = sizeof(struct brick_kernel),
		.name = c && c->labels.count ? c->labels.items[c->labels.count - 1].text
					     : "render pass",
		.kind = BRICK_KERNEL_OTHER};

	vulkan_commands_step_begin(handle, &kernel, NULL, 0);
}

/* The begin of a pass, and its end, in each of their spellings. */
#define PASS_BEGIN(next, arguments, ...)        \
	HOOK hook_##next arguments              \
	{                                       \
		pass_begin(handle);             \
		CALL(handle).next(__VA_ARGS__); \
	}
#define PASS_END(next, arguments, ...)           \
	HOOK hook_##next arguments               \
	{                                        \
		CALL(handle).next(__VA_ARGS__);  \
		step_end(commands_find(handle)); \
	}

PASS_BEGIN(CmdBeginRenderPass,
	(VkCommandBuffer handle, const VkRenderPassBeginInfo *info, VkSubpassContents contents),
	handle, info, contents)
PASS_BEGIN(CmdBeginRenderPass2,
	(VkCommandBuffer handle, const VkRenderPassBeginInfo *info,
		const VkSubpassBeginInfo *subpass),
	handle, info, subpass)
PASS_BEGIN(CmdBeginRenderPass2KHR,
	(VkCommandBuffer handle, const VkRenderPassBeginInfo *info,
		const VkSubpassBeginInfo *subpass),
	handle, info, subpass)
PASS_END(CmdEndRenderPass, (VkCommandBuffer handle), handle)
PASS_END(CmdEndRenderPass2, (VkCommandBuffer handle, const VkSubpassEndInfo *info), handle, info)
PASS_END(CmdEndRenderPass2KHR, (VkCommandBuffer handle, const VkSubpassEndInfo *info), handle, info)

/* Between a suspended pass and its resumption nothing may stand: such passes are not timed. */
static bool vulkan_commands_is_whole(const VkRenderingInfo *info)
{
	return !(info->flags & (VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT));
}

#define RENDERING(next)                                                       \
	HOOK hook_##next(VkCommandBuffer handle, const VkRenderingInfo *info) \
	{                                                                     \
		if (vulkan_commands_is_whole(info))                           \
			pass_begin(handle);                                   \
		CALL(handle).next(handle, info);                              \
	}
RENDERING(CmdBeginRendering)
RENDERING(CmdBeginRenderingKHR)

PASS_END(CmdEndRendering, (VkCommandBuffer handle), handle)
PASS_END(CmdEndRenderingKHR, (VkCommandBuffer handle), handle)

/* The life of a command buffer. */

/* For the backend inside of the program (src/lib/device/backend_call.h), on the thread that
 * records. */
BRICK_API void brick_vulkan_exclude(VkCommandBuffer handle);
void brick_vulkan_exclude(VkCommandBuffer handle)
{
	struct vulkan_commands *c = commands_find(handle);

	if (c)
		c->excluded = 1;
}

static void forget_recording(struct vulkan_commands *c)
{
	for (uint32_t i = 0; i < c->chunks.count; i++)
		chunk_release(c->chunks.items[i]);
	c->chunks.count = c->steps.count = c->executed.count = c->untimed = 0;
	c->labels.count = 0;
	c->open = c->excluded = 0;
	c->pipeline = VK_NULL_HANDLE;
}

static void destroy_commands(struct vulkan_commands *c)
{
	if (!c)
		return;
	forget_recording(c);
	array_fini(&c->chunks);
	array_fini(&c->steps);
	array_fini(&c->executed);
	array_fini(&c->labels);
	free(c);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_AllocateCommandBuffers(
	VkDevice device, const VkCommandBufferAllocateInfo *info, VkCommandBuffer *out)
{
	struct vulkan_device *d = vulkan_device_of(device);
	VkResult result = d->call.AllocateCommandBuffers(device, info, out);
	uintptr_t family = (uintptr_t)map_get(&pools, VULKAN_KEY(info->commandPool));

	for (uint32_t i = 0; result == VK_SUCCESS && i < info->commandBufferCount; i++) {
		struct vulkan_commands *c = calloc(1, sizeof(*c));
		if (!c || !family)
			free(c);
		if (!c || !family)
			continue;
		c->device = d;
		c->handle = out[i];
		c->pool = info->commandPool;
		c->family = (uint32_t)family - 1;
		c->is_secondary = info->level == VK_COMMAND_BUFFER_LEVEL_SECONDARY;
		if (map_set(&buffers, VULKAN_KEY((uintptr_t)out[i]), c))
			free(c);
	}
	return result;
}

VKAPI_ATTR void VKAPI_CALL hook_FreeCommandBuffers(
	VkDevice device, VkCommandPool pool, uint32_t count, const VkCommandBuffer *list)
{
	struct vulkan_device *d = vulkan_device_of(device);

	for (uint32_t i = 0; i < count; i++)
		destroy_commands(map_take(&buffers, VULKAN_KEY((uintptr_t)list[i])));
	d->call.FreeCommandBuffers(device, pool, count, list);
}

VKAPI_ATTR VkResult VKAPI_CALL hook_BeginCommandBuffer(
	VkCommandBuffer handle, const VkCommandBufferBeginInfo *info)
{
	struct vulkan_commands *c = commands_find(handle);
	VkResult result = vulkan_device_of(handle)->call.BeginCommandBuffer(handle, info);

	if (!c)
		return result;
	forget_recording(c);
	c->is_inside = c->is_secondary &&
		       (info->flags & VK_COMMAND_BUFFER_USAGE_RENDER_PASS_CONTINUE_BIT) != 0;
	return result;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_ResetCommandBuffer(
	VkCommandBuffer handle, VkCommandBufferResetFlags flags)
{
	struct vulkan_commands *c = commands_find(handle);

	if (c)
		forget_recording(c);
	return vulkan_device_of(handle)->call.ResetCommandBuffer(handle, flags);
}

VKAPI_ATTR void VKAPI_CALL hook_CmdExecuteCommands(
	VkCommandBuffer handle, uint32_t count, const VkCommandBuffer *list)
{
	struct vulkan_commands *c = commands_find(handle);

	for (uint32_t i = 0; c && i < count; i++)
		array_push(&c->executed, list[i]);
	vulkan_device_of(handle)->call.CmdExecuteCommands(handle, count, list);
}

VKAPI_ATTR void VKAPI_CALL hook_CmdBeginDebugUtilsLabelEXT(
	VkCommandBuffer handle, const VkDebugUtilsLabelEXT *info)
{
	struct vulkan_commands *c = commands_find(handle);
	struct vulkan_label *label = c ? array_add(&c->labels) : NULL;

	if (label)
		snprintf(label->text, sizeof(label->text), "%s", info->pLabelName);
	vulkan_device_of(handle)->call.CmdBeginDebugUtilsLabelEXT(handle, info);
}

/* It may have begun in another command buffer. */
VKAPI_ATTR void VKAPI_CALL hook_CmdEndDebugUtilsLabelEXT(VkCommandBuffer handle)
{
	struct vulkan_commands *c = commands_find(handle);

	if (c && c->labels.count)
		c->labels.count--;
	vulkan_device_of(handle)->call.CmdEndDebugUtilsLabelEXT(handle);
}

/* Pools. */

static int is_of_pool(const void *value, const void *context)
{
	return ((const struct vulkan_commands *)value)->pool == *(const VkCommandPool *)context;
}

static int vulkan_commands_is_of_device(const void *value, const void *context)
{
	return ((const struct vulkan_commands *)value)->device == context;
}

VKAPI_ATTR VkResult VKAPI_CALL hook_CreateCommandPool(VkDevice device,
	const VkCommandPoolCreateInfo *info, const VkAllocationCallbacks *allocator,
	VkCommandPool *out)
{
	struct vulkan_device *d = vulkan_device_of(device);
	VkResult result = d->call.CreateCommandPool(device, info, allocator, out);

	if (result == VK_SUCCESS && info->queueFamilyIndex < d->family_count)
		map_set(&pools, VULKAN_KEY(*out), (void *)(uintptr_t)(info->queueFamilyIndex + 1));
	return result;
}

VKAPI_ATTR void VKAPI_CALL hook_DestroyCommandPool(
	VkDevice device, VkCommandPool pool, const VkAllocationCallbacks *allocator)
{
	struct vulkan_device *d = vulkan_device_of(device);
	struct vulkan_commands *c;

	map_take(&pools, VULKAN_KEY(pool));
	while ((c = map_take_match(&buffers, is_of_pool, &pool)))
		destroy_commands(c);
	d->call.DestroyCommandPool(device, pool, allocator);
}

void commands_device_end(struct vulkan_device *device)
{
	struct vulkan_commands *c;

	while ((c = map_take_match(&buffers, vulkan_commands_is_of_device, device)))
		destroy_commands(c);
}
