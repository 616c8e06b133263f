/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps without hooks (BRICK_PLAIN_STEPS=5): one in so many at random is recorded as one piece, so
 * that the steps beside it, less it, are what recording costs, with all that no clock in a hook can
 * see; and likewise without the evaluation callback, where that times nodes.
 * BRICK_PLAIN_STEPS=2,47: every second time 47 of them (an odd number) in a row, past the hooks of
 * phases and graphs, too (bench/whole_blocks.py). Any thread; meant for programs that evaluate one
 * step at a time.
 */
#pragma once

#include "attach/ggml/steps/phases.h"

/* Around the begin and the end of each step, with its hook's frame; before and after: not in its
 * time. */
void plain_step_before(const void *frame);
void plain_step_begin(const struct phase_scope *step, const void *frame);
void plain_step_end(const void *frame);
void plain_step_after(const void *frame);
