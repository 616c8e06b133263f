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
 * After its lane, its layer, or what is open there has changed: where its next brick is kept, and
 * whether the fast half may begin and end it.
 */
void brick__thread_aim(struct brick__thread *self);

/*
 * Does another tool hear of each brick (lib/probe/emit.h)? Then no fast half begins one. As the
 * environment was when the library was loaded. Any thread.
 */
BRICK_API bool brick__emits(void);

/* The same, once somebody has asked: threads that get a lane do. */
extern bool brick__emitting __attribute__((visibility("hidden")));

/*
 * Up to this record the ring gets memory, if it can: all at once would take milliseconds. The
 * recorder gives it the rest when it sees the lane (src/lib/drain/map_session.c); a thread that
 * fills its first part before that asks for more by itself.
 */
void brick__lane_back(struct brick_lane *lane, uint64_t records);

/* The ring has memory for so many records now; owner and recorder may both say so. */
static inline void brick__lane_backed(struct brick_lane *lane, uint64_t records)
{
	uint64_t now = __atomic_load_n(&lane->backed, __ATOMIC_RELAXED);

	while (now < records && !__atomic_compare_exchange_n(&lane->backed, &now, records, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* True if the ring has memory for so many records behind the head. */
static inline bool brick__lane_backs(const struct brick_lane *lane, uint64_t count)
{
	uint64_t backed = __atomic_load_n(&lane->backed, __ATOMIC_RELAXED);

	return backed >= lane->capacity || lane->head + count <= backed;
}

/*
 * Before the program lets the kernel stop it where it reads the counter. What records then ends
 * (struct brick_session's note says so), and times stand still.
 */
BRICK_API void brick__counter_goes(void);

/* Of its lane in its session. */
static inline uint32_t brick__lane_index(const struct brick__thread *self)
{
	return self->tag >> 8 & (BRICK_MAX_LANES - 1);
}

/* It has no lane any more, and uses the same session. */
void brick__thread_forget(struct brick__thread *self);

/* A lane for the calling thread, at its first brick in a session. NULL: recording is off. */
struct brick_lane *brick__thread_attach(void);

/* An end that belongs to nothing that is open here: counted, by the session if there is no lane. */
void brick__end_unmatched(struct brick__thread *self);

/* Is called whenever a thread has got a lane; NULL: nothing is. One for the process. */
extern void (*brick__thread_begun)(void) __attribute__((visibility("hidden")));

/* Under the session lock: a new lane at the end of the file; NULL when there is no room for it. */
struct brick_lane *brick__lane_create(struct brick_session *session, enum brick_lane_kind kind);

/*
 * The program is about to forbid itself system calls: what threads and bricks will need is made
 * ready now, and from here on none is made (lib/sys/confined.h).
 */
BRICK_API void brick__confine(void);

/* Of a session that is over: its owner unmaps it, with its histograms. */
void brick__lane_unmap(struct brick_lane *lane);

/* Give back all lanes of a session that ends; those of live threads stay mapped until they notice.
 */
void brick__lanes_release(struct brick_session *session);

/* In the child of a fork: unmap what is the parent's, and have no lane. */
void brick__lanes_abandon(struct brick_session *session);
void brick__thread_abandon(void);

/*
 * The calling thread uses another session; NULL: the process's own. Its lane and its open bricks
 * in the one that it used are kept until it comes back. Returns the one before.
 */
struct brick_session *brick__thread_use(struct brick_session *session);

/*
 * Rows in the statistics for a brick beyond the first BRICK_FIRST_ROWS, before it is counted; owner
 * of the lane. False: there is no such brick, or no memory; that is counted.
 */
bool brick__lane_rows(struct brick_lane *lane, uint32_t brick);

/* May it be counted? */
static inline bool brick__lane_counts(struct brick_lane *lane, uint32_t brick)
{
	return BRICK_LIKELY(brick < BRICK_FIRST_ROWS) || brick__lane_rows(lane, brick);
}

/* Under the session lock: what its owner entered; NULL: nothing. */
uint32_t *brick__lane_histogram_row(const struct brick_lane *lane, uint32_t brick);

/* Enter one length into the histogram that the owner of the lane keeps. */
void brick__lane_histogram(struct brick_lane *lane, uint32_t brick, uint64_t ticks);
