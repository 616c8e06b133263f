/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graphs of whisper.cpp, whose tensors have no names: which of the four a graph is, and the
 * names that its model's file has for the weights, given to them (given_names.h) by the shape of
 * the graph and the order in which the model lists them. A graph of another shape than expected is
 * left as it is. One graph at a time on each thread; needs a known layout.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/ggml_engine.h"

enum whisper_part {
	WHISPER_NONE, /* none of them */
	WHISPER_CONV,
	WHISPER_ENCODER,
	WHISPER_CROSS, /* keys and values of the decoder's attention to what was encoded */
	WHISPER_DECODER,
	WHISPER_PARTS,
};

/* *tokens: positions of the sound, or tokens that a decoder is given; 0 for the other two. */
enum whisper_part whisper_graph_part(
	const struct engine *engine, const void *graph, int32_t *tokens);

/* Give its tensors names, unless they have them. */
void whisper_graph_name(const struct engine *engine, const void *graph, enum whisper_part part);
