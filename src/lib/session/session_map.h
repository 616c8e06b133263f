/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions as they are mapped: file, header and lanes, and the one lock under which all of them
 * change. The process has its own one; programs may make more (brick_session_create()). What the
 * library does for a thread it does in the session that the thread uses. Locks are taken in this
 * order: queues, session, registry.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/abi/session.h"
#include "brick/abi/session_view.h"
#include "brick/abi/thread.h"
#include "lib/sys/shared.h"

/* No session has this serial number: a thread without a lane is in none. It is not 0, which is
 * what brick__on is while nothing records. */
#define BRICK__NO_SERIAL UINT32_MAX
#define BRICK__NO_THREAD                                                                   \
	{                                                                                  \
		.serial = BRICK__NO_SERIAL, .span = BRICK__NO_SPAN, .frame = &brick__taken \
	}

/* In place of a frame: no fast half begins a brick here, or ends one. */
extern struct brick_frame brick__taken __attribute__((visibility("hidden")));

/* A mapped lane, and its blocks of histograms behind the first one. */
struct brick__lane_entry {
	struct brick_lane *lane;
	uint64_t bytes;
	void *blocks[BRICK_HISTOGRAM_BLOCKS]; /* NULL: there is none */
};

/* Where addresses are limited (RLIMIT_AS), a session takes, and each lane, this part of what is
 * left at most: the program may have a use for all others. */
enum { BRICK__ADDRESSES_PART = 16 };

/* A multiple of every kernel's page, since parts of the file are mapped one by one. */
static inline uint64_t brick__page_round(uint64_t bytes)
{
	enum { PAGE = 65536 };

	return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* A session; header is NULL while it does not run. Changes under the session lock only. */
struct brick_session {
	uint32_t serial;  /* of the running or the last one; unique in the process */
	uint32_t live;	  /* the same while it runs, paused or not, else 0; read without the lock */
	uint32_t records; /* 1 while its threads record or try to; read without the lock */
	struct brick__shared file;
	struct brick_session_header *header; /* header, tables and drained histograms */
	uint64_t header_bytes;
	uint64_t end;					 /* of the file: the next part goes there */
	struct brick__lane_entry lanes[BRICK_MAX_LANES]; /* as many as header->lane_count ... */
	uint32_t spare_lanes;  /* ... and behind them those that no thread has had so far */
	uint32_t ring_records; /* 0: nobody consumes records */
	bool renewed;	       /* ring_records was not always 0, or was not always set */
	uint32_t mode;	       /* enum brick_mode; read without the lock */
	uint64_t epoch;	       /* ticks */
	bool external;	       /* its consumer is another process */
	bool rings_grow; /* as its recorder sees them: programs that start a session pay at once */
	const struct consumer_type *consumer_type; /* what `consumer` is of */
	struct consumer *consumer;		   /* in this process; NULL: none */
	struct brick__session_output output;	   /* that this consumer writes */
	void *answers; /* what libbrick-report keeps of it after its end */

	/* of one that the program made */
	struct brick_session *next; /* in the list that begins with the process's own */
	uint32_t owner;		    /* of its bricks; 0: the process */
	uint32_t holders;	    /* threads that use it, and the program until it destroys it */
	bool is_alias;		    /* a recorder's session takes its records */
};

/* The process's own, with which the list of all that may run begins. */
extern struct brick_session brick__session;

/* The one that the calling thread uses. */
static inline struct brick_session *brick__session_here(void)
{
	struct brick_session *s = brick__thread.session;

	return BRICK_LIKELY(!s) || s->is_alias ? &brick__session : s;
}

/* Under the session lock: the one that runs with this serial number; NULL: it is over. */
struct brick_session *brick__session_of(uint32_t serial);

/* Without it. */
bool brick__session_lives(uint32_t serial);

/* One holder more, or one less: the last one frees it. NULL is legal. */
void brick__session_keep(struct brick_session *session);
void brick__session_release(struct brick_session *session);

/* A serial number, which nothing else has. Under the session lock, or before there are threads. */
uint32_t brick__serial_next(void);

static inline bool brick__session_records(const struct brick_session *s)
{
	return __atomic_load_n(&s->records, __ATOMIC_RELAXED);
}

/* The mode of the session that the thread uses; of none: deferred. */
static inline uint32_t brick__mode_here(void)
{
	return __atomic_load_n(&brick__session_here()->mode, __ATOMIC_RELAXED);
}

/* The serial number of the session that records what this thread does; 0: none. */
static inline uint32_t brick__number_here(void)
{
	const struct brick_session *s = brick__session_here();

	return brick__session_records(s) ? __atomic_load_n(&s->serial, __ATOMIC_RELAXED) : 0;
}

void brick__session_lock(void);
void brick__session_unlock(void);

/*
 * Does the calling thread hold the lock, or wait for it? Then this is a handler of a signal, which
 * would wait for itself.
 */
bool brick__session_is_busy(void);

/* Of the process whose memory this is: also in a child of vfork(), which may be the first to
 * record. */
uint32_t brick__process_id(void);

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

/*
 * A session records from now on, or does not. Under the session lock, or before there are threads.
 * While the process's own is the only one, brick__on is its serial number. Beside others, and once
 * its lanes were renewed, each change gives it a new number, so that every thread looks once
 * whether its lane is still right.
 */
void brick__switch_set(struct brick_session *session, bool records);

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
int brick__session_create(struct brick_session *session, const char *directory, const char *name,
	uint32_t mode, bool is_private);
void brick__session_ready(struct brick_session *session);

/*
 * Under the session lock: the consumer gets a place in the file for histograms of so many bricks.
 * Where there is none to be had, it keeps those of the last ones to itself.
 */
void brick__session_histograms(struct brick_session *session, uint32_t bricks);
void brick__session_destroy(struct brick_session *session);

/* A pointer into the session's own mapping. */
static inline void *brick__at(const struct brick_session *session, uint64_t offset)
{
	return (char *)session->header + offset;
}

/*
 * Append lines to its notes, under the session lock; what does not fit is dropped whole and counted
 * (BRICK_EFULL).
 */
int brick__notes_append(struct brick_session_header *header, const char *lines, size_t bytes);

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

/* That page, NULL: there is none. */
const struct brick_session_refusals *brick__refusals_page(void);

/* Is there a place to count what is refused without a session? */
bool brick__refusals_counted(void);

/* There was no session to be had: why (-errno). The recorder is told. Under the session lock. */
void brick__refusals_session(int error);

/*
 * Counts a process that this one starts and that cannot be recorded: why, its number and program.
 * Takes no lock: this may be the child of a fork. program NULL: the last one is taken back. False:
 * there is no place to count.
 */
BRICK_API bool brick__refusals_process(int error, uint32_t pid, const char *program);

/* The same of one that is linked statically: it may record by itself, so it only gets a name. */
BRICK_API void brick__refusals_static(const char *program);

/* One record of this thread is lost; nothing is counted while recording is off. */
void brick__refusals_record(void);

/* In the child of a fork. */
void brick__refusals_abandon(void);
