/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear probing; a removed key's followers move up (Knuth, volume 3, 6.4, algorithm R), so that
 * no slot is ever marked as deleted.
 */
#include "base/hashmap.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_SLOTS = 16 };

static void empty(struct hashmap_slot *slots, size_t count)
{
	for (size_t i = 0; i < count; i++)
		slots[i] = (struct hashmap_slot){0, HASHMAP_NONE};
}

void hashmap_fini(struct hashmap *map)
{
	free(map->slots);
	*map = (struct hashmap){0};
}

void hashmap_clear(struct hashmap *map)
{
	empty(map->slots, map->capacity);
	map->count = 0;
}

static int hashmap_grow(struct hashmap *map)
{
	struct hashmap larger = {.capacity = map->capacity ? 2 * map->capacity : FIRST_SLOTS};

	if (map->capacity > SIZE_MAX / 4 / sizeof(*larger.slots))
		return -ENOMEM;
	larger.slots = malloc(larger.capacity * sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	empty(larger.slots, larger.capacity);
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value != HASHMAP_NONE)
			*hashmap_slot(&larger, map->slots[i].key) = map->slots[i];
	larger.count = map->count;
	free(map->slots);
	*map = larger;
	return 0;
}

int hashmap_set(struct hashmap *map, uint64_t key, uint64_t value)
{
	struct hashmap_slot *slot = map->capacity ? hashmap_slot(map, key) : NULL;

	if (value == HASHMAP_NONE)
		return -EINVAL;
	if (slot && slot->value != HASHMAP_NONE) {
		slot->value = value;
		return 0;
	}
	if (map->count >= map->capacity / 4 * 3) {
		int error = hashmap_grow(map);
		if (error)
			return error;
		slot = hashmap_slot(map, key);
	}
	*slot = (struct hashmap_slot){key, value};
	map->count++;
	return 0;
}

/* Moves later slots into the gap if it is nearer to their own place. */
static void close_gap(struct hashmap *map, size_t gap)
{
	size_t mask = map->capacity - 1;

	for (size_t i = (gap + 1) & mask; map->slots[i].value != HASHMAP_NONE; i = (i + 1) & mask) {
		size_t home = (size_t)hash_u64(map->slots[i].key) & mask;
		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		map->slots[gap] = map->slots[i];
		gap = i;
	}
	map->slots[gap].value = HASHMAP_NONE;
}

uint64_t hashmap_take(struct hashmap *map, uint64_t key)
{
	struct hashmap_slot *slot = map->capacity ? hashmap_slot(map, key) : NULL;
	uint64_t value = slot ? slot->value : HASHMAP_NONE;

	if (value != HASHMAP_NONE) {
		close_gap(map, (size_t)(slot - map->slots));
		map->count--;
	}
	return value;
}

struct hashmap_slot *hashmap_next(const struct hashmap *map, const struct hashmap_slot *after)
{
	for (size_t i = after ? (size_t)(after - map->slots) + 1 : 0; i < map->capacity; i++)
		if (map->slots[i].value != HASHMAP_NONE)
			return &map->slots[i];
	return NULL;
}
