/* SPDX-License-Identifier: Apache-2.0 */
/* The part of probe.c that the rest of the library calls. */
#pragma once

#include "brick/probe.h"

/* As brick_end(), where the brick ended at `now` (ticks). */
void brick__end_at(brick_span span, uint64_t now);

/* Called after the end of each step with BRICK_FRAME_COUNTED; step.c sets it before the first one.
 */
extern void (*brick__step_ended)(void) __attribute__((visibility("hidden")));
