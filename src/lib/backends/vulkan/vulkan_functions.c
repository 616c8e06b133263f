/* SPDX-License-Identifier: Apache-2.0 */
/* Opening Vulkan's loader and asking it for functions. Called by vulkan.c. */
#include "lib/backends/vulkan/vulkan_functions.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PFN_vkGetInstanceProcAddr vulkan_loader(char *reason, size_t bytes)
{
	void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
	PFN_vkGetInstanceProcAddr get;
	void *found = NULL;

	if (library)
		found = dlsym(library, "vkGetInstanceProcAddr");
	memcpy(&get, &found, sizeof get);
	if (!get)
		snprintf(reason, bytes, "there is no libvulkan.so.1");
	return get;
}

/* Of drivers whose calibration is wrong. */
static int may_calibrate(void)
{
	const char *wanted = getenv("BRICK_VULKAN_CALIBRATION");
	return !wanted || strcmp(wanted, "off") != 0;
}

int vulkan_calls_load(struct vulkan_calls *c, VkInstance instance, VkDevice device)
{
	char reason[64];
	PFN_vkGetInstanceProcAddr get = vulkan_loader(reason, sizeof reason);
	PFN_vkGetDeviceProcAddr of_device =
		get ? (PFN_vkGetDeviceProcAddr)get(instance, "vkGetDeviceProcAddr") : NULL;

	if (!of_device)
		return -ENOTSUP;
#define X(name)                                                \
	c->name = (PFN_vk##name)of_device(device, "vk" #name); \
	if (!c->name)                                          \
		return -ENOTSUP;
	VULKAN_FUNCTIONS(X)
#undef X
#define GET(name) c->name = (PFN_vk##name)get(instance, "vk" #name)
	GET(GetPhysicalDeviceProperties);
	GET(GetPhysicalDeviceQueueFamilyProperties);
#undef GET
	if (may_calibrate())
		c->GetCalibratedTimestampsEXT = (PFN_vkGetCalibratedTimestampsEXT)of_device(
			device, "vkGetCalibratedTimestampsEXT");
	return c->GetPhysicalDeviceProperties && c->GetPhysicalDeviceQueueFamilyProperties
		       ? 0
		       : -ENOTSUP;
}
