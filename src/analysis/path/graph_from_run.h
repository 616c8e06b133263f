/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the execution graph of a step, or of all processes: a node for every execution, inside of
 * its layer, inside of its holder; device work as kernels inside of their bricks; a thread's work
 * for a step as a function that the step launched; and the waits, with the barriers at which
 * threads came together (src/analysis/path/schedule.h). Nodes on the critical path are marked. Any
 * thread.
 */
#pragma once

#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "brick/graph.h"
#include "trace/run.h"

/* The most samples of a graph: it takes some hundred bytes for each. */
enum { GRAPH_FROM_RUN_SAMPLES = 4000000 };

/*
 * step: an outermost, finished step; RUN_NONE: all processes. 0 and *out, which the caller
 * destroys; -ENOMEM; BRICK_ERANGE: more than GRAPH_FROM_RUN_SAMPLES; BRICK_ENOTRECORDED: nothing
 * was recorded.
 */
int graph_from_run(struct brick_graph **out, const struct run *run, const struct step_index *index,
	uint32_t step);
