/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that a program of llama.cpp's computes outside of llama_decode(): to train a model, to
 * evaluate one that is trained, to encode an image or a sound; and those that train in programs
 * without llama.cpp. Each is a step and has a brick around its nodes. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"

enum other_graph {
	OTHER_NONE, /* it belongs to the step before */
	OTHER_TRAINING,
	OTHER_EVALUATION,
	OTHER_IMAGE,
	OTHER_SOUND,
	OTHER_KINDS,
};

/* *positions: how many it takes in, as far as its last result, or that of its loss, tells. */
enum other_graph other_graph_kind(
	const struct engine *engine, const void *graph, uint32_t *positions);

/*
 * Does the graph end by changing weights, with a gradient, or with a loss or how many were right?
 * Cheap, for each graph of engines without steps.
 */
bool other_graph_trains(const struct engine *engine, const void *graph);

/* Does this operation change weights? */
bool other_graphs_optimizes(const char *operation);

/* The brick around its nodes. */
uint16_t other_graph_brick(enum other_graph kind);
