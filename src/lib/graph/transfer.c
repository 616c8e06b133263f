/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers that go back and forth. Each transfer looks for the nearest earlier one of the same
 * size the other way that has no partner yet, in lists that are found by hash.
 */
#include <errno.h>
#include <string.h>
#include "base/scope.h"
#include "brick/graph_path.h"
#include "base/sized.h"
#include "base/fnv.h"
#include "lib/graph/graph_core.h"

/* One list of waiting transfers: from where to where, how much. */
struct route {
	uint64_t bytes;
	uint32_t source, target;
	uint32_t newest; /* place among the transfers, or BRICK__NONE */
	uint32_t next;	 /* route with the same key, or BRICK__NONE */
};

struct routes {
	struct hashmap index;
	ARRAY(struct route) list;
};

static uint64_t key_of(uint32_t source, uint32_t target, uint64_t bytes)
{
	uint64_t parts[] = {(uint64_t)source << 32 | target, bytes};
	return fnv1a(parts, sizeof(parts));
}

static struct route *find(struct routes *routes, uint32_t source, uint32_t target, uint64_t bytes)
{
	uint32_t i = brick__map_get(&routes->index, key_of(source, target, bytes));

	for (; i != BRICK__NONE; i = routes->list.items[i].next) {
		struct route *r = &routes->list.items[i];
		if (r->source == source && r->target == target && r->bytes == bytes)
			return r;
	}
	return NULL;
}

static struct route *find_or_add(
	struct routes *routes, uint32_t source, uint32_t target, uint64_t bytes)
{
	struct route *known = find(routes, source, target, bytes);
	uint64_t key = key_of(source, target, bytes);

	if (known)
		return known;
	uint32_t next = brick__map_get(&routes->index, key);
	if (array_push(&routes->list, (struct route){bytes, source, target, BRICK__NONE, next}) ||
		hashmap_set(&routes->index, key, routes->list.count - 1))
		return NULL;
	return &routes->list.items[routes->list.count - 1];
}

/* A transfer whose route and size are known; others cannot be told apart. */
static int is_usable(const struct brick__node *node, const struct brick__transfer *transfer)
{
	return (node->flags & BRICK_NODE_HAS_BYTES) && transfer->source != BRICK__NONE &&
	       transfer->target != BRICK__NONE && transfer->source != transfer->target;
}

static uint64_t time_of(const struct brick__node *node)
{
	return node->flags & BRICK_NODE_HAS_TIME ? node->time_ns : 0;
}

/* Into a program's array, whose first element says how large each is. */
static void put(
	struct brick_graph_ping_pong *out, size_t at, const struct brick_graph_ping_pong *one)
{
	struct brick_graph_ping_pong *to = sized_at(out, at);

	to->size = out->size;
	sized_write(to, sizeof *one, one);
}

static int match(const struct brick_graph *graph, struct routes *routes, uint32_t *waiting,
	struct brick_graph_ping_pong *out, size_t capacity, uint64_t *bytes)
{
	const uint32_t *nodes = graph->of_kind[BRICK_NODE_TRANSFER].items;
	size_t pairs = 0;

	for (uint32_t i = 0; i < graph->transfers.count; i++) {
		const struct brick__transfer *t = &graph->transfers.items[i];
		const struct brick__node *node = &graph->nodes.items[nodes[i]];
		if (!is_usable(node, t))
			continue;
		struct route *there = find(routes, t->target, t->source, node->bytes);
		if (!there || there->newest == BRICK__NONE) {
			struct route *own = find_or_add(routes, t->source, t->target, node->bytes);
			if (!own)
				return -ENOMEM;
			waiting[i] = own->newest;
			own->newest = i;
			continue;
		}
		uint32_t first = nodes[there->newest];
		there->newest = waiting[there->newest];
		*bytes += 2 * node->bytes;
		if (pairs < capacity)
			put(out, pairs,
				&(struct brick_graph_ping_pong){.there = first,
					.back = nodes[i],
					.bytes = node->bytes,
					.time_ns = time_of(&graph->nodes.items[first]) +
						   time_of(node)});
		pairs++;
	}
	return (int)pairs;
}

int brick__graph_ping_pongs(const struct brick_graph *graph, struct brick_graph_ping_pong *out,
	size_t capacity, uint64_t *bytes)
{
	struct routes routes = {0};
	size_t n = graph->transfers.count;
	SCOPED uint32_t *waiting =
		malloc((n + 1) * sizeof(*waiting)); /* the one that waited before */

	*bytes = 0;
	int pairs = waiting ? match(graph, &routes, waiting, out, capacity, bytes) : -ENOMEM;
	array_fini(&routes.list);
	hashmap_fini(&routes.index);
	return pairs;
}

int brick_graph_ping_pongs(
	struct brick_graph *graph, struct brick_graph_ping_pong *out, size_t capacity)
{
	uint64_t bytes;

	if (capacity && !sized_bytes(out))
		return -EINVAL;
	return brick__graph_ping_pongs(graph, out, capacity, &bytes);
}
