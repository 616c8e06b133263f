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

/* Begins the range of the thread's brick at that depth, from 0 on. Only on that thread. */
void brick__emit_begin(uint32_t depth, uint32_t brick, int32_t layer);

/* Ends the ranges of the brick at that depth and of all inside of it. Only on that thread. */
void brick__emit_end(uint32_t depth);

/*
 * Begin and end a range of a text on this thread, for what is no brick yet. False: nobody listens,
 * and pop must not be called.
 */
BRICK_API bool brick__emit_push(const char *text);
BRICK_API void brick__emit_pop(void);
