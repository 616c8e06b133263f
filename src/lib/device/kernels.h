/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of kernels and of their sources, for the rest of the library. */
#pragma once

#include "lib/session/session_map.h"

/* Both tables into a new session, under the session lock. */
void brick__kernels_publish(struct brick_session *session);

/* The brick of a kernel that was launched outside of every brick; BRICK_NONE: no entry is left. */
uint32_t brick__kernel_brick(uint32_t kernel);
