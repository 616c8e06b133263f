/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernels, for the rest of the library. */
#pragma once

#include <stddef.h>
#include "lib/session/session_map.h"

/* Into a new session, under the session lock. */
void brick__kernels_publish(struct brick__session *session);

/* Name of a registered kernel, cut; 0 when there is no such kernel. */
int brick__kernel_name(uint32_t kernel, char *name, size_t bytes);
