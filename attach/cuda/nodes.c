/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two maps under one lock (nodes.h). Nodes that are gone are swept out when there are twice as many
 * as after the last sweep, so that memory follows what lives.
 */
#include "attach/cuda/nodes.h"

#include <pthread.h>
#include "base/hashmap.h"
#include "brick/abi/session.h"
#include "brick/registry.h"

enum { FIRST_SWEEP = 1 << 12, MAX_NODES = 3 << 19, NO_BRICK = 0xffff };
enum { KEPT_ROUNDS = 50 }; /* of deliveries, after a node is gone: its records may still come */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hashmap nodes; /* id -> value_of() */
static struct hashmap execs; /* executable graph -> records of a launch, 0: not known */
static size_t sweep_at = FIRST_SWEEP;
static uint32_t round_number = 1, full_round; /* in which there were too many */
static uint64_t lost;

_Static_assert((int)BRICK_MAX_BRICKS <= (int)NO_BRICK, "a brick fits 16 bits");

/* In the upper half the round in which it was destroyed; 0: it is there. */
static uint64_t value_of(uint32_t brick, int32_t layer)
{
	uint32_t fitting = (uint32_t)(layer < INT16_MIN || layer > INT16_MAX ? -1 : layer);

	return (fitting & 0xffff) << 16 | (brick < NO_BRICK ? brick : NO_BRICK);
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
	if (nodes.count >= sweep_at && full_round != round_number) {
		sweep();
		sweep_at = 2 * nodes.count < FIRST_SWEEP ? FIRST_SWEEP : 2 * nodes.count;
		if (nodes.count >= MAX_NODES)
			full_round = round_number; /* a sweep costs a pass over all: once a round */
	}
	if (nodes.count >= MAX_NODES || hashmap_set(&nodes, id, value))
		lost++;
}

void nodes_created(uint64_t node, uint32_t brick, int32_t layer)
{
	pthread_mutex_lock(&lock);
	put(node, value_of(brick, layer));
	pthread_mutex_unlock(&lock);
}

void nodes_cloned(uint64_t node, uint64_t original)
{
	pthread_mutex_lock(&lock);
	uint64_t from = hashmap_get(&nodes, original);
	if (from != HASHMAP_NONE)
		put(node, from & UINT32_MAX);
	pthread_mutex_unlock(&lock);
}

void nodes_destroyed(uint64_t id)
{
	pthread_mutex_lock(&lock);
	uint64_t value = hashmap_get(&nodes, id);
	if (value != HASHMAP_NONE)
		hashmap_set(&nodes, id, (uint64_t)round_number << 32 | (value & UINT32_MAX));
	pthread_mutex_unlock(&lock);
}

int nodes_find(uint64_t id, uint32_t *brick, int32_t *layer)
{
	pthread_mutex_lock(&lock);
	uint64_t value = hashmap_get(&nodes, id);
	pthread_mutex_unlock(&lock);
	if (value == HASHMAP_NONE)
		return 0;
	*brick = (uint16_t)value == NO_BRICK ? BRICK_NONE : (uint16_t)value;
	*layer = (int16_t)(value >> 16);
	return 1;
}

void nodes_next_round(void)
{
	pthread_mutex_lock(&lock);
	round_number += round_number < UINT32_MAX - 1;
	pthread_mutex_unlock(&lock);
}

uint64_t nodes_lost(void)
{
	return lost;
}

void nodes_exec(cuda_handle exec, uint32_t records)
{
	pthread_mutex_lock(&lock);
	if (hashmap_set(&execs, (uintptr_t)exec, records)) /* not known, then */
		hashmap_take(&execs, (uintptr_t)exec);
	pthread_mutex_unlock(&lock);
}

void nodes_exec_gone(cuda_handle exec)
{
	pthread_mutex_lock(&lock);
	hashmap_take(&execs, (uintptr_t)exec);
	pthread_mutex_unlock(&lock);
}

uint32_t nodes_exec_records(cuda_handle exec)
{
	pthread_mutex_lock(&lock);
	uint64_t records = hashmap_get(&execs, (uintptr_t)exec);
	pthread_mutex_unlock(&lock);
	return records == HASHMAP_NONE ? 0 : (uint32_t)records;
}
