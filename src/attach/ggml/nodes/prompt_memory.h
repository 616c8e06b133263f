/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last prompts that were evaluated, to see which are evaluated again: a server that lost its
 * cache, a program that begins its conversation anew with every turn. Any thread.
 */
#pragma once

#include <stdint.h>
#include "attach/ggml/steps/batch.h"

/*
 * How many tokens this batch begins with that also an earlier one of this context began with, at
 * the same positions (what a draft model and its target both evaluate is no repetition); keeps the
 * batch. -1: not known, as it is too short to be a prompt, has no tokens, or another thread is
 * here.
 */
int32_t prompt_memory_repeated(const void *context, const struct batch_head *batch);
