/* SPDX-License-Identifier: Apache-2.0 */
/* The number that says that there is none: shown as "-", null or nothing, never as 0. */
#pragma once

#include <stdint.h>

#define ANALYSIS_UNKNOWN UINT64_MAX

/* a / b; negative, which says that it is unknown, if b is 0. */
static inline double known_ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : -1;
}
