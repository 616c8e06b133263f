/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of bricks that are the profiler's own work. It is recorded like the program's, so that its
 * time is part of no other brick's; reports count all of it as the recording's cost. Frozen:
 * recordings hold these names.
 */
#ifndef BRICK_ABI_OVERHEAD_H
#define BRICK_ABI_OVERHEAD_H

/* Recognises a graph that the engine built anew, or looks up its nodes. */
#define BRICK_LOOKUP_NAME "ProfilerLookup"

/* Gives a thread its memory to record into, at the thread's first hook. */
#define BRICK_READY_NAME "ProfilerReady"

/*
 * A node without work, which the evaluation callback has computed by itself: its time shows what
 * computing a node by itself takes.
 */
#define BRICK_SPLIT_NAME "ProfilerSplit"

/* A whole step that was not taken apart. Reports compare the other steps with it. */
#define BRICK_PLAIN_NAME "PlainStep"

/* A note that says: steps were not taken apart to limit the cost, and reports leave them out. */
#define BRICK_LIMITED_NOTE "steps.limited"

/* A note for each brick that stands on devices for an operation that no rule knows: its name. */
#define BRICK_UNKNOWN_NOTE "operation.unknown"

#endif
