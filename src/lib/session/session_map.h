/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's one session as it is mapped: its file, header and lanes, and the lock under which
 * all of it changes. Locks are taken in this order: queues, session, registry.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/abi/session.h"
#include "brick/abi/session_view.h"
#include "lib/sys/shared.h"

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
	bool external;					 /* its consumer is another process */
	const struct consumer_type *consumer_type;	 /* what `consumer` is of */
	struct consumer *consumer;			 /* in this process; NULL: none */
	struct brick__session_output output;		 /* that this consumer writes */
};

extern struct brick__session brick__session;

/* Serial number of the session that there is, paused or not; 0: none. Read without the lock. */
extern uint32_t brick__live;

void brick__session_lock(void);
void brick__session_unlock(void);

/*
 * brick__on for what writes to a lane. It lies in a page that the kernel empties in each child, so
 * that also the child of a clone(), which calls no handlers of forks, leaves its parent's lane
 * alone.
 */
extern const uint32_t *brick__on_here __attribute__((visibility("hidden")));

static inline uint32_t brick__serial_here(void)
{
	return __atomic_load_n(brick__on_here, __ATOMIC_RELAXED);
}

/* Turns recording on, with the session's serial number, or off (0). */
void brick__switch_set(uint32_t serial);

/*
 * Calls `noticed` in the child of a clone() the first time that it takes the session lock or asks
 * here; in the child of a fork call brick__fork_known().
 */
void brick__forks_watch(void (*noticed)(void));
void brick__fork_notice(void);
void brick__fork_known(void);

/*
 * A new session file, mapped, with what is known of the process in its header. Its tables are empty
 * and it has no magic yet: brick__session_ready() sets it, last of all. 0 or -errno.
 */
int brick__session_create(struct brick__session *session, const char *directory, const char *name,
	uint32_t mode, bool is_private);
void brick__session_ready(struct brick__session *session);
void brick__session_destroy(struct brick__session *session);

/* A pointer into the session's own mapping. */
static inline void *brick__at(const struct brick__session *session, uint64_t offset)
{
	return (char *)session->header + offset;
}

/*
 * Start the session that BRICK_SESSION_DIR asks for, if it does and none runs. 0 or -errno. It
 * calls what session.c, which stands above all that records, has said here when it was loaded.
 */
int brick__session_ensure(void);
void brick__session_starter(int (*start)(void));

/*
 * What was to be recorded and could not be, because the process could have no session or the thread
 * no lane (descriptors, memory, limits, a directory out of reach). Nothing may vanish without being
 * counted: with a session its ledger counts; without one a page does that the recorder made. Every
 * process maps it when it is attached, before the program can lock itself in.
 */

/* Map the recorder's page, if BRICK_SESSION_DIR names a recorder; once, when we are loaded. */
void brick__refusals_open(void);

/* Is there a place to count what is refused without a session? */
bool brick__refusals_counted(void);

/* There was no session to be had: why (-errno). The recorder is told. Under the session lock. */
void brick__refusals_session(int error);

/*
 * Counts so many processes (1, or -1 to take it back) that this one starts and that cannot be
 * recorded: why, and its number. Takes no lock: this may be the child of a fork. False: there is
 * no place to count.
 */
BRICK_API bool brick__refusals_process(int number, int error, uint32_t pid);

/* One record of this thread is lost; nothing is counted while recording is off. */
void brick__refusals_record(void);

/* In the child of a fork. */
void brick__refusals_abandon(void);
