/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all that the layer stands in front of, by what they are about. Called by layer.c. */
#include "attach/vulkan/hooks.h"

#include "attach/vulkan/commands.h"
#include "attach/vulkan/pipelines.h"
#include "attach/vulkan/queues.h"
#include "attach/vulkan/submits.h"
#include "attach/vulkan/waits.h"

PFN_vkVoidFunction vulkan_hook(const char *name)
{
	static PFN_vkVoidFunction (*const groups[])(const char *) = {
		work_hook, commands_hook, submits_hook, queues_hook, waits_hook, pipelines_hook};
	PFN_vkVoidFunction hook = NULL;

	for (size_t i = 0; i < sizeof groups / sizeof *groups && !hook; i++)
		hook = groups[i](name);
	return hook;
}
