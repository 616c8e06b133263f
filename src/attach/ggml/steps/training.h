/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a training step: Forward, Backward and OptimizerStep, the bricks that PyTorch's
 * steps have, too. Each lies around its nodes, on the thread that calls for the graph, or that
 * gives them to a device. Where a scheduler has split the graph, each part has its own; where no
 * node is seen, there is none. Owner thread.
 */
#pragma once

#include <stdbool.h>
#include "attach/ggml/engine/ggml_engine.h"

/* A scheduler is about to compute a graph that trains; and has done so. */
void training_begin(const struct engine *engine, const void *graph);
void training_end(void);

/* The same for the part that one backend computes. frame: of the hook that does. */
void training_part_begin(const void *frame);
void training_part_end(void);

/* A node of the part is about to begin. is_first: it opens the phase, if none is open. */
void training_node(const void *node, bool is_first);

/*
 * A device's backend passes over nodes that it fuses, or asks about none; it may walk several
 * times. A node was passed; the part is walked from its begin; all of it was passed.
 */
void training_pass(const void *node);
void training_walk_again(void);
void training_part_pass(const struct engine *engine, const void *graph);
