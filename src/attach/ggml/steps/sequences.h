/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of sequences (brick/abi/lane.h): the tokens that a step evaluates of each, and hashes of
 * blocks of tokens, by which a repeated prompt is recognised. Any thread; the caller guards its
 * arguments.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/steps/batch.h"
#include "brick/abi/lane.h"

/* The unfinished block of each sequence of a context. Zero it for a new context. */
struct sequence_blocks {
	struct {
		uint64_t hash; /* of the block's tokens so far, salted */
		int32_t end;   /* position behind its last token so far; 0: no block is open */
	} of[BATCH_SEQUENCES];
};

/* The model's number in a record, from a context's number; negative: not known. */
static inline uint16_t sequences_model(int32_t number)
{
	return number >= 0 && number < BRICK_SEQUENCE_NO_MODEL ? (uint16_t)number
							       : BRICK_SEQUENCE_NO_MODEL;
}

/* Before a batch is evaluated: record the blocks that it fills. past: for batch_position(). */
void sequences_tell_blocks(struct sequence_blocks *blocks, const struct batch_head *batch,
	const struct batch_past *past, uint16_t model);

/* Inside of a step: record its tokens by sequence. is_prompt: 1 if all of them are a prompt. */
void sequences_tell_step(const struct batch_sequences *sequences, uint16_t model, int is_prompt);
