/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map from handles to what the layer knows of them, behind a lock. Any thread: looking up takes a
 * read lock. Zero-initialised is empty.
 */
#pragma once

#include <pthread.h>
#include "base/hashmap.h"

struct map {
	pthread_rwlock_t lock;
	struct hashmap entries;
};

#define MAP_INITIALIZER                            \
	{                                          \
		.lock = PTHREAD_RWLOCK_INITIALIZER \
	}

/* Set or replace; -EINVAL: key 0, -ENOMEM. */
int map_set(struct map *map, uint64_t key, void *value);

/* NULL: not there. */
void *map_get(struct map *map, uint64_t key);

/* Remove; what was there, or NULL. */
void *map_take(struct map *map, uint64_t key);

/* Remove an entry that match() says 1 of; what was there, or NULL. */
void *map_take_match(
	struct map *map, int (*match)(const void *value, const void *context), const void *context);

/* Call visit() with each value; it must not change the map. */
void map_each(struct map *map, void (*visit)(void *value));
