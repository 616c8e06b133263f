/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches of one kernel whose program has labels for them, two deep, and then a name for the
 * pipeline. */
#include "vulkan_kit.h"

static PFN_vkCmdBeginDebugUtilsLabelEXT label_begin;
static PFN_vkCmdEndDebugUtilsLabelEXT label_end;

static void begin_label(VkCommandBuffer commands, const char *name)
{
	const VkDebugUtilsLabelEXT label = {
		.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT, .pLabelName = name};

	label_begin(commands, &label);
}

static void run(VkCommandBuffer commands, int times)
{
	while (times--) {
		run_kernel(commands, 1000);
		hold_apart(commands);
	}
}

static void name_pipeline(const char *name)
{
	const VkDebugUtilsObjectNameInfoEXT info = {
		.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
		.objectType = VK_OBJECT_TYPE_PIPELINE,
		.objectHandle = (uint64_t)pipeline,
		.pObjectName = name};

	((PFN_vkSetDebugUtilsObjectNameEXT)vkGetInstanceProcAddr(
		instance, "vkSetDebugUtilsObjectNameEXT"))(device, &info);
}

static void record(VkCommandBuffer commands)
{
	begin(commands, 0);
	run(commands, 1);
	begin_label(commands, "attention");
	run(commands, 2);
	begin_label(commands, "softmax");
	run(commands, 3);
	label_end(commands);
	run(commands, 2);
	label_end(commands);
	run(commands, 4);
	begin_label(commands, "left open");
	check(vkEndCommandBuffer(commands), "end");
	submit(commands, VK_NULL_HANDLE);
	check(vkQueueWaitIdle(queue), "idle");
}

int main(void)
{
	VkCommandBuffer commands;

	kit_extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
	kit_open(NULL);
	label_begin = (PFN_vkCmdBeginDebugUtilsLabelEXT)vkGetInstanceProcAddr(
		instance, "vkCmdBeginDebugUtilsLabelEXT");
	label_end = (PFN_vkCmdEndDebugUtilsLabelEXT)vkGetInstanceProcAddr(
		instance, "vkCmdEndDebugUtilsLabelEXT");
	commands = make_commands(VK_COMMAND_BUFFER_LEVEL_PRIMARY);
	record(commands);
	record(commands); /* anew: the label that was left open is gone */
	name_pipeline("spin");
	begin(commands, 0);
	begin_label(commands, "attention");
	run(commands, 1);
	label_end(commands);
	check(vkEndCommandBuffer(commands), "end");
	submit(commands, VK_NULL_HANDLE);
	check(vkQueueWaitIdle(queue), "idle");
	kit_close();
	return 0;
}
