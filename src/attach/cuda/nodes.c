/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two maps under one lock (nodes.h). Nodes that are gone are swept out when there are twice as many
 * as after the last sweep, so that memory follows what lives.
 */
#include "attach/cuda/nodes.h"

#include <pthread.h>
#include "base/array.h"
#include "base/hash.h"
#include "base/hashmap.h"
#include "base/scope.h"
#include "brick/abi/session.h"
#include "brick/registry.h"

enum { FIRST_SWEEP = 1 << 12, MAX_NODES = 3 << 19 };
enum { KEPT_ROUNDS = 50 }; /* of deliveries, after a node is gone: its records may still come */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hashmap nodes; /* id -> value_of() */
static struct hashmap execs; /* executable graph -> records of a launch, 0: not known */
static size_t sweep_at = FIRST_SWEEP;
static uint32_t round_number = 1, full_round; /* in which there were too many */
static uint64_t lost;

/* What nodes were made for, each once: there are as many as there are nodes in an engine's graphs.
 */
struct parent {
	uint32_t brick;
	int32_t layer;
	const struct brick_launch_owner *work;
};
static ARRAY(struct parent) parents;
static struct hashmap parent_index; /* hash of it -> its place */

/* A node's value; in the upper half the round in which it was destroyed, 0: it is there. */
static uint64_t value_of(uint32_t brick, int32_t layer, const struct brick_launch_owner *work)
{
	const struct parent parent = {brick, layer, work};
	uint64_t key =
		hash_add(hash_add(hash_u64((uintptr_t)work), brick), (uint64_t)(int64_t)layer);
	uint64_t place = hashmap_get(&parent_index, key);

	if (place != HASHMAP_NONE)
		return place;
	if (array_push(&parents, parent))
		return HASHMAP_NONE;
	if (hashmap_set(&parent_index, key, parents.count - 1))
		parents.count--;
	return hashmap_get(&parent_index, key);
}

static int is_kept(uint64_t value)
{
	uint32_t gone = (uint32_t)(value >> 32);
	return !gone || round_number - gone <= KEPT_ROUNDS;
}

/* Without those that are long gone. No memory: as before. */
static void sweep(void)
{
	struct hashmap kept = {0};

	for (const struct hashmap_slot *s = NULL; (s = hashmap_next(&nodes, s));)
		if (is_kept(s->value) && hashmap_set(&kept, s->key, s->value)) {
			hashmap_fini(&kept);
			return;
		}
	hashmap_fini(&nodes);
	nodes = kept;
}

static void put(uint64_t id, uint64_t value)
{
	if (!id)
		return;
	if (value == HASHMAP_NONE) {
		lost++;
		return;
	}
	if (nodes.count >= sweep_at && full_round != round_number) {
		sweep();
		sweep_at = 2 * nodes.count < FIRST_SWEEP ? FIRST_SWEEP : 2 * nodes.count;
		if (nodes.count >= MAX_NODES)
			full_round = round_number; /* a sweep costs a pass over all: once a round */
	}
	if (nodes.count >= MAX_NODES || hashmap_set(&nodes, id, value))
		lost++;
}

void nodes_created(
	uint64_t node, uint32_t brick, int32_t layer, const struct brick_launch_owner *work)
{
	HOLD(&lock);
	put(node, value_of(brick, layer, work));
}

void nodes_cloned(uint64_t node, uint64_t original)
{
	HOLD(&lock);
	uint64_t from = hashmap_get(&nodes, original);
	if (from != HASHMAP_NONE)
		put(node, from & UINT32_MAX);
}

void nodes_destroyed(uint64_t id)
{
	HOLD(&lock);
	uint64_t value = hashmap_get(&nodes, id);
	if (value != HASHMAP_NONE)
		hashmap_set(&nodes, id, (uint64_t)round_number << 32 | (value & UINT32_MAX));
}

int nodes_find(uint64_t id, uint32_t *brick, int32_t *layer, const struct brick_launch_owner **work)
{
	HOLD(&lock);
	uint64_t value = hashmap_get(&nodes, id);
	if (value != HASHMAP_NONE) {
		const struct parent *parent = &parents.items[(uint32_t)value];
		*brick = parent->brick;
		*layer = parent->layer;
		*work = parent->work;
	}
	return value != HASHMAP_NONE;
}

void nodes_next_round(void)
{
	HOLD(&lock);
	round_number += round_number < UINT32_MAX - 1;
}

uint64_t nodes_lost(void)
{
	return lost;
}

void nodes_exec(cuda_handle exec, uint32_t records)
{
	HOLD(&lock);
	if (hashmap_set(&execs, (uintptr_t)exec, records)) /* not known, then */
		hashmap_take(&execs, (uintptr_t)exec);
}

void nodes_exec_gone(cuda_handle exec)
{
	HOLD(&lock);
	hashmap_take(&execs, (uintptr_t)exec);
}

uint32_t nodes_exec_records(cuda_handle exec)
{
	HOLD(&lock);
	uint64_t records = hashmap_get(&execs, (uintptr_t)exec);
	return records == HASHMAP_NONE ? 0 : (uint32_t)records;
}
