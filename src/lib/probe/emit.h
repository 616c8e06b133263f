/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks as NVTX ranges, for another tool (Nsight): with BRICK_EMIT=nvtx each brick that begins and
 * ends on a thread is also a range of the domain "Brick", under its name, with its layer as the
 * payload. The tool is the one that NVTX would load. While this is wanted the probe's slow half
 * does all the work; otherwise nothing is done for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/export.h"

/* The thread's brick at that depth begins. Owner of the thread. */
void brick__emit_begin(uint32_t depth, uint32_t brick, int32_t layer);

/* It ends, with all that is open inside of it. Owner of the thread. */
void brick__emit_end(uint32_t depth);

/* What is no brick yet: a range of that text on this thread. False: nobody listens. */
BRICK_API bool brick__emit_push(const char *text);
BRICK_API void brick__emit_pop(void);
