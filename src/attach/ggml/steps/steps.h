/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which evaluations are steps, and of which kind. Calls of llama_decode() and llama_encode() are;
 * in engines without them every graph that is computed on its own is one. Any thread.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/steps/phases.h"

/*
 * Begin a step, unless one is open on this thread: then scope is set so that ending does nothing.
 * method: how it was noticed; code: the function of llama.cpp that is the step. For the notes.
 */
void step_begin(struct phase_scope *scope, const struct phase_tokens *tokens, const char *method,
	const void *code, const void *frame);

/* status: not 0 where the engine would not evaluate the batch. */
void step_end(struct phase_scope *scope, const struct phase_tokens *tokens, int32_t status);

/* Behind a step of the context with that number: so many of the drafts that it checked are gone. */
void step_refuted(int32_t context, uint32_t drafts);

/* The context's evaluations are warm-ups from now on, or not any more (llama_set_warmup()). */
void step_warm_up_set(const void *context, int on);
int step_is_warm_up(const void *context);

/* The same for a graph that may be one; not in engines whose llama_decode() has been seen. */
void step_begin_graph(struct phase_scope *scope, const void *frame);
