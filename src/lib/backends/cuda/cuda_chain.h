/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock out of differences. CUDA tells times between two events only, as a float of milliseconds:
 * from one far epoch on that would be microseconds off after minutes. So each time is the one of an
 * anchor plus a short difference, and the anchor moves along. One thread at a time.
 */
#pragma once

#include <stdint.h>

/* A float of so many ns is exact to 1 ns. */
enum { CUDA_CHAIN_REACH_NS = 8000000 };

static inline int64_t cuda_chain_ns(float ms)
{
	double ns = (double)ms * 1e6;
	return (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
}

/* Should an event so far behind the anchor become the next one? */
static inline int cuda_chain_moves(int64_t behind_ns)
{
	return behind_ns > CUDA_CHAIN_REACH_NS;
}
