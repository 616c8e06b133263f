/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contexts that a program evaluates batches with, and what each holds of its sequences: what a
 * batch is made of follows from what came before it, and the drafts that it checks were made by
 * another context. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "attach/ggml/steps/batch.h"
#include "attach/ggml/steps/phases.h"

/*
 * Is this a function of llama.cpp? Another one of its name may have arguments of any kind, so none
 * of them is looked into.
 */
bool contexts_are_of(const void *code);

/*
 * What the batch of `tokens` is made of, to be asked once. code: what evaluates it. sequences: what
 * it has of each goes there.
 */
void contexts_count(
	struct phase_tokens *tokens, const void *code, struct batch_sequences *sequences);

/*
 * Something happened to a sequence of the context that is this, or has this memory: it is recorded,
 * and remembered where it matters (batch_moved(), batch_removed()). event->model is filled in.
 */
struct brick_sequence_record;
void contexts_sequence(const void *of, struct brick_sequence_record *event);

/*
 * A token was chosen from the results of the last batch's token at that index, counted from the end
 * if it is negative.
 */
void contexts_sampled(const void *context, int32_t index);

/* Results are read, or waited for: what a context evaluates next is no more of the same prompt. */
void contexts_results_read(void);

/* The context is gone; another one may come at its address. */
void contexts_freed(const void *context);

/* The context's evaluations are warm-ups from now on, or not any more (llama_set_warmup()). */
void warm_up_set(const void *context, int on);

/*
 * Is this batch evaluated for nothing? code: the function of llama.cpp that evaluates it. Since
 * llama_set_warmup() is deprecated, llama.cpp's programs evaluate [BOS, EOS] (what of it the
 * vocabulary has, else token 0) in a context that holds nothing, and clear it; its server also
 * [0, 0], to see whether tokens can be taken out again.
 */
bool warm_up_is(const struct batch_head *batch, const void *context, const void *code);

/* A scheduler was made, as every context makes one: what is known of contexts is asked anew. */
void warm_up_context_made(void);
