/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The execution graph of a step, or of a whole process: a node for every execution, inside of its
 * layer, inside of its holder; device work as kernels inside of their bricks; a thread's work for a
 * step as a function that the step launched; and the waits, with the barriers at which they came
 * together (src/analysis/path/schedule.h). Nodes on the critical path are marked.
 */
#pragma once

#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "brick/graph.h"
#include "trace/run.h"

/* A graph takes some hundred bytes for each sample; beyond so many it is refused. */
enum { GRAPH_FROM_RUN_SAMPLES = 4000000 };

/*
 * Makes the graph of an outermost, finished step; RUN_NONE: of all processes. -ENOMEM.
 * BRICK_ERANGE: too many samples. BRICK_ENOTRECORDED: nothing was recorded.
 */
int graph_from_run(struct brick_graph **out, const struct run *run, const struct step_index *index,
	uint32_t step);
