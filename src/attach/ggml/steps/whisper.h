/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whisper.cpp, whose tensors have no names and whose own functions for steps are hidden in most
 * builds: both follow from its graphs. A sound that is encoded is one step (convolutions, encoder,
 * keys and values for the decoder), from where its first graph gets its memory to where its last
 * one is computed; each graph of the decoder is one. The tensors of these graphs get the names that
 * the model's file has for them. Each thread for itself.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/steps/phases.h"

/* A scheduler was made: what it allocates first is never computed. */
void whisper_scheduler_made(const void *scheduler);

/*
 * A graph is going to get its memory; called by code at `caller`. Does nothing where that is no
 * whisper.cpp. `frame` of the hook, engine_code: an address in ggml.
 */
void whisper_alloc_begin(const void *scheduler, const void *graph, const void *caller,
	uintptr_t engine_code, const void *frame);

/* The brick around that graph's nodes: GraphCompute if it is not whisper's. */
uint16_t whisper_graph_brick(const void *graph);

/* It was computed: the step may be over. */
void whisper_computed(const void *graph);
