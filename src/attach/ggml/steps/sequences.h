/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recording is told of sequences (brick/abi/lane.h): which tokens of theirs a step
 * evaluates, and hashes of blocks of them, by which a prompt that comes again is known. Any thread
 * that holds what it passes.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/steps/batch.h"
#include "brick/abi/lane.h"

/* The blocks that a context's sequences are in; all 0: none. */
struct sequence_blocks {
	struct {
		uint64_t hash;
		int32_t end; /* behind its last token so far; 0: it is in none */
	} of[BATCH_SEQUENCES];
};

/* A model as records have it, by its number; negative: not known. */
static inline uint16_t sequences_model(int32_t number)
{
	return number >= 0 && number < BRICK_SEQUENCE_NO_MODEL ? (uint16_t)number
							       : BRICK_SEQUENCE_NO_MODEL;
}

/* The batch is going to be evaluated: tell of the blocks that are full with it. */
void sequences_tell_blocks(struct sequence_blocks *blocks, const struct batch_head *batch,
	const struct batch_past *past, uint16_t model);

/* Within its step: what it evaluates. model: BRICK_SEQUENCE_NO_MODEL if that is not known. */
void sequences_tell_step(const struct batch_sequences *sequences, uint16_t model, int is_prompt);
