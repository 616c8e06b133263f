/* SPDX-License-Identifier: Apache-2.0 */
/* Called by all of the Vulkan layer (map.h). */
#include "attach/vulkan/vulkan_map.h"

#include <errno.h>

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

void map_each(struct map *map, void (*visit)(void *value))
{
	const struct hashmap_slot *slot = NULL;

	pthread_rwlock_rdlock(&map->lock);
	while ((slot = hashmap_next(&map->entries, slot)))
		visit(hashmap_pointer(slot->value));
	pthread_rwlock_unlock(&map->lock);
}
