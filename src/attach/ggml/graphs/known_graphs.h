/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that have been computed before, each with the sites of its nodes, in the order in which
 * they are executed. An engine builds its graph anew for every batch that differs from the last
 * one, out of tensors at the same addresses. When all of them have the shapes, operations and
 * sources that they had once before, it is that graph again, and nothing has to be looked up. All
 * threads that work for a graph share it. Any thread; the functions of a node_thread: its owner.
 *
 * A graph's tensors lie in some thousand cache lines, so recognising a graph costs as much as it
 * reads of them. Whoever does not look at the nodes again needs the signature of all of them. Where
 * each node is compared when it is executed (node_key(), node_shape()), it is enough to read before
 * what that comparison does not see: one line a node.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include "attach/ggml/ggml_engine.h"
#include "base/hash.h"

/* A node, alone or as the first of a fused pair. */
struct known_node {
	const void *node;
	uint64_t shape;	  /* node_shape(); what the hot path compares */
	uint32_t site[2]; /* the whole of it, and a thread's part; 0: not looked up yet */
	uint32_t next;	  /* the one that was wanted after this one, the last time */
	uint16_t brick;
	int16_t layer; /* before it is looked up: where it lies if no name says so */
};

static inline uint64_t known_rotate(uint64_t value, int bits)
{
	return value << bits | value >> (64 - bits);
}

/* Its source 0 or 1. */
static inline uint64_t node_source(const struct shape_offsets *at, const void *node, uint32_t index)
{
	uint64_t source;

	memcpy(&source, (const char *)node + at->source + index * sizeof source, sizeof source);
	return source;
}

/*
 * Shape, type, operation and first sources in one word, and whether it stands for a fused pair. Not
 * a good hash: it only has to tell the few nodes apart that come to be at one address.
 */
static inline __attribute__((always_inline)) uint64_t node_shape(
	const struct shape_offsets *at, const void *node, int fused)
{
	const int64_t *ne = tensor_field(node, at->ne);
	uint32_t kind =
		(uint32_t)tensor_int32(node, at->op) << 8 ^ (uint32_t)tensor_int32(node, at->type);
	uint64_t shape = (uint64_t)ne[3];
	shape = known_rotate(shape, 14) ^ (uint64_t)ne[2];
	shape = known_rotate(shape, 17) ^ (uint64_t)ne[1];
	shape = known_rotate(shape, 20) ^ (uint64_t)ne[0];
	shape ^= (uint64_t)kind << 45 | (uint64_t)fused << 63;
	return shape + (node_source(at, node, 0) + known_rotate(node_source(at, node, 1), 29)) *
			       HASH_GOLDEN;
}

/* A graph as its engine shows it. */
struct shown_graph {
	const struct engine *engine;
	const void *graph;
	const void *const *nodes; /* NULL: ask for each */
	uint32_t count;
};

/* 0: it has no nodes, or too many. */
int shown_graph_read(struct shown_graph *shown, const struct engine *engine, const void *graph);

/* Places of nodes whose shape no hook sees. */
struct unseen_nodes {
	uint32_t count;
	uint32_t index[];
};

/* To be freed. NULL: no memory, or the engine does not show as much. */
struct unseen_nodes *unseen_nodes(const struct shown_graph *shown);

struct masks;
struct node_plan;
struct node_thread;

struct known_graph {
	struct known_graph *next;
	const struct engine *engine;
	const void *graph; /* where it was met the last time, in which generation of graphs */
	uint32_t generation;
	uint32_t shown;		     /* nodes that the engine shows */
	uint64_t signature;	     /* of all nodes */
	uint64_t outline, details;   /* of a few nodes; of those below */
	struct unseen_nodes *unseen; /* NULL: only the signature tells which graph it is */
	uint8_t is_ambiguous;	     /* others have its outline and details */
	uint8_t is_matched_quickly;  /* the last time, by outline and details */
	uint32_t count;
	uint32_t users;		      /* that are computing it: it is not forgotten meanwhile */
	struct masks *masks;	      /* NULL: none */
	struct node_plan *plan;	      /* NULL: not computed by one thread yet */
	struct device_node *launched; /* [count], once a device has computed it (device_nodes.h) */

	/* Behind the last one, nodes[count] is before the first, too; it is never a match. */
	struct known_node nodes[];
};

/*
 * The graph that is about to be computed, looked up if it is not known, and held until
 * known_graph_release(). compares_nodes: whoever executes it compares each node with what is known
 * of it, so that much need not be compared here. *looked: its nodes had to be read. NULL: this
 * engine does not show its graphs, or there is no memory.
 */
struct known_graph *known_graph_hold(
	const struct engine *engine, const void *graph, int compares_nodes, int *looked);

/*
 * The same graph, or, where the engine has put its nodes into another order since, another one,
 * held as well. NULL: no memory.
 */
struct known_graph *known_graph_again(struct known_graph *known, const void *graph);
void known_graph_release(struct known_graph *graph);

/* The graph that the thread is to work for, from the node at `index` on; NULL: none is known. */
void node_sites_of(struct node_thread *t, struct known_graph *graph, uint32_t index);

/* The same, by the node that the thread is about to begin: a graph that is held and has it. */
void node_sites_join(struct node_thread *t, const void *node);

/* The site of a node that is not where it was expected; 0: none, see brick and layer. */
uint32_t node_site_slow(struct node_thread *t, const void *node, const void *mul, int part);

extern pthread_mutex_t known_graphs_mutex; /* held over forks */
