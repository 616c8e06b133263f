/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps under one lock (graph_places.h). What is left of graphs that are gone is overwritten,
 * or goes when there is too much of it: then no update is followed until graphs are made anew.
 */
#include "attach/cuda/graph_places.h"

#include <pthread.h>
#include "attach/cuda/nodes.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/scope.h"

enum { MAX_PLACES = 1 << 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hashmap execs;  /* executable graph -> what its copies were told of as */
static struct hashmap counts; /* graph -> nodes */
static struct hashmap nodes;  /* key_of(graph, place) -> id */
static struct hashmap places; /* id -> place in its graph, or in its original's */

static uint64_t key_of(cuda_handle graph, uint64_t place)
{
	return hash_add(hash_u64((uintptr_t)graph), place);
}

static void put(cuda_handle graph, uint64_t place, uint64_t node)
{
	uint64_t count = hashmap_get(&counts, (uintptr_t)graph);

	if (nodes.count >= MAX_PLACES || places.count >= MAX_PLACES) {
		hashmap_clear(&counts);
		hashmap_clear(&nodes);
		hashmap_clear(&places);
		return;
	}
	if (!hashmap_set(&nodes, key_of(graph, place), node) && !hashmap_set(&places, node, place))
		hashmap_set(&counts, (uintptr_t)graph, count == HASHMAP_NONE ? 1 : count + 1);
}

void graph_places_created(cuda_handle graph, uint64_t node)
{
	HOLD(&lock);
	uint64_t count = hashmap_get(&counts, (uintptr_t)graph);
	put(graph, count == HASHMAP_NONE ? 0 : count, node);
}

void graph_places_cloned(cuda_handle exec, uint64_t node, uint64_t original)
{
	HOLD(&lock);
	uint64_t place = hashmap_get(&places, original);
	if (place != HASHMAP_NONE)
		put(exec, place, node);
}

void graph_places_exec(cuda_handle exec, cuda_handle copies)
{
	HOLD(&lock);
	hashmap_set(&execs, (uintptr_t)exec, (uintptr_t)copies); /* no memory: not known */
}

void graph_places_forget(cuda_handle graph)
{
	HOLD(&lock);
	uint64_t copies = hashmap_take(&execs, (uintptr_t)graph);
	hashmap_take(&counts, copies != HASHMAP_NONE ? copies : (uintptr_t)graph);
}

void graph_places_updated(cuda_handle exec, cuda_handle graph)
{
	HOLD(&lock);
	exec = (cuda_handle)(uintptr_t)hashmap_get(&execs, (uintptr_t)exec);
	uint64_t count = hashmap_get(&counts, (uintptr_t)exec);
	if (count == HASHMAP_NONE || count != hashmap_get(&counts, (uintptr_t)graph))
		count = 0;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t to = hashmap_get(&nodes, key_of(exec, i));
		uint64_t from = hashmap_get(&nodes, key_of(graph, i));
		if (to != HASHMAP_NONE && from != HASHMAP_NONE)
			nodes_cloned(to, from);
	}
}
