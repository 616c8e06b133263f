/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of instances and devices (device.h). */
#include "attach/vulkan/vulkan_device.h"

#include "attach/vulkan/vulkan_map.h"

static struct map instances = MAP_INITIALIZER, devices = MAP_INITIALIZER;

static uint64_t key_of(const void *handle)
{
	return handle ? *(const uint64_t *)handle : 0;
}

struct vulkan_device *vulkan_device_of(const void *handle)
{
	return map_get(&devices, key_of(handle));
}

struct vulkan_instance *vulkan_instance_of(const void *handle)
{
	return map_get(&instances, key_of(handle));
}

int vulkan_instance_add(struct vulkan_instance *instance)
{
	return map_set(&instances, key_of(instance->handle), instance);
}

struct vulkan_instance *vulkan_instance_take(VkInstance handle)
{
	return map_take(&instances, key_of(handle));
}

int vulkan_device_add(struct vulkan_device *device)
{
	return map_set(&devices, key_of(device->handle), device);
}

void vulkan_device_take(const struct vulkan_device *device)
{
	map_take(&devices, key_of(device->handle));
}

void vulkan_devices_each(void (*visit)(void *device))
{
	map_each(&devices, visit);
}
