/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bricks that are the profiler's own work, recorded like the program's so that it stands in nobody
 * else's time; what a recording cost counts them whole. Frozen: recordings hold these names.
 */
#ifndef BRICK_ABI_OVERHEAD_H
#define BRICK_ABI_OVERHEAD_H

/* A graph that the engine built anew is recognised, or its nodes are looked up. */
#define BRICK_LOOKUP_NAME "ProfilerLookup"

/* A thread gets memory to record into, which is new to the process: at its first hook. */
#define BRICK_READY_NAME "ProfilerReady"

/* A node without work that the evaluation callback had computed by itself, to see what that takes.
 */
#define BRICK_SPLIT_NAME "ProfilerSplit"

/* All of a step that was not taken apart, so that others can be held against it. */
#define BRICK_PLAIN_NAME "PlainStep"

#endif
