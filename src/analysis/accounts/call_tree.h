/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of one step, of several, or of a whole thread: nested executions, grouped by layer and
 * brick in the order in which they first ran. The time of a node is its self time and the times of
 * the nodes below it; waiting is a node of its own. Kernels and transfers stand below the node that
 * launched them, but their time is a device's and no part of the launching node's. A node has a
 * lower number than all nodes below it. The tree borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/walk/step_index.h"
#include "base/hash_index.h"
#include "trace/run.h"

/*
 * A kind's comment names the members of a node that identify it among its siblings. A new kind goes
 * into call_kind_name(), too.
 */
enum call_kind {
	CALL_ROOT,	/* the step or the thread */
	CALL_LAYER,	/* `layer` */
	CALL_BRICK,	/* `brick` */
	CALL_OPERATION, /* `site`, below its brick */
	CALL_WAIT,	/* waiting of its siblings: inside of them and after them */
	CALL_KERNEL,	/* `kernel`: work of a device, below the node that launched it */
	CALL_LANE,   /* a thread or queue: `site` is its number (src/analysis/accounts/stacks.h) */
	CALL_PHASE,  /* steps of a lane: `site` is an enum step_phase (stacks.h) */
	CALL_THREAD, /* a thread with stacks: `site` is its number (function_accounts.h) */
	CALL_FUNCTION,	/* below its caller: `site` is its number (function_accounts.h) */
	CALL_LEFT_OUT,	/* own time and waiting of bricks that the selection left out */
	CALL_PREEMPTED, /* below the root: time of the thread off its CPU, in no other node */
	CALL_BLOCKED,	/* the same, of a thread that was blocked outside of waits */
	CALL_KINDS,
};

/* "root", "layer", "left out", ... */
const char *call_kind_name(enum call_kind kind);

struct call_node {
	enum call_kind kind;
	uint32_t brick, site, kernel; /* RUN_NONE in nodes of other kinds */
	int32_t layer;		      /* of the node or of a node above; -1: none */
	uint64_t count;		      /* executions that have ended, as in a report */
	uint64_t open;	  /* executions that never ended; their time is in time_ns, too */
	uint64_t time_ns; /* without waiting (CALL_WAIT) and off_ns */
	uint64_t self_ns; /* part of time_ns in no node below */
	uint64_t off_ns;  /* off the CPU, in it and below: counted in CALL_PREEMPTED and _BLOCKED */
	uint64_t device_count;		    /* commands in it and below */
	uint64_t device_ns;		    /* their time: commands inside of others count once */
	uint64_t device_estimated;	    /* part of device_count: their times are estimates */
	uint64_t elements, bytes, flops;    /* ANALYSIS_UNKNOWN: no execution stated them */
	uint32_t parent, first, last, next; /* numbers of nodes; RUN_NONE: none */
	uint32_t hint;			    /* child that call_tree_child() found last */
};

/* True for time that lies between the siblings, and is shown after them. */
static inline bool call_node_is_between(const struct call_node *node)
{
	return node->kind == CALL_WAIT || node->kind == CALL_LEFT_OUT ||
	       node->kind == CALL_PREEMPTED || node->kind == CALL_BLOCKED;
}

/* True if no thread ran it: then its time and count are device_ns and device_count. */
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
	uint32_t step;	  /* the first step in the tree; RUN_NONE: a whole lane */
	uint32_t steps;	  /* number of steps in the tree; 0: a whole lane */
	uint32_t threads; /* most other threads of the process that recorded during a step */
};

/* A node with a kind and a layer, all else 0 or RUN_NONE. */
struct call_node call_node_of(enum call_kind kind, int32_t layer);

/*
 * Appends a node below `parent`, which is RUN_NONE for the root, the first node. Links and amounts
 * of `node` are ignored. Returns its number; RUN_NONE: no memory. Pointers to nodes become invalid.
 */
uint32_t call_tree_add(struct call_tree *tree, uint32_t parent, struct call_node node);

/*
 * The child of `parent` with the kind, brick, site, layer and kernel of `node`; call_tree_add()
 * makes it if there is none. RUN_NONE: no memory.
 */
uint32_t call_tree_child(struct call_tree *tree, uint32_t parent, struct call_node node);

/* Adds self_ns and the times of all nodes below to time_ns. For trees without time_ns so far. */
void call_tree_sum(struct call_tree *tree);

/* NULL is legal. */
void call_tree_destroy(struct call_tree *tree);

/*
 * Makes a tree of each of `count` outermost, finished steps in one walk: trees[count]. A tree also
 * has the time after its step that is in the step's account (walk.h). -ENOMEM.
 */
int call_trees_of_steps(struct call_tree **trees, const struct run *run,
	const struct step_index *index, const uint32_t *steps, size_t count);

static inline int call_tree_of_step(struct call_tree **out, const struct run *run,
	const struct step_index *index, uint32_t step)
{
	return call_trees_of_steps(out, run, index, &step, 1);
}

/* Makes one tree with the sums over `count` steps, at least one. -ENOMEM. */
int call_tree_of_steps(struct call_tree **out, const struct run *run,
	const struct step_index *index, const uint32_t *steps, size_t count);

/* Makes the tree of a whole lane. -ENOMEM. */
int call_tree_of_lane(struct call_tree **out, const struct run *run, const struct step_index *index,
	uint32_t lane);
