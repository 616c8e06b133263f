/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain steps: steps without hooks, to measure the cost of recording. With BRICK_PLAIN_STEPS=5 one
 * step in five, at random, is recorded as one piece (PHASE_PLAIN), without node hooks or the
 * evaluation callback. The other steps take longer by the whole cost of recording, including costs
 * that no clock in a hook can see. BRICK_PLAIN_STEPS=2,47 alternates 47 steps with hooks (an even
 * number is made odd) and 47 steps that also skip the hooks of phases and graphs
 * (bench/whole_blocks.py). With BRICK_PLAIN_STEPS=limit the recorder says how long such blocks are
 * (struct brick_session_refusals), and their lengths vary around that by chance. Without
 * BRICK_PLAIN_STEPS all steps are plain while recording is switched off. Any thread; meant for
 * programs that evaluate one step at a time.
 */
#pragma once

#include "attach/ggml/steps/phases.h"

/*
 * A step's hook calls before, step_begin(), begin, the step, end, step_end(), after. frame: of the
 * hook.
 */
void plain_step_before(const void *frame);
void plain_step_begin(const struct phase_scope *step, const void *frame);
void plain_step_end(const void *frame);
void plain_step_after(const void *frame);
