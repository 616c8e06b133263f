/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contexts with which a program evaluates batches, each with the past of its sequences: the
 * kind of a batch's tokens follows from the batches before, and from the other contexts if one of
 * them made the drafts that it checks. Any thread; if another thread is here, a call is skipped, or
 * counts the batch by itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/ggml/steps/batch.h"
#include "attach/ggml/steps/phases.h"

/*
 * Is this a function of llama.cpp? If not, it is a stranger of that name, and the hook must not
 * read its arguments.
 */
bool contexts_are_of(const void *code);

/*
 * Count tokens->batch, and set the other members of *tokens; once per batch, as it updates the
 * context's past. code: the function that evaluates the batch. *sequences: filled, and pointed to
 * by tokens->sequences.
 */
void contexts_count(
	struct phase_tokens *tokens, const void *code, struct batch_sequences *sequences);

/*
 * Record an event of a sequence, and update the past (batch_moved(), batch_removed()). of: the
 * context, or its memory (llama_get_memory()); an unknown address is ignored. Sets event->model.
 */
struct brick_sequence_record;
void contexts_sequence(const void *of, struct brick_sequence_record *event);

/*
 * Record that a token was sampled from the results of the last batch's token at this index; a
 * negative index counts from the end.
 */
void contexts_sampled(const void *context, int32_t index);

/* The program reads or waits for results, so the next batch does not continue a prompt. */
void contexts_results_read(void);

/* The context was freed: forget it, as another context may come at its address. */
void contexts_freed(const void *context);

/* llama_set_warmup(): from now on the context's evaluations are warm-ups (on), or not. */
void warm_up_set(const void *context, int on);

/*
 * Is this batch a warm-up? code: the function of llama.cpp that evaluates it. Since
 * llama_set_warmup() is deprecated, llama.cpp's programs evaluate [BOS, EOS] (as far as the
 * vocabulary has them, else token 0) in an empty context and clear it. Its server also evaluates
 * [0, 0], to try whether tokens can be removed.
 */
bool warm_up_is(const struct batch_head *batch, const void *context, const void *code);

/* A scheduler was made, so a context may be new: ask contexts for their special tokens anew. */
void warm_up_context_made(void);
