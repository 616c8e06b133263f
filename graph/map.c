/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table from numbers to numbers: linear probing, at most two thirds full, never shrinks.
 * Used by all of an execution graph that must find something again.
 */
#include <errno.h>
#include "graph/graph.h"

static uint64_t mix(uint64_t key)
{
	key ^= key >> 33;
	key *= 0xff51afd7ed558ccdull;
	key ^= key >> 33;
	key *= 0xc4ceb9fe1a85ec53ull;
	return key ^ key >> 33;
}

/* The slot that holds the key, or the empty one where it would go. */
static struct brick__map_slot *slot_of(const struct brick__map *map, uint64_t key)
{
	for (uint64_t i = mix(key);; i++) {
		struct brick__map_slot *slot = &map->slots[i & (map->capacity - 1)];
		if (slot->value == BRICK__NONE || slot->key == key)
			return slot;
	}
}

uint32_t brick__map_get(const struct brick__map *map, uint64_t key)
{
	return map->capacity ? slot_of(map, key)->value : BRICK__NONE;
}

static int grow(struct brick__map *map)
{
	struct brick__map larger = {.capacity = map->capacity ? 2 * map->capacity : 64};

	if (!larger.capacity)
		return -ENOMEM;
	larger.slots = malloc(larger.capacity * sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < larger.capacity; i++)
		larger.slots[i].value = BRICK__NONE;
	for (uint32_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value != BRICK__NONE)
			*slot_of(&larger, map->slots[i].key) = map->slots[i];
	larger.count = map->count;
	free(map->slots);
	*map = larger;
	return 0;
}

int brick__map_set(struct brick__map *map, uint64_t key, uint32_t value)
{
	struct brick__map_slot *slot = map->capacity ? slot_of(map, key) : NULL;

	if (slot && slot->value != BRICK__NONE) {
		slot->value = value;
		return 0;
	}
	if ((uint64_t)map->count * 3 >= (uint64_t)map->capacity * 2 && grow(map) < 0)
		return -ENOMEM;
	*slot_of(map, key) = (struct brick__map_slot){key, value};
	map->count++;
	return 0;
}

void brick__map_fini(struct brick__map *map)
{
	free(map->slots);
	*map = (struct brick__map){0};
}
