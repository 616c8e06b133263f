/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables with open addressing under one lock (nodes.h). The one of nodes grows up to a bound;
 * the one of executable graphs has a fixed size and forgets what it has no room for.
 */
#include "attach/cuda/nodes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PLACES = 1 << 12, MAX_PLACES = 1 << 21, EXECS = 1 << 12 };
enum { KEPT_ROUNDS = 50 }; /* of deliveries, after a node is gone: its records may still come */

struct node {
	uint64_t id; /* 0: free */
	uint32_t brick;
	int32_t layer;
	uint32_t gone; /* the round in which it was destroyed; 0: it is there */
};

struct exec {
	cuda_handle handle;
	uint32_t records;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node *nodes;
static uint32_t places, used;		      /* used: places that were ever taken */
static uint32_t round_number = 1, full_round; /* in which there was no room */
static uint64_t lost;
static struct exec execs[EXECS];

static uint32_t spread(uint64_t id)
{
	return (uint32_t)((id * 0x9e3779b97f4a7c15ull) >> 32);
}

/* The place of an id, or the free one where it would go. */
static struct node *place(struct node *table, uint32_t size, uint64_t id)
{
	uint32_t i = spread(id) & (size - 1);

	while (table[i].id && table[i].id != id)
		i = (i + 1) & (size - 1);
	return &table[i];
}

static int is_kept(const struct node *node)
{
	return node->id && (!node->gone || round_number - node->gone <= KEPT_ROUNDS);
}

/* A table without those that are long gone, large enough for as many again. */
static int rebuild(void)
{
	uint32_t live = 0, size = FIRST_PLACES;

	for (uint32_t i = 0; i < places; i++)
		live += (uint32_t)is_kept(&nodes[i]);
	while (size < live * 4 && size < MAX_PLACES)
		size *= 2;
	if (live * 4 > size * 3)
		return 0;
	struct node *table = calloc(size, sizeof *table);
	if (!table)
		return 0;
	for (uint32_t i = 0; i < places; i++)
		if (is_kept(&nodes[i]))
			*place(table, size, nodes[i].id) = nodes[i];
	free(nodes);
	nodes = table;
	places = size;
	used = live;
	return 1;
}

static void put(uint64_t id, uint32_t brick, int32_t layer)
{
	if (!id)
		return;
	if (!places || used >= places / 4 * 3) {
		/* looking for room costs a pass over all: once a round */
		if (full_round == round_number || !rebuild()) {
			full_round = round_number;
			lost++;
			return;
		}
	}
	struct node *node = place(nodes, places, id);
	used += !node->id;
	*node = (struct node){id, brick, layer, 0};
}

static struct node *find(uint64_t id)
{
	struct node *node = places && id ? place(nodes, places, id) : NULL;
	return node && node->id ? node : NULL;
}

void nodes_created(uint64_t node, uint32_t brick, int32_t layer)
{
	pthread_mutex_lock(&lock);
	put(node, brick, layer);
	pthread_mutex_unlock(&lock);
}

void nodes_cloned(uint64_t node, uint64_t original)
{
	pthread_mutex_lock(&lock);
	const struct node *from = find(original);
	if (from)
		put(node, from->brick, from->layer);
	pthread_mutex_unlock(&lock);
}

void nodes_destroyed(uint64_t id)
{
	pthread_mutex_lock(&lock);
	struct node *node = find(id);
	if (node)
		node->gone = round_number;
	pthread_mutex_unlock(&lock);
}

int nodes_find(uint64_t id, uint32_t *brick, int32_t *layer)
{
	pthread_mutex_lock(&lock);
	const struct node *node = find(id);
	if (node) {
		*brick = node->brick;
		*layer = node->layer;
	}
	pthread_mutex_unlock(&lock);
	return node != NULL;
}

void nodes_next_round(void)
{
	pthread_mutex_lock(&lock);
	round_number += round_number < UINT32_MAX;
	pthread_mutex_unlock(&lock);
}

uint64_t nodes_lost(void)
{
	return lost;
}

void nodes_exec(cuda_handle exec, uint32_t records)
{
	struct exec *e = &execs[spread((uintptr_t)exec) % EXECS];

	pthread_mutex_lock(&lock);
	if (records || e->handle == exec)
		*e = (struct exec){exec, records};
	pthread_mutex_unlock(&lock);
}

uint32_t nodes_exec_records(cuda_handle exec)
{
	const struct exec *e = &execs[spread((uintptr_t)exec) % EXECS];

	pthread_mutex_lock(&lock);
	uint32_t records = e->handle == exec ? e->records : 0;
	pthread_mutex_unlock(&lock);
	return records;
}
