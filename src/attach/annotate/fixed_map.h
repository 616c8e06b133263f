/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of bounded size that is read without a lock: from keys to values, neither of them 0. An
 * entry stays, or is put in anew with another value. Header only. Reading: any thread; putting in:
 * one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/hash.h"

struct fixed_map_entry {
	uint64_t key, value;
};

struct fixed_map {
	struct fixed_map_entry *entries;
	uint32_t mask; /* entries - 1: a power of two */
	uint32_t count;
};

#define FIXED_MAP(array)                                         \
	{                                                        \
		(array), sizeof(array) / sizeof(*(array)) - 1, 0 \
	}

/* 0: it is not in there. */
static inline uint64_t fixed_map_get(const struct fixed_map *map, uint64_t key)
{
	for (uint64_t i = hash_u64(key);; i++) {
		const struct fixed_map_entry *entry = &map->entries[i & map->mask];
		uint64_t here = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);
		if (here == key || !here)
			return here ? __atomic_load_n(&entry->value, __ATOMIC_RELAXED) : 0;
	}
}

/* False: there is no room. */
static inline bool fixed_map_put(struct fixed_map *map, uint64_t key, uint64_t value)
{
	uint64_t i = hash_u64(key);

	while (map->entries[i & map->mask].key && map->entries[i & map->mask].key != key)
		i++;
	struct fixed_map_entry *entry = &map->entries[i & map->mask];
	if (!entry->key && map->count >= map->mask / 4 * 3)
		return false;
	map->count += !entry->key;
	__atomic_store_n(&entry->value, value, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->key, key, __ATOMIC_RELEASE);
	return true;
}
