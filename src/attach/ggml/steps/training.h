/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a training step: Forward, Backward and OptimizerStep, the bricks of PyTorch's
 * steps. Each lies around its nodes, on the thread that calls for the graph or gives its nodes to a
 * device. If a scheduler has split the graph, each part has its own phases. A part whose nodes are
 * not seen has none. Owner thread.
 */
#pragma once

#include <stdbool.h>
#include "attach/ggml/engine/ggml_engine.h"

/* Around a scheduler's computing of a graph that trains. */
void training_begin(const struct engine *engine, const void *graph);
void training_end(void);

/* Around the part of the graph that one backend computes. frame: of its hook. */
void training_part_begin(const void *frame);
void training_part_end(void);

/* A node of the part is about to begin. is_first: it opens a phase if none is open. */
void training_node(const void *node, bool is_first);

/*
 * For devices, whose backends pass over nodes that they fuse, ask about no node at all, or walk the
 * part several times: a node was passed; the walk begins anew; the whole part was passed.
 */
void training_pass(const void *node);
void training_walk_again(void);
void training_part_pass(const struct engine *engine, const void *graph);
