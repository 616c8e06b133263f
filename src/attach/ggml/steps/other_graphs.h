/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that a program of llama.cpp computes outside of llama_decode(): to train a model, to
 * evaluate a model in training, or to encode an image or a sound; and graphs that train in programs
 * without llama.cpp. Each is a step and has a brick around its nodes. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/ggml/engine/ggml_engine.h"

enum other_graph {
	OTHER_NONE, /* no such graph */
	OTHER_TRAINING,
	OTHER_EVALUATION,
	OTHER_IMAGE,
	OTHER_SOUND,
	OTHER_KINDS,
};

/*
 * Tell the kind of a graph. *positions: its tokens or patches, from the shape of its loss or of its
 * last result; 0: not known.
 */
enum other_graph other_graph_kind(
	const struct engine *engine, const void *graph, uint32_t *positions);

/*
 * Is the graph's last node an optimizer step, a gradient, a loss, or the count of right results?
 * Looks at the last node only, as it is called for each graph of engines without steps.
 */
bool other_graph_trains(const struct engine *engine, const void *graph);

/* Does this operation change weights? */
bool other_graphs_optimizes(const char *operation);

/* The brick around its nodes. */
uint16_t other_graph_brick(enum other_graph kind);
