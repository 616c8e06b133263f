/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of one step, of several, or of a whole thread: nested executions, grouped by layer and
 * brick in the order in which they first ran. The time of a node is the sum of the times of the
 * nodes below it and its own rest; waiting is a node of its own. Kernels and transfers stand below
 * the node that launched them: their time is a device's, and no part of that node's. Owned by the
 * tree, which borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/walk/step_index.h"
#include "base/hash_index.h"
#include "trace/run.h"

enum call_kind {
	CALL_ROOT,	/* the step or the thread */
	CALL_LAYER,	/* `layer` */
	CALL_BRICK,	/* `brick` */
	CALL_OPERATION, /* `site`, below its brick */
	CALL_WAIT,	/* waiting of the node beside it */
	CALL_KERNEL,	/* work of a device that it launched: `kernel` */
	CALL_LANE,   /* a thread or queue: `site` is its number (src/analysis/accounts/stacks.h) */
	CALL_PHASE,  /* of its steps: `site` is an enum step_phase (the same) */
	CALL_THREAD, /* whose stacks were taken: `site` is its number (function_accounts.h) */
	CALL_FUNCTION,	/* below its caller: `site` is its number (the same) */
	CALL_LEFT_OUT,	/* own time and waiting of bricks that were not asked for */
	CALL_PREEMPTED, /* below the root: its thread was off its CPU, which no node above has */
	CALL_BLOCKED,	/* the same, outside of waits */
	CALL_KINDS,
};

/* "layer", "left out" */
const char *call_kind_name(enum call_kind kind);

struct call_node {
	enum call_kind kind;
	uint32_t brick, site; /* RUN_NONE where not of that kind */
	uint32_t kernel;      /* RUN_NONE where not of that kind */
	int32_t layer;
	uint64_t count;			  /* of executions that have ended, as in a report */
	uint64_t open;			  /* that never did; their time is here all the same */
	uint64_t time_ns;		  /* without the waiting that a CALL_WAIT beside it shows */
	uint64_t self_ns;		  /* of it, in none of the nodes below */
	uint64_t off_ns;		  /* beside it: in CALL_PREEMPTED and CALL_BLOCKED */
	uint64_t device_count, device_ns; /* of kernels in it and below: commands, each ns once */
	uint64_t elements, bytes, flops;  /* ANALYSIS_UNKNOWN where nothing said them */
	uint32_t parent, first, last, next; /* numbers of nodes, RUN_NONE at the end */
	uint32_t hint;			    /* the child that was found last */
};

/* True if it lies between its siblings, and is shown after them. */
static inline bool call_node_is_between(const struct call_node *node)
{
	return node->kind == CALL_WAIT || node->kind == CALL_LEFT_OUT ||
	       node->kind == CALL_PREEMPTED || node->kind == CALL_BLOCKED;
}

/* True if nothing of it ran on a thread: its time and count are those of devices. */
static inline bool call_node_on_device(const struct call_node *node)
{
	return node->kind == CALL_KERNEL ||
	       (node->device_count && !node->time_ns &&
		       (node->kind == CALL_BRICK || node->kind == CALL_LAYER));
}

static inline uint64_t call_node_time_ns(const struct call_node *node)
{
	return call_node_on_device(node) ? node->device_ns : node->time_ns;
}

static inline uint64_t call_node_count(const struct call_node *node)
{
	return call_node_on_device(node) ? node->device_count : node->count;
}

struct call_tree {
	const struct run *run;
	struct call_node *nodes; /* [0] is the root */
	size_t count, capacity;
	struct hash_index index; /* of nodes that call_tree_child() made */
	uint32_t lane;
	uint32_t step;	  /* the first one that it is of; RUN_NONE: of all the lane did */
	uint32_t steps;	  /* how many it is of, with the sums over them; 0: as above */
	uint32_t threads; /* others of its process that recorded during the step, at most */
};

/* A node that has only its kind so far. */
struct call_node call_node_of(enum call_kind kind, int32_t layer);

/* Append one below `parent`; RUN_NONE: the root. Its number; RUN_NONE: no memory. */
uint32_t call_tree_add(struct call_tree *tree, uint32_t parent, struct call_node node);

/* The child like `node`, made if there is none; RUN_NONE: no memory. */
uint32_t call_tree_child(struct call_tree *tree, uint32_t parent, struct call_node node);

/* Makes times of nodes include those of the nodes below. */
void call_tree_sum(struct call_tree *tree);

void call_tree_destroy(struct call_tree *tree);

/*
 * Makes a tree of each of `count` outermost, finished steps, with what lies in its account after
 * it, in one walk: trees[count]. -ENOMEM.
 */
int call_trees_of_steps(struct call_tree **trees, const struct run *run,
	const struct step_index *index, const uint32_t *steps, size_t count);

static inline int call_tree_of_step(struct call_tree **out, const struct run *run,
	const struct step_index *index, uint32_t step)
{
	return call_trees_of_steps(out, run, index, &step, 1);
}

/* Makes one tree of so many steps, at least one: the sums over all. -ENOMEM. */
int call_tree_of_steps(struct call_tree **out, const struct run *run,
	const struct step_index *index, const uint32_t *steps, size_t count);

/* Makes the tree of a whole lane. -ENOMEM. */
int call_tree_of_lane(struct call_tree **out, const struct run *run, const struct step_index *index,
	uint32_t lane);
