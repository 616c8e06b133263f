/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the library share: the process's one session, the calling thread's lane, and
 * the slow halves of the hot path. Lock order: session lock, then registry lock.
 */
#ifndef BRICK_LIB_CORE_H
#define BRICK_LIB_CORE_H

#include <stddef.h>
#include <stdint.h>
#include "brick/brick.h"
#include "brick/abi/session.h"
#include "lib/sys/shared.h"

/* What no session's serial number is: a thread without a lane is in none, and none is also when
 * brick__on is 0. */
#define BRICK__NO_SERIAL UINT32_MAX

/* The calling thread's place to record into; serial is BRICK__NO_SERIAL while it has no lane. */
struct brick__thread {
	struct brick_lane *lane;
	struct brick_record *ring;
	uint64_t mask;	 /* of the ring: capacity - 1 */
	uint32_t serial; /* of the session that the lane belongs to; the lane stays mapped after it
			  */
	uint32_t tag;	 /* serial << 8: the upper bits of the spans that are begun here */
	uint32_t index;	 /* of the lane in its session */
	uint32_t refused, refused_by; /* how often it got no lane, from which session */
};

extern __thread struct brick__thread brick__thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* A mapped lane of the process's own session. */
struct brick__lane_entry {
	struct brick_lane *lane;
	uint64_t bytes;
};

/* The process's session; header is NULL when there is none. Changes under the session lock only. */
struct brick__session {
	uint32_t serial; /* of the running or the last session; grows with each */
	struct brick__shared file;
	struct brick_session_header *header; /* header, tables and drained histograms */
	uint64_t header_bytes;
	struct brick__lane_entry lanes[BRICK_MAX_LANES]; /* as many as header->lane_count */
	uint32_t ring_records;				 /* 0: nobody consumes records */
	int external;					 /* its consumer is another process */
	const struct consumer_type *consumer_type;	 /* what `consumer` is of */
	struct consumer *consumer;			 /* in this process; NULL: none */
};

extern struct brick__session brick__session;

/* Serial number of the session that there is, paused or not; 0: none. Read without the lock. */
extern uint32_t brick__live;

void brick__session_lock(void);
void brick__session_unlock(void);

/* Start the session that BRICK_SESSION_DIR asks for, if it does and none runs. 0 or -errno. */
int brick__session_ensure(void);

/* A lane for the calling thread: its thread's first brick, or the first in a new session. NULL:
 * off. */
struct brick_lane *brick__thread_attach(void);

/* An end that belongs to nothing that is open here: counted, by the session if there is no lane. */
void brick__end_unmatched(struct brick__thread *self);

/* Tiles as the recorder wants them; at the start of a session. */
void brick__tiles_start(void);

/* Give back all lanes of a session that ends; those of live threads stay mapped until they notice.
 */
void brick__lanes_release(struct brick__session *session);

/* From now on the locks are held over forks, which leave the child without a session. Once. */
void brick__forks_watch(void);

/* Hold the registry still over a fork. */
void brick__registry_lock(void);
void brick__registry_unlock(void);

/* In the child of a fork: unmap what is the parent's. */
void brick__lanes_abandon(struct brick__session *session);
void brick__session_abandon(void);

/* Entries for tables of a new session (under the session lock), and of what is registered later. */
void brick__registry_publish(struct brick__session *session);

/* A registered site by index; NULL if there is none. */
BRICK_API const struct brick_session_site *brick__site(uint32_t index);

/* As brick_end() at the time `now`. */
void brick__end_at(brick_span span, uint64_t now);

/*
 * As brick__end_at(), and as brick_record_sample(); with a record about it behind it,
 * which is dropped when it is. about may be NULL.
 */
void brick__close_with(brick_span span, uint64_t now, const struct brick_record *about);
void brick__sample_with(const struct brick_sample *sample, const struct brick_record *about);

/* Enter one length into the histogram that the owner of the lane keeps. */
void brick__lane_histogram(struct brick_lane *lane, uint32_t brick, uint64_t ticks);

/* Median and quartiles of what a begin/end pair costs, into the header. */
void brick__pair_cost_measure(struct brick_session_header *header);

/* Digests (digest_record.c): where they go, NULL for nowhere; and that a step begins here. */
void brick__digests_use(struct brick_session_header *header);
void brick__digests_step(enum brick_phase phase, uint64_t tokens);
void brick__digests_lock(void);
void brick__digests_unlock(void);
void brick__digests_abandon(void);

/* Pointers into the session's own mapping. */
static inline void *brick__at(const struct brick__session *session, uint64_t offset)
{
	return (char *)session->header + offset;
}

#endif
