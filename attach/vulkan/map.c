/* SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing; grows at two thirds. Called by all of the Vulkan layer. */
#include "attach/vulkan/map.h"

#include <errno.h>
#include <stdlib.h>

enum { FREE = 0, DELETED = 1, MIN_CAPACITY = 64 };

static size_t place_of(const struct map *map, uint64_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15ull) >> 20) & (map->capacity - 1);
}

/* The entry of a key, or NULL. */
static struct map_entry *find(struct map *map, uint64_t key)
{
	if (!map->capacity)
		return NULL;
	for (size_t i = place_of(map, key);; i = (i + 1) & (map->capacity - 1)) {
		if (map->entries[i].key == key)
			return &map->entries[i];
		if (map->entries[i].key == FREE)
			return NULL;
	}
}

static void put(struct map *map, uint64_t key, void *value)
{
	size_t i = place_of(map, key);

	while (map->entries[i].key > DELETED)
		i = (i + 1) & (map->capacity - 1);
	map->used += map->entries[i].key == FREE;
	map->entries[i] = (struct map_entry){key, value};
}

static int grow(struct map *map)
{
	struct map old = *map;
	size_t live = 0;

	for (size_t i = 0; i < old.capacity; i++)
		live += old.entries[i].key > DELETED;
	size_t capacity = MIN_CAPACITY;
	while (capacity < 3 * (live + 1))
		capacity *= 2;
	struct map_entry *entries = calloc(capacity, sizeof *entries);
	if (!entries)
		return -ENOMEM;
	map->entries = entries;
	map->capacity = capacity;
	map->used = 0;
	for (size_t i = 0; i < old.capacity; i++)
		if (old.entries[i].key > DELETED)
			put(map, old.entries[i].key, old.entries[i].value);
	free(old.entries);
	return 0;
}

int map_set(struct map *map, uint64_t key, void *value)
{
	int error = 0;

	if (key <= DELETED)
		return -EINVAL;
	pthread_rwlock_wrlock(&map->lock);
	struct map_entry *entry = find(map, key);
	if (entry)
		entry->value = value;
	else if (3 * (map->used + 1) > 2 * map->capacity)
		error = grow(map);
	if (!entry && !error)
		put(map, key, value);
	pthread_rwlock_unlock(&map->lock);
	return error;
}

void *map_get(struct map *map, uint64_t key)
{
	if (key <= DELETED)
		return NULL;
	pthread_rwlock_rdlock(&map->lock);
	struct map_entry *entry = find(map, key);
	void *value = entry ? entry->value : NULL;
	pthread_rwlock_unlock(&map->lock);
	return value;
}

static void *take(struct map_entry *entry)
{
	void *value = entry->value;

	*entry = (struct map_entry){DELETED, NULL};
	return value;
}

void *map_take(struct map *map, uint64_t key)
{
	if (key <= DELETED)
		return NULL;
	pthread_rwlock_wrlock(&map->lock);
	struct map_entry *entry = find(map, key);
	void *value = entry ? take(entry) : NULL;
	pthread_rwlock_unlock(&map->lock);
	return value;
}

void *map_take_match(
	struct map *map, int (*match)(const void *value, const void *context), const void *context)
{
	void *value = NULL;

	pthread_rwlock_wrlock(&map->lock);
	for (size_t i = 0; i < map->capacity && !value; i++)
		if (map->entries[i].key > DELETED && match(map->entries[i].value, context))
			value = take(&map->entries[i]);
	pthread_rwlock_unlock(&map->lock);
	return value;
}

void map_each(struct map *map, void (*visit)(void *value))
{
	pthread_rwlock_rdlock(&map->lock);
	for (size_t i = 0; i < map->capacity; i++)
		if (map->entries[i].key > DELETED)
			visit(map->entries[i].value);
	pthread_rwlock_unlock(&map->lock);
}
