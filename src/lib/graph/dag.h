/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directed graph of activities with durations: sorting it, the earliest and latest times of all
 * activities, one longest chain. Linear in activities and edges, without recursion. Used for graphs
 * that engines build (lib/) and for those of recordings (analysis/). One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct brick__dag {
	uint32_t count;
	uint32_t *first;  /* [count + 1]: where an activity's part of `before` begins */
	uint32_t *before; /* the activities that must have ended, by edge, in the order given */
	uint32_t *order;  /* every activity after all that is before it; NULL: not sorted */
};

/* An edge: `to` begins when `from` has ended. */
struct brick__dag_edge {
	uint32_t from, to;
};

/* Makes a graph. Both ends of every edge must be below count. 0. -ENOMEM: *dag is then empty. */
int brick__dag_init(struct brick__dag *dag, uint32_t count, const struct brick__dag_edge *edges,
	size_t edge_count);
void brick__dag_fini(struct brick__dag *dag);

/*
 * Sorts the activities; the functions below need it. 0. BRICK_ECYCLE: *cycle, which the caller
 * frees, holds *cycle_count activities; an edge leads from each to the next, and from the last to
 * the first. -ENOMEM.
 */
int brick__dag_sort(struct brick__dag *dag, uint32_t **cycle, uint32_t *cycle_count);

/*
 * Computes the earliest finish of every activity, [count], in the unit of `duration`; returns the
 * largest. Sums stop at UINT64_MAX.
 */
uint64_t brick__dag_forward(
	const struct brick__dag *dag, const uint64_t *duration, uint64_t *finish);

/*
 * Computes the latest finish of every activity, [count], with which all after it still end by
 * `deadline`. end BRICK__DAG_ALL: every activity that no other waits for ends by the deadline. Else
 * only activity `end` does; activities that do not lead to it get UINT64_MAX.
 */
#define BRICK__DAG_ALL UINT32_MAX
void brick__dag_backward(const struct brick__dag *dag, const uint64_t *duration, uint64_t deadline,
	uint32_t end, uint64_t *latest);

/*
 * Writes the chain that decided when `last` could begin, and `last` itself, into path [count];
 * returns its length. Of equals before an activity it takes the one whose edge was given first.
 */
size_t brick__dag_path(
	const struct brick__dag *dag, const uint64_t *finish, uint32_t last, uint32_t *path);
