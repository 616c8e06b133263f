/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contexts that a program evaluates batches with, and what each has of its sequences: what a
 * batch is made of follows from what was before, and whose drafts it checks from the others. Any
 * thread.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/steps/phases.h"

/* What the batch of `tokens` is made of, to be asked once. code: what evaluates it. */
void contexts_count(struct phase_tokens *tokens, const void *code);

/* As batch_moved(); which context it was is not told. */
void contexts_moved(int32_t sequence, int32_t from, int32_t by);

/* As batch_removed(), of the context that has this memory; what was refuted is recorded. */
void contexts_removed(const void *memory, int32_t sequence, int32_t from, int32_t to);
