/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all that the layer stands in front of, by room. Called by layer.c. */
#include "attach/vulkan/commands.h"
#include "attach/vulkan/pipelines.h"
#include "attach/vulkan/submits.h"

PFN_vkVoidFunction vulkan_hook(const char *name)
{
	static PFN_vkVoidFunction (*const rooms[])(const char *) = {
		work_hook, commands_hook, submits_hook, queues_hook, waits_hook, pipelines_hook};
	PFN_vkVoidFunction hook = NULL;

	for (size_t i = 0; i < sizeof rooms / sizeof *rooms && !hook; i++)
		hook = rooms[i](name);
	return hook;
}
