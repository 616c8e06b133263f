/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps in which hooks lead straight on (BRICK_PLAIN_STEPS=1): one in five at random is recorded as
 * one piece, so that the steps beside it, less it, are what recording costs, with all that no clock
 * in a hook can see. Any thread; meant for programs that evaluate one step at a time.
 */
#pragma once

#include "attach/ggml/phases.h"

/* The step that was just begun, with its hook's frame, is perhaps to be a plain one. */
void plain_step_begin(const struct phase_scope *step, const void *frame);

/* Before the step that begins or ends in a hook with this frame does so. */
void plain_step_end(const void *frame);
