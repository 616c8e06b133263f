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
	uint32_t *before; /* what must have ended, in the order in which the edges were given */
	uint32_t *order;  /* every activity after all that is before it; NULL: not sorted */
};

/* An edge: `to` begins when `from` has ended. */
struct brick__dag_edge {
	uint32_t from, to;
};

/* Both ends of every edge must be below count. -ENOMEM; *dag is then empty. */
int brick__dag_init(struct brick__dag *dag, uint32_t count, const struct brick__dag_edge *edges,
	size_t edge_count);
void brick__dag_fini(struct brick__dag *dag);

/*
 * Sort. BRICK_ECYCLE: *cycle holds *cycle_count activities, each followed by one that an edge leads
 * to, the last by the first; the caller frees it. -ENOMEM.
 */
int brick__dag_sort(struct brick__dag *dag, uint32_t **cycle, uint32_t *cycle_count);

/* Earliest finish of every activity [count]; returns the largest. Sums stop at UINT64_MAX. */
uint64_t brick__dag_forward(
	const struct brick__dag *dag, const uint64_t *duration, uint64_t *finish);

/*
 * Latest finish of every activity such that what comes after it still ends by `deadline`. end:
 * BRICK__DAG_ALL: all that nothing waits for ends then; else only that activity does, and what does
 * not lead to it has UINT64_MAX.
 */
#define BRICK__DAG_ALL UINT32_MAX
void brick__dag_backward(const struct brick__dag *dag, const uint64_t *duration, uint64_t deadline,
	uint32_t end, uint64_t *latest);

/*
 * The chain that decided when `last` could begin, ending with it, into path [count]; of equals
 * before an activity the one whose edge was given first. Returns how many.
 */
size_t brick__dag_path(
	const struct brick__dag *dag, const uint64_t *finish, uint32_t last, uint32_t *path);
