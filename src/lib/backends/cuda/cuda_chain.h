/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock out of differences. CUDA tells only the time between two events, as a float of
 * milliseconds: counted from one far epoch, that would be microseconds off after minutes. So each
 * time is the time of an anchor event plus a short difference, and the anchor moves along. One
 * thread at a time.
 */
#pragma once

#include <stdint.h>

/* Up to this difference a float of milliseconds (24 bits) is exact to 1 ns. */
enum { CUDA_CHAIN_REACH_NS = 8000000 };

/* Converts a difference to ns, rounded. */
static inline int64_t cuda_chain_ns(float ms)
{
	double ns = (double)ms * 1e6;
	return (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
}

/* True: an event this far behind the anchor becomes the next anchor. */
static inline int cuda_chain_moves(int64_t behind_ns)
{
	return behind_ns > CUDA_CHAIN_REACH_NS;
}
