/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps and names of whisper.cpp, found from its graphs: its tensors have no names, and most builds
 * hide its functions for steps. Encoding a sound is one step (convolutions, encoder, keys and
 * values for the decoder), from the allocation of its first graph to the end of its last graph.
 * Each graph of the decoder is a step. Tensors get the names that the model's file has for them.
 * Owner thread.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/steps/phases.h"

/* A scheduler was made: the first graph that it allocates is never computed. */
void whisper_scheduler_made(const void *scheduler);

/*
 * A graph is about to get its memory. caller: an address in the calling code; nothing happens
 * unless it is whisper.cpp's. engine_code: an address in ggml. frame: of the hook.
 */
void whisper_alloc_begin(const void *scheduler, const void *graph, const void *caller,
	uintptr_t engine_code, const void *frame);

/* The brick around the graph's nodes: GraphCompute if the graph is not whisper.cpp's. */
uint16_t whisper_graph_brick(const void *graph);

/* The graph was computed: end its step if it was the last graph. */
void whisper_computed(const void *graph);
