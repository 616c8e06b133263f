/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of what takes time on the device: dispatches, copies, fills, and render passes as a whole.
 * Each is passed on between two timestamps.
 */
#include <string.h>
#include "attach/vulkan/commands.h"
#include "attach/vulkan/pipelines.h"

#define CALL(handle) vulkan_device_of(handle)->call
#define HOOK static VKAPI_ATTR void VKAPI_CALL

/* ---- dispatches ---- */

HOOK bind_pipeline(VkCommandBuffer handle, VkPipelineBindPoint point, VkPipeline pipeline)
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
	return step_begin(handle, &kernel, fallback, 0);
}

HOOK dispatch(VkCommandBuffer handle, uint32_t x, uint32_t y, uint32_t z)
{
	struct vulkan_commands *c = dispatch_begin(handle, x, y, z);

	CALL(handle).CmdDispatch(handle, x, y, z);
	step_end(c);
}

HOOK dispatch_indirect(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset)
{
	struct vulkan_commands *c = dispatch_begin(handle, 0, 0, 0);

	CALL(handle).CmdDispatchIndirect(handle, buffer, offset);
	step_end(c);
}

#define DISPATCH_BASE(function, next)                                                            \
	HOOK function(VkCommandBuffer handle, uint32_t bx, uint32_t by, uint32_t bz, uint32_t x, \
		uint32_t y, uint32_t z)                                                          \
	{                                                                                        \
		struct vulkan_commands *c = dispatch_begin(handle, x, y, z);                     \
		CALL(handle).next(handle, bx, by, bz, x, y, z);                                  \
		step_end(c);                                                                     \
	}
DISPATCH_BASE(dispatch_base, CmdDispatchBase)
DISPATCH_BASE(dispatch_base_khr, CmdDispatchBaseKHR)

/* ---- copies ---- */

static struct vulkan_commands *copy_begin(
	VkCommandBuffer handle, const char *name, uint32_t kind, uint64_t bytes)
{
	struct brick_kernel kernel = {
		.size = sizeof(struct brick_kernel), .name = name, .kind = kind};

	return step_begin(handle, &kernel, NULL, bytes);
}

HOOK copy_buffer(VkCommandBuffer handle, VkBuffer from, VkBuffer to, uint32_t count,
	const VkBufferCopy *regions)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++)
		bytes += regions[i].size;
	struct vulkan_commands *c = copy_begin(handle, "vkCmdCopyBuffer", BRICK_KERNEL_D2D, bytes);
	CALL(handle).CmdCopyBuffer(handle, from, to, count, regions);
	step_end(c);
}

static uint64_t bytes_of(const VkCopyBufferInfo2 *info)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < info->regionCount; i++)
		bytes += info->pRegions[i].size;
	return bytes;
}

HOOK fill_buffer(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size,
	uint32_t data)
{
	struct vulkan_commands *c = copy_begin(
		handle, "vkCmdFillBuffer", BRICK_KERNEL_FILL, size == VK_WHOLE_SIZE ? 0 : size);

	CALL(handle).CmdFillBuffer(handle, buffer, offset, size, data);
	step_end(c);
}

HOOK update_buffer(VkCommandBuffer handle, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size,
	const void *data)
{
	struct vulkan_commands *c = copy_begin(handle, "vkCmdUpdateBuffer", BRICK_KERNEL_H2D, size);

	CALL(handle).CmdUpdateBuffer(handle, buffer, offset, size, data);
	step_end(c);
}

/* One whose arguments are passed on as they are. */
#define COPY(function, next, kind, bytes, arguments, ...)                                \
	HOOK function arguments                                                          \
	{                                                                                \
		struct vulkan_commands *c = copy_begin(handle, "vk" #next, kind, bytes); \
		CALL(handle).next(__VA_ARGS__);                                          \
		step_end(c);                                                             \
	}

COPY(copy_buffer_2, CmdCopyBuffer2, BRICK_KERNEL_D2D, bytes_of(info),
	(VkCommandBuffer handle, const VkCopyBufferInfo2 *info), handle, info)
COPY(copy_buffer_2_khr, CmdCopyBuffer2KHR, BRICK_KERNEL_D2D, bytes_of(info),
	(VkCommandBuffer handle, const VkCopyBufferInfo2 *info), handle, info)
COPY(copy_image, CmdCopyImage, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, VkImage from, VkImageLayout from_layout, VkImage to,
		VkImageLayout to_layout, uint32_t count, const VkImageCopy *regions),
	handle, from, from_layout, to, to_layout, count, regions)
COPY(copy_image_2, CmdCopyImage2, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, const VkCopyImageInfo2 *info), handle, info)
COPY(copy_image_2_khr, CmdCopyImage2KHR, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, const VkCopyImageInfo2 *info), handle, info)
COPY(copy_to_image, CmdCopyBufferToImage, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, VkBuffer from, VkImage to, VkImageLayout layout, uint32_t count,
		const VkBufferImageCopy *regions),
	handle, from, to, layout, count, regions)
COPY(copy_to_image_2, CmdCopyBufferToImage2, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, const VkCopyBufferToImageInfo2 *info), handle, info)
COPY(copy_to_image_2_khr, CmdCopyBufferToImage2KHR, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, const VkCopyBufferToImageInfo2 *info), handle, info)
COPY(copy_from_image, CmdCopyImageToBuffer, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, VkImage from, VkImageLayout layout, VkBuffer to, uint32_t count,
		const VkBufferImageCopy *regions),
	handle, from, layout, to, count, regions)
COPY(copy_from_image_2, CmdCopyImageToBuffer2, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, const VkCopyImageToBufferInfo2 *info), handle, info)
COPY(copy_from_image_2_khr, CmdCopyImageToBuffer2KHR, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, const VkCopyImageToBufferInfo2 *info), handle, info)
COPY(blit, CmdBlitImage, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, VkImage from, VkImageLayout from_layout, VkImage to,
		VkImageLayout to_layout, uint32_t count, const VkImageBlit *regions,
		VkFilter filter),
	handle, from, from_layout, to, to_layout, count, regions, filter)
COPY(resolve, CmdResolveImage, BRICK_KERNEL_D2D, 0,
	(VkCommandBuffer handle, VkImage from, VkImageLayout from_layout, VkImage to,
		VkImageLayout to_layout, uint32_t count, const VkImageResolve *regions),
	handle, from, from_layout, to, to_layout, count, regions)
COPY(clear, CmdClearColorImage, BRICK_KERNEL_FILL, 0,
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
#define PASS_BEGIN(function, next, arguments, ...) \
	HOOK function arguments                    \
	{                                          \
		pass_begin(handle);                \
		CALL(handle).next(__VA_ARGS__);    \
	}
#define PASS_END(function, next, arguments, ...) \
	HOOK function arguments                  \
	{                                        \
		CALL(handle).next(__VA_ARGS__);  \
		step_end(commands_find(handle)); \
	}

PASS_BEGIN(pass, CmdBeginRenderPass,
	(VkCommandBuffer handle, const VkRenderPassBeginInfo *info, VkSubpassContents contents),
	handle, info, contents)
PASS_BEGIN(pass_2, CmdBeginRenderPass2,
	(VkCommandBuffer handle, const VkRenderPassBeginInfo *info,
		const VkSubpassBeginInfo *subpass),
	handle, info, subpass)
PASS_BEGIN(pass_2_khr, CmdBeginRenderPass2KHR,
	(VkCommandBuffer handle, const VkRenderPassBeginInfo *info,
		const VkSubpassBeginInfo *subpass),
	handle, info, subpass)
PASS_END(pass_end, CmdEndRenderPass, (VkCommandBuffer handle), handle)
PASS_END(pass_end_2, CmdEndRenderPass2, (VkCommandBuffer handle, const VkSubpassEndInfo *info),
	handle, info)
PASS_END(pass_end_2_khr, CmdEndRenderPass2KHR,
	(VkCommandBuffer handle, const VkSubpassEndInfo *info), handle, info)

/* Between a suspended pass and its resumption nothing may stand: such passes are not timed. */
static int is_whole(const VkRenderingInfo *info)
{
	return !(info->flags & (VK_RENDERING_SUSPENDING_BIT | VK_RENDERING_RESUMING_BIT));
}

HOOK rendering(VkCommandBuffer handle, const VkRenderingInfo *info)
{
	if (is_whole(info))
		pass_begin(handle);
	CALL(handle).CmdBeginRendering(handle, info);
}

HOOK rendering_khr(VkCommandBuffer handle, const VkRenderingInfo *info)
{
	if (is_whole(info))
		pass_begin(handle);
	CALL(handle).CmdBeginRenderingKHR(handle, info);
}

PASS_END(rendering_end, CmdEndRendering, (VkCommandBuffer handle), handle)
PASS_END(rendering_end_khr, CmdEndRenderingKHR, (VkCommandBuffer handle), handle)

PFN_vkVoidFunction work_hook(const char *name)
{
	static const struct {
		const char *name;
		PFN_vkVoidFunction hook;
	} hooks[] = {
#define ENTRY(name, hook) {"vkCmd" name, (PFN_vkVoidFunction)hook}
		ENTRY("BindPipeline", bind_pipeline),
		ENTRY("Dispatch", dispatch),
		ENTRY("DispatchIndirect", dispatch_indirect),
		ENTRY("DispatchBase", dispatch_base),
		ENTRY("DispatchBaseKHR", dispatch_base_khr),
		ENTRY("CopyBuffer", copy_buffer),
		ENTRY("CopyBuffer2", copy_buffer_2),
		ENTRY("CopyBuffer2KHR", copy_buffer_2_khr),
		ENTRY("CopyImage", copy_image),
		ENTRY("CopyImage2", copy_image_2),
		ENTRY("CopyImage2KHR", copy_image_2_khr),
		ENTRY("CopyBufferToImage", copy_to_image),
		ENTRY("CopyBufferToImage2", copy_to_image_2),
		ENTRY("CopyBufferToImage2KHR", copy_to_image_2_khr),
		ENTRY("CopyImageToBuffer", copy_from_image),
		ENTRY("CopyImageToBuffer2", copy_from_image_2),
		ENTRY("CopyImageToBuffer2KHR", copy_from_image_2_khr),
		ENTRY("BlitImage", blit),
		ENTRY("ResolveImage", resolve),
		ENTRY("ClearColorImage", clear),
		ENTRY("FillBuffer", fill_buffer),
		ENTRY("UpdateBuffer", update_buffer),
		ENTRY("BeginRenderPass", pass),
		ENTRY("BeginRenderPass2", pass_2),
		ENTRY("BeginRenderPass2KHR", pass_2_khr),
		ENTRY("EndRenderPass", pass_end),
		ENTRY("EndRenderPass2", pass_end_2),
		ENTRY("EndRenderPass2KHR", pass_end_2_khr),
		ENTRY("BeginRendering", rendering),
		ENTRY("BeginRenderingKHR", rendering_khr),
		ENTRY("EndRendering", rendering_end),
		ENTRY("EndRenderingKHR", rendering_end_khr),
#undef ENTRY
	};

	for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
		if (!strcmp(name, hooks[i].name))
			return hooks[i].hook;
	return NULL;
}
