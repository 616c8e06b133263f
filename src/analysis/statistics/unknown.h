/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of a count or time that is not known. It is shown as "-", null or nothing, never as 0:
 * compare with it before adding or sorting, as it is the largest number.
 */
#pragma once

#include <stdint.h>

#define ANALYSIS_UNKNOWN UINT64_MAX

/* a / b; negative, so unknown, if b is 0. */
static inline double known_ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : -1;
}
