/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of fixed size that is read without a lock. Keys and values are not 0. Entries are
 * never removed; their values may change. At most 3/4 of the entries are used, so a search always
 * ends. Header only. Reading: any thread; writing: one thread at a time.
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
	uint32_t mask;	/* number of entries, a power of two, less 1 */
	uint32_t count; /* used entries */
};

#define FIXED_MAP(array)                                         \
	{                                                        \
		(array), sizeof(array) / sizeof(*(array)) - 1, 0 \
	}

/* The value; 0: the key is not there. */
static inline uint64_t fixed_map_get(const struct fixed_map *map, uint64_t key)
{
	for (uint64_t i = hash_u64(key);; i++) {
		const struct fixed_map_entry *entry = &map->entries[i & map->mask];
		uint64_t here = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);
		if (here == key || !here)
			return here ? __atomic_load_n(&entry->value, __ATOMIC_RELAXED) : 0;
	}
}

/* Add a key, or change its value. False: there is no room for a new key. */
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
