/* SPDX-License-Identifier: Apache-2.0 */
/* Instances and devices are found by their dispatch pointers, which their children share. */
#include "attach/vulkan/vulkan_device.h"

#include <errno.h>
#include "base/scope.h"

int map_set(struct map *map, uint64_t key, void *value)
{
	if (!key)
		return -EINVAL;
	pthread_rwlock_wrlock(&map->lock);
	int error = hashmap_set_pointer(&map->entries, key, value);
	pthread_rwlock_unlock(&map->lock);
	return error;
}

void *map_get(struct map *map, uint64_t key)
{
	pthread_rwlock_rdlock(&map->lock);
	void *value = hashmap_pointer(hashmap_get(&map->entries, key));
	pthread_rwlock_unlock(&map->lock);
	return value;
}

void *map_take(struct map *map, uint64_t key)
{
	pthread_rwlock_wrlock(&map->lock);
	void *value = hashmap_pointer(hashmap_take(&map->entries, key));
	pthread_rwlock_unlock(&map->lock);
	return value;
}

void *map_take_match(
	struct map *map, int (*match)(const void *value, const void *context), const void *context)
{
	const struct hashmap_slot *slot = NULL;
	void *value = NULL;

	pthread_rwlock_wrlock(&map->lock);
	while ((slot = hashmap_next(&map->entries, slot)))
		if (match(hashmap_pointer(slot->value), context)) {
			value = hashmap_pointer(hashmap_take(&map->entries, slot->key));
			break;
		}
	pthread_rwlock_unlock(&map->lock);
	return value;
}

static struct map instances = MAP_INITIALIZER, vulkan_device_map = MAP_INITIALIZER;

static uint64_t vulkan_device_key_of(const void *handle)
{
	return handle ? *(const uint64_t *)handle : 0;
}

struct vulkan_device *vulkan_device_of(const void *handle)
{
	return map_get(&vulkan_device_map, vulkan_device_key_of(handle));
}

struct vulkan_instance *vulkan_instance_of(const void *handle)
{
	return map_get(&instances, vulkan_device_key_of(handle));
}

int vulkan_instance_add(struct vulkan_instance *instance)
{
	return map_set(&instances, vulkan_device_key_of(instance->handle), instance);
}

struct vulkan_instance *vulkan_instance_take(VkInstance handle)
{
	return map_take(&instances, vulkan_device_key_of(handle));
}

int vulkan_device_add(struct vulkan_device *device)
{
	return map_set(&vulkan_device_map, vulkan_device_key_of(device->handle), device);
}

void vulkan_device_take(const struct vulkan_device *device)
{
	map_take(&vulkan_device_map, vulkan_device_key_of(device->handle));
}

void vulkan_devices_each(void (*visit)(void *device))
{
	const struct hashmap_slot *slot = NULL;

	pthread_rwlock_rdlock(&vulkan_device_map.lock);
	while ((slot = hashmap_next(&vulkan_device_map.entries, slot)))
		visit(hashmap_pointer(slot->value));
	pthread_rwlock_unlock(&vulkan_device_map.lock);
}

struct vulkan_queue *queue_find(struct vulkan_device *d, VkQueue handle)
{
	struct vulkan_queue *queue;

	HOLD(&d->lock);
	for (queue = d->queues; queue && queue->handle != handle;)
		queue = queue->next;
	return queue;
}
