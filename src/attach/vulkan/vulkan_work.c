/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of what takes time on the device: dispatches, copies, fills, and render passes as a whole.
 * Each is passed on between two timestamps.
 */
#include <string.h>
#include "attach/vulkan/vulkan_commands.h"
#include "attach/vulkan/vulkan_pipelines.h"
#include "brick/clock.h"

#define CALL(handle) vulkan_device_of(handle)->call
#define HOOK VKAPI_ATTR void VKAPI_CALL

/* ---- dispatches ---- */

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
	pipelines_get(&pipeline, c->pipeline);
	if (c->labels.count) {
		code_name(labelled, c->labels.items[c->labels.count - 1].text, pipeline.code);
		fallback = labelled;
	}
	struct brick_kernel kernel = {.size = sizeof(struct brick_kernel),
		.name = pipeline.is_named ? pipeline.name : NULL,
		.kind = BRICK_KERNEL_COMPUTE,
		.grid = {x, y, z},
		.code = pipeline.code};
	memcpy(kernel.block, pipeline.block, sizeof kernel.block);
	struct vulkan_commands *step = step_begin(handle, &kernel, fallback, 0);
	if (step)
		step->begin_ticks = brick_ticks() - begin_ticks;
	return step;
}

/* A hook of what lies between what `begin` returns and its end; its arguments are passed on. */
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

/* ---- copies ---- */

static struct vulkan_commands *copy_begin(
	VkCommandBuffer handle, const char *name, uint32_t kind, uint64_t bytes)
{
	struct brick_kernel kernel = {
		.size = sizeof(struct brick_kernel), .name = name, .kind = kind};

	return step_begin(handle, &kernel, NULL, bytes);
}

static uint64_t bytes_in(uint32_t count, const VkBufferCopy *regions)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += regions[i].size;
	return bytes;
}

static uint64_t bytes_of(const VkCopyBufferInfo2 *info)
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
COPY(CmdCopyBuffer2, BRICK_KERNEL_D2D, bytes_of(info),
	(VkCommandBuffer handle, const VkCopyBufferInfo2 *info), handle, info)
COPY(CmdCopyBuffer2KHR, BRICK_KERNEL_D2D, bytes_of(info),
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

/* ---- render passes ---- */

static void pass_begin(VkCommandBuffer handle)
{
	const struct vulkan_commands *c = commands_find(handle);
	struct brick_kernel kernel = {.size = sizeof(struct brick_kernel),
		.name = c && c->labels.count ? c->labels.items[c->labels.count - 1].text
					     : "render pass",
		.kind = BRICK_KERNEL_OTHER};

	step_begin(handle, &kernel, NULL, 0);
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
static int is_whole(const VkRenderingInfo *info)
{
	return !(info->flags & (VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT));
}

#define RENDERING(next)                                                       \
	HOOK hook_##next(VkCommandBuffer handle, const VkRenderingInfo *info) \
	{                                                                     \
		if (is_whole(info))                                           \
			pass_begin(handle);                                   \
		CALL(handle).next(handle, info);                              \
	}
RENDERING(CmdBeginRendering)
RENDERING(CmdBeginRenderingKHR)

PASS_END(CmdEndRendering, (VkCommandBuffer handle), handle)
PASS_END(CmdEndRenderingKHR, (VkCommandBuffer handle), handle)
