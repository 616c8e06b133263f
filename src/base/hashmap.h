/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map from numbers (or handles, addresses) to numbers (or pointers), with open addressing. At
 * most three quarters of the slots are taken; removing a key moves others, and leaves no marker.
 * All zero is an empty map. One thread at a time; looking up changes nothing.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/hash.h"

/* The value of an empty slot, and of a key that is not there. */
#define HASHMAP_NONE UINT64_MAX

struct hashmap_slot {
	uint64_t key;	/* any number; meaningless in an empty slot */
	uint64_t value; /* HASHMAP_NONE: the slot is empty */
};

struct hashmap {
	struct hashmap_slot *slots;
	size_t capacity; /* slots; a power of two, or 0 */
	size_t count;	 /* slots that are taken */
};

/* The map is empty again. */
void hashmap_fini(struct hashmap *map);

/* Remove all keys, keep the memory. */
void hashmap_clear(struct hashmap *map);

/*
 * Set or replace. -ENOMEM: no memory, -EINVAL: the value is HASHMAP_NONE; the map is as before
 * then.
 */
int hashmap_set(struct hashmap *map, uint64_t key, uint64_t value);

/* Remove a key: its value, or HASHMAP_NONE. */
uint64_t hashmap_take(struct hashmap *map, uint64_t key);

/* The slot of a key, or the empty one where it would go. The map must have slots. */
static inline struct hashmap_slot *hashmap_slot(const struct hashmap *map, uint64_t key)
{
	for (size_t i = (size_t)hash_u64(key);; i++) {
		struct hashmap_slot *slot = &map->slots[i & (map->capacity - 1)];
		if (slot->value == HASHMAP_NONE || slot->key == key)
			return slot;
	}
}

/* The value of a key, or HASHMAP_NONE. */
static inline uint64_t hashmap_get(const struct hashmap *map, uint64_t key)
{
	return map->capacity ? hashmap_slot(map, key)->value : HASHMAP_NONE;
}

/* For values that are pointers; NULL: not there. */
static inline int hashmap_set_pointer(struct hashmap *map, uint64_t key, void *value)
{
	return hashmap_set(map, key, (uint64_t)(uintptr_t)value);
}

static inline void *hashmap_pointer(uint64_t value)
{
	return value == HASHMAP_NONE ? NULL : (void *)(uintptr_t)value;
}

/*
 * All taken slots, in no order: for (s = NULL; (s = hashmap_next(map, s));). Keys must not be set
 * or taken meanwhile; values may be changed in place.
 */
struct hashmap_slot *hashmap_next(const struct hashmap *map, const struct hashmap_slot *after);
