/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes of the session: the calling thread's place to record into, how a thread gets it and leaves
 * it, and the memory of all lanes, of threads and of queues.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/abi/thread.h"
#include "brick/probe.h"
#include "lib/session/session_map.h"

/*
 * Sets the thread's frame, span and word for its next brick, and whether the fast half may begin
 * and end that brick. Call it after each change of the lane, of the layer, or of `depth`.
 */
void brick__thread_aim(struct brick__thread *self);

/*
 * True if another tool hears of each brick (lib/probe/emit.h): the fast half then begins none. It
 * is as the environment was when the library was loaded. Any thread.
 */
BRICK_API bool brick__emits(void);

/* The result of brick__emits(), valid after its first call: each thread that gets a lane calls it.
 */
extern bool brick__emitting __attribute__((visibility("hidden")));

/*
 * Gives the ring memory up to record `records`, and some more, if the system has it. A thread calls
 * it when it fills the first part of its ring before the recorder has seen the lane; the recorder
 * gives memory to all of the ring (src/lib/drain/map_session.c), which would hold up the thread for
 * milliseconds. Owner of the lane; without the session lock.
 */
void brick__lane_back(struct brick_lane *lane, uint64_t records);

/* Raises `backed` to `records`, which have memory now; owner and recorder may do so at once. */
static inline void brick__lane_backed(struct brick_lane *lane, uint64_t records)
{
	uint64_t now = __atomic_load_n(&lane->backed, __ATOMIC_RELAXED);

	while (now < records && !__atomic_compare_exchange_n(&lane->backed, &now, records, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* True if the ring has memory for `count` records from the head on. */
static inline bool brick__lane_backs(const struct brick_lane *lane, uint64_t count)
{
	uint64_t backed = __atomic_load_n(&lane->backed, __ATOMIC_RELAXED);

	return backed >= lane->capacity || lane->head + count <= backed;
}

/*
 * Call it before the program has the kernel kill it for a reading of the CPU's counter
 * (prctl(PR_SET_TSC)). All sessions stop recording, with a note that says so, and times stand
 * still.
 */
BRICK_API void brick__counter_goes(void);

/* Returns the index of the thread's lane in its session; the thread must have a lane. */
static inline uint32_t brick__lane_index(const struct brick__thread *self)
{
	return self->tag >> 8 & (BRICK_MAX_LANES - 1);
}

/* Takes the lane away from a thread's place; the thread still uses the same session. */
void brick__thread_forget(struct brick__thread *self);

/*
 * Gets a lane for the calling thread, at its first brick in a session. NULL: recording is off, or
 * there is no lane to be had. Without the session lock.
 */
struct brick_lane *brick__thread_attach(void);

/* Counts an end that matches no open brick: in the lane's ledger, without a lane in the session's.
 */
void brick__end_unmatched(struct brick__thread *self);

/* A function to call whenever a thread has got a lane; NULL: none. One for the process. */
extern void (*brick__thread_begun)(void) __attribute__((visibility("hidden")));

/* Under the session lock: a new lane at the end of the file; NULL when there is no room for it. */
struct brick_lane *brick__lane_create(struct brick_session *session, enum brick_lane_kind kind);

/*
 * Call it when the program is about to forbid itself system calls: makes ready what threads and
 * bricks will need. From here on the library makes no system call (lib/sys/confined.h).
 */
BRICK_API void brick__confine(void);

/* Unmaps a lane of a session that is over, with its blocks of histograms. Owner of the lane. */
void brick__lane_unmap(struct brick_lane *lane);

/*
 * Under the session lock: unmaps the lanes of a session that ends. Lanes of live threads stay
 * mapped until their threads notice, unless is_quiet says that no thread is in a brick of it.
 */
void brick__lanes_release(struct brick_session *session, bool is_quiet);

/* Was it unmapped then, with the session of this serial number? */
bool brick__lane_is_gone(uint32_t serial);

/* In the child of a fork: unmap the parent's lanes, and take them from the child's thread. */
void brick__lanes_abandon(struct brick_session *session);
void brick__thread_abandon(void);

/*
 * Has the calling thread use another session; NULL: the process's own. Returns the session that it
 * used. The thread's lane and open bricks there are kept until the thread uses that session again.
 */
struct brick_session *brick__thread_use(struct brick_session *session);

/*
 * Gives the lane rows in the statistics for a brick from id BRICK_FIRST_ROWS on, before the brick
 * is counted. False: there is no such brick, or no memory; the ledger counts either. Owner of the
 * lane.
 */
bool brick__lane_rows(struct brick_lane *lane, uint32_t brick);

/* True if the lane has, or gets, rows for the brick. Ask before each execution is counted. */
static inline bool brick__lane_counts(struct brick_lane *lane, uint32_t brick)
{
	return BRICK_LIKELY(brick < BRICK_FIRST_ROWS) || brick__lane_rows(lane, brick);
}

/* Under the session lock: returns the brick's row of the lane's histograms; NULL: it is empty. */
uint32_t *brick__lane_histogram_row(const struct brick_lane *lane, uint32_t brick);

/* Enters one length into the lane's histogram of a brick. Owner of the lane. */
void brick__lane_histogram(struct brick_lane *lane, uint32_t brick, uint64_t ticks);
