/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of an execution graph: what its questions are answered from. One thread at a time. */
#pragma once

#include "brick/graph_path.h"
#include "lib/graph/dag.h"
#include "lib/graph/graph_core.h"

/*
 * Nodes as activities with their own times, sorted. Activity v is node v, or the begin of it when
 * it holds others; then another one is its end.
 */
struct brick__plan {
	struct brick__dag dag;
	uint32_t *parent; /* [nodes] what holds or launched it, or BRICK__NONE */
	uint8_t *held;	  /* [nodes] 1: its time is part of its parent's */
	uint32_t *end;	  /* [nodes] the activity that ends it */
	uint32_t *ends;	  /* [activities - nodes] the node that it ends */
	uint64_t *own_ns; /* [activities] */
	uint64_t *finish_ns;
	uint64_t *latest_ns; /* latest finish; NULL: not asked for yet */
	uint64_t length_ns;
	uint32_t *path; /* nodes; NULL: not asked for yet */
	size_t path_count;
};

/* Make the plan if there is none. BRICK_ECYCLE: graph->cycle names it. -ENOMEM. */
int brick__graph_plan(struct brick_graph *graph);
/* NULL is legal. */
void brick__graph_plan_fini(struct brick_graph *graph);
