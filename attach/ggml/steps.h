/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which evaluations are steps, and of which kind. Calls of llama_decode() and llama_encode() are;
 * in engines without them every graph that is computed on its own is one. Any thread.
 */
#ifndef BRICK_ATTACH_GGML_STEPS_H
#define BRICK_ATTACH_GGML_STEPS_H

#include <stdint.h>
#include "attach/ggml/phases.h"

/* The head of struct llama_batch, the same in all versions seen. Pointers may be NULL. */
struct batch_head {
	int32_t n_tokens;
	const int32_t *tokens;
	const float *embeddings;
	const int32_t *positions;
	const int32_t *sequence_counts;	 /* per token */
	const int32_t *const *sequences; /* per token: that many sequence ids */
	const int8_t *outputs;
};

/*
 * A step decodes when every sequence in its batch gets one token: one token in all, or several of
 * different sequences. Every other batch is prefill. So the last chunk of a prompt that is a single
 * token counts as decode, and several tokens of one sequence that are only checked (speculative
 * decoding) count as prefill.
 */
int batch_is_decode(const struct batch_head *batch);

/*
 * Begin a step, unless one is open on this thread: then scope is set so that ending does nothing.
 * method: how it was noticed; code: the function of llama.cpp that is the step. For the notes.
 */
void step_begin(struct phase_scope *scope, int decode, uint64_t tokens, const char *method,
	const void *code, const void *frame);

/* The same for a graph that may be one; not in engines whose llama_decode() has been seen. */
void step_begin_graph(struct phase_scope *scope, const void *frame);

#endif
