/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a batch of llama.cpp is made of: tokens of prompts, and tokens from which new ones are made
 * or drafted ones checked. Pure; any thread.
 */
#pragma once

#include <stdint.h>

/* The head of struct llama_batch, the same in all versions seen. Pointers may be NULL. */
struct batch_head {
	int32_t n_tokens;
	const int32_t *tokens;
	const float *embeddings;
	const int32_t *positions;
	const int32_t *sequence_counts;	 /* per token */
	const int32_t *const *sequences; /* per token: that many sequence ids */
	const int8_t *outputs; /* per token: its logits are wanted; NULL: the last one's */
};

struct batch_tokens {
	uint32_t prompt, output;
};

/*
 * By sequence: its only token in the batch is an output, unless its logits are not wanted (the end
 * of a prompt without them); several tokens are outputs when the logits of all are wanted and the
 * sequence did not begin with them (drafts that are checked), else a prompt. So a prompt of one
 * token counts as output. A token of several sequences is a prompt's.
 */
struct batch_tokens batch_count(const struct batch_head *batch);
