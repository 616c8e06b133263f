/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warm-ups that no call announces: since llama_set_warmup() is deprecated, llama.cpp's programs
 * evaluate [BOS, EOS] (what of it the vocabulary has, else token 0) in a context that holds
 * nothing, and clear it; its server also [0, 0], to see whether tokens can be taken out again. Any
 * thread.
 */
#pragma once

#include "attach/ggml/steps/batch.h"

/* Is this batch such a one? code: the function of llama.cpp that evaluates it. */
int warm_up_is(const struct batch_head *batch, const void *context, const void *code);

/* How many positions of its first sequence a context holds; -1: that cannot be asked. */
int32_t context_tokens(const void *context, const void *code);

/* What llama_get_memory() says; NULL: that cannot be asked. */
const void *context_memory(const void *context, const void *code);

/* A scheduler was made, as every context makes one: what is known of contexts is asked anew. */
void warm_up_context_made(void);
