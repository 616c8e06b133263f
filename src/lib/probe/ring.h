/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of all recording into the thread's own ring: space, statistics, and open bricks.
 * Invariants: an open brick's OPEN is in the ring before what the brick holds; records other than
 * CLOSEs leave CLOSE_RESERVE places free, so that the CLOSE of every open brick finds room, with
 * its WORK. probe.c records begins and ends, sample.c samples and instants. Owner of the lane.
 */
#pragma once

#include <stdbool.h>
#include "brick/abi/lane.h"
#include "brick/probe.h"
#include "lib/session/session_lanes.h"

#define SLOW __attribute__((noinline, cold))

enum { CLOSE_RESERVE = 2 * BRICK_MAX_DEPTH };

/* Space. */

/*
 * Reads the consumer's tail again, asks for memory for the ring if need be, and sets `limit`.
 * Returns 1 if there is room for `count` records that are no CLOSE.
 */
SLOW int brick__ring_look(struct brick_lane *lane, uint64_t count);

static inline int ring_has(struct brick_lane *lane, uint64_t count)
{
	return BRICK_LIKELY(lane->head + count <= lane->limit) || brick__ring_look(lane, count);
}

static inline struct brick_record *ring_at(const struct brick__thread *self, uint64_t index)
{
	return &self->ring[index & self->mask];
}

static inline void ring_publish(struct brick_lane *lane, uint64_t count)
{
	__atomic_store_n(&lane->head, lane->head + count, __ATOMIC_RELEASE);
}

/*
 * Call it for an execution without a record: counts it as dropped (unless the lane has no ring),
 * and enters its length into the lane's histogram, as the consumer will not.
 */
SLOW void brick__ring_drop(struct brick_lane *lane, uint32_t brick, uint64_t ticks);

/* The thread. */

static inline bool lane_is_current(const struct brick__thread *self)
{
	return self->serial == brick__serial_here();
}

/* Gives this thread its lane; NULL: there is none to be had, and the record counts as refused. */
SLOW struct brick__thread *brick__thread_begin(void);

static inline struct brick__thread *thread_here(void)
{
	struct brick__thread *self = &brick__thread;

	return BRICK_LIKELY(lane_is_current(self)) ? self : brick__thread_begin();
}

/* Work that lies in no stack. */

/* Record it with its end, in ticks. track: NULL for "Asynchronous". As brick_queue_record();
 * -ENOMEM. */
BRICK_API int brick__async_record(
	const struct brick_async *async, uint64_t end, uint64_t elements, const char *track);

/* Open bricks. */

/* Writes the OPEN of the innermost open brick, which holds others now. It must not be OPENED yet.
 */
SLOW void brick__ring_open(struct brick__thread *self);

/* Writes which command a frame with BRICK_FRAME_WAITED waited for, behind the frame's CLOSE. */
SLOW void brick__ring_waited(
	struct brick__thread *self, const struct brick_frame *frame, uint64_t end);

/* Call it before something is recorded inside of open bricks: all of them are OPENED then. */
static inline void open_parents(struct brick__thread *self)
{
	if (BRICK_UNLIKELY(brick_lane_leaf(self->lane)))
		brick__ring_open(self);
}

/* Statistics. */

/* True if one of the frames below `depth` is of the same brick: its total counts this time already.
 */
static inline bool is_recursive(const struct brick_lane *lane, uint32_t depth, uint32_t brick)
{
	for (uint32_t i = 0; i < depth; i++)
		if (lane->frames[i].brick == brick)
			return true;
	return false;
}

/* Counts one execution; self_ticks: its length less the time of what was nested in it. */
static inline void count_one(
	struct brick_stat *stat, uint64_t ticks, uint64_t self_ticks, int recursive)
{
	stat->count++;
	stat->self += self_ticks;
	if (BRICK_LIKELY(!recursive))
		stat->total += ticks;
	else
		stat->nested += ticks;
	if (ticks < stat->min)
		stat->min = ticks;
	if (ticks > stat->max)
		stat->max = ticks;
}
