/* SPDX-License-Identifier: Apache-2.0 */
/* What probe.c does for the rest of the library. */
#pragma once

#include "brick/probe.h"

/* As brick_end() at the time `now`. */
void brick__end_at(brick_span span, uint64_t now);

/* Is called when a step has ended that is BRICK_FRAME_COUNTED; set before the first of them. */
extern void (*brick__step_ended)(void) __attribute__((visibility("hidden")));
