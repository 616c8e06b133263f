/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps without hooks, to measure what recording costs. With BRICK_PLAIN_STEPS=5 one step in five,
 * at random, is recorded as one piece, without node hooks or the evaluation callback. The steps
 * beside it take longer by all that recording costs, also by what no clock in a hook can see.
 * BRICK_PLAIN_STEPS=2,47 alternates 47 steps (an odd number) with hooks and 47 without, past the
 * hooks of phases and graphs, too (bench/whole_blocks.py). Any thread; meant for programs that
 * evaluate one step at a time.
 */
#pragma once

#include "attach/ggml/steps/phases.h"

/* Called around the begin and the end of each step, with its hook's frame. */
void plain_step_before(const void *frame);
void plain_step_begin(const struct phase_scope *step, const void *frame);
void plain_step_end(const void *frame);
void plain_step_after(const void *frame);
