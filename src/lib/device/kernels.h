/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of kernels and of their sources, for the rest of the library. */
#pragma once

#include "lib/session/session_map.h"

/* Under the session lock: copies both tables into a new session. */
void brick__kernels_publish(struct brick_session *session);

/*
 * Returns the brick, named after the kernel, for launches of a kernel outside of all bricks;
 * BRICK_NONE: no id is left.
 */
uint32_t brick__kernel_brick(uint32_t kernel);
