/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of one step, or of all that one thread did: what ran inside of what, grouped by layer
 * and brick in the order in which they first ran. The time of a node is the sum of the times of
 * the nodes below it and its own rest; waiting is a node of its own. Kernels and transfers stand
 * below what launched them: their time is a device's, and no part of what is above them. Owned by
 * the tree, which borrows the run. Read-only once made: any thread.
 */
#ifndef BRICK_ANALYSIS_CALL_TREE_H
#define BRICK_ANALYSIS_CALL_TREE_H

#include <stddef.h>
#include <stdint.h>
#include "analysis/step_index.h"
#include "trace/run.h"

enum call_kind {
	CALL_ROOT,	/* the step or the thread */
	CALL_LAYER,	/* `layer` */
	CALL_BRICK,	/* `brick` */
	CALL_OPERATION, /* `site`, below its brick */
	CALL_WAIT,	/* waiting of what stands beside it */
	CALL_KERNEL,	/* work of a device that it launched: `kernel` */
};

struct call_node {
	enum call_kind kind;
	uint32_t brick, site; /* RUN_NONE where not of that kind */
	uint32_t kernel;      /* RUN_NONE where not of that kind */
	int32_t layer;
	uint64_t count;			 /* of executions that have ended, as in a report */
	uint64_t open;			 /* that never did; their time is here all the same */
	uint64_t time_ns;		 /* without the waiting that a CALL_WAIT beside it shows */
	uint64_t self_ns;		 /* of it, in none of the nodes below */
	uint64_t elements, bytes, flops; /* ANALYSIS_UNKNOWN where nothing said them */
	uint32_t parent, first, last, next; /* numbers of nodes, RUN_NONE at the end */
	uint32_t hint; /* inside of call_tree.c: the child that was found last */
};

struct call_tree {
	const struct run *run;
	struct call_node *nodes; /* [0] is the root */
	size_t count, capacity;
	uint32_t lane;
	uint32_t step;	  /* RUN_NONE: of all the lane did */
	uint32_t threads; /* others of its process that recorded during the step */
};

/* Of an outermost, finished step, with what lies in its account after it. -ENOMEM. */
int call_tree_of_step(struct call_tree **out, const struct run *run, const struct step_index *index,
	uint32_t step);

/* Of a whole lane. -ENOMEM. */
int call_tree_of_lane(struct call_tree **out, const struct run *run, const struct step_index *index,
	uint32_t lane);

void call_tree_destroy(struct call_tree *tree);

#endif
