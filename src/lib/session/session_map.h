/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions as they are mapped: file, header and lanes, and the one session lock under which all of
 * them change. The process has its own session, brick__session; programs may make more
 * (brick_session_create()). Whatever the library does for a thread, it does in the session that the
 * thread uses. Lock order: queues, session, registry. "Under the session lock" means between
 * brick__session_lock() and brick__session_unlock().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/abi/session.h"
#include "brick/abi/session_view.h"
#include "brick/abi/thread.h"
#include "lib/sys/shared.h"

/*
 * The `serial` of a thread without a lane; no session has this serial number. It differs from 0,
 * since brick__on is 0 while nothing records.
 */
#define BRICK__NO_SERIAL UINT32_MAX
#define BRICK__NO_THREAD                                                                   \
	{                                                                                  \
		.serial = BRICK__NO_SERIAL, .span = BRICK__NO_SPAN, .frame = &brick__taken \
	}

/* A thread's `frame` where the library must begin and end all bricks: it always looks taken. */
extern struct brick_frame brick__taken __attribute__((visibility("hidden")));

/* A mapped lane, and its blocks of histograms behind the first one. */
struct brick__lane_entry {
	struct brick_lane *lane;
	uint64_t bytes;			      /* of its mapping */
	void *blocks[BRICK_HISTOGRAM_BLOCKS]; /* from [1] on; NULL: not mapped */
};

/*
 * Where addresses are limited (RLIMIT_AS), a session or a lane takes at most a 16th of what is
 * left: the rest is the program's.
 */
enum { BRICK__ADDRESSES_PART = 16 };

/* Rounds up to 64 KiB, a multiple of every kernel's page: parts of the file are mapped one by one.
 */
static inline uint64_t brick__page_round(uint64_t bytes)
{
	enum { PAGE = 65536 };

	return (bytes + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/* A session. It changes under the session lock only. */
struct brick_session {
	uint32_t serial;  /* number of the running or the last run; unique in the process */
	uint32_t live;	  /* serial while it runs, paused or not, else 0; read without the lock */
	uint32_t records; /* 1 while its threads record or try to; read without the lock */
	bool wanted;	  /* as the program wants `records`; the recorder may have it off */
	struct brick__shared file;
	struct brick_session_header *header; /* with tables and drained histograms; NULL: it does
						not run */
	uint64_t header_bytes;		     /* of this mapping */
	uint64_t end; /* where the next part of the file goes; page-rounded */
	/* the first header->lane_count are in use; spare_lanes unused ones follow */
	struct brick__lane_entry lanes[BRICK_MAX_LANES];
	uint32_t spare_lanes;
	uint32_t ring_records; /* of a thread's ring; 0: lanes have no rings */
	bool renewed;	       /* ring_records has changed to 0, or from 0, while it ran */
	uint32_t mode;	       /* enum brick_mode; read without the lock */
	uint64_t epoch;	       /* ticks; see brick_epoch_ns() */
	bool external;	       /* its consumer is another process */
	bool rings_grow;       /* rings get memory bit by bit (brick__lane_back()), else at once */
	const struct consumer_type *consumer_type; /* the functions for `consumer` */
	struct consumer *consumer;		   /* in this process; NULL: none */
	struct brick__session_output output;	   /* that `consumer` writes; path "": none */
	void *answers; /* libbrick-report's, also after the end; see brick__session_answers() */

	/* of a session that the program made */
	struct brick_session *next; /* in the list that begins with brick__session */
	uint32_t owner;		    /* number of the owner of its bricks; 0: the process */
	uint32_t holders;	    /* threads that use it, and the program until it destroys it */
	bool is_alias;		    /* the recorder's session takes its records */
};

/* The process's own session. The list of all sessions that may run begins with it. */
extern struct brick_session brick__session;

/* Returns the session that records what the calling thread does. Never NULL. */
static inline struct brick_session *brick__session_here(void)
{
	struct brick_session *s = brick__thread.session;

	return BRICK_LIKELY(!s) || s->is_alias ? &brick__session : s;
}

/* Under the session lock: returns the session that runs with this serial number; NULL: it is over.
 */
struct brick_session *brick__session_of(uint32_t serial);

/* True if a session runs with this serial number. Call it without the session lock. */
bool brick__session_lives(uint32_t serial);

/* Add a holder, or take one away: the last one frees the session. NULL is legal. Without the lock.
 */
void brick__session_keep(struct brick_session *session);
void brick__session_release(struct brick_session *session);

/* Returns a new serial number, never 0. Under the session lock, or before there are threads. */
uint32_t brick__serial_next(void);

static inline bool brick__session_records(const struct brick_session *s)
{
	return __atomic_load_n(&s->records, __ATOMIC_RELAXED);
}

/* Returns the mode of the session that the thread uses; while it does not run: deferred. */
static inline uint32_t brick__mode_here(void)
{
	return __atomic_load_n(&brick__session_here()->mode, __ATOMIC_RELAXED);
}

/* Returns the serial number of the session that records what this thread does; 0: none. */
static inline uint32_t brick__number_here(void)
{
	const struct brick_session *s = brick__session_here();

	return brick__session_records(s) ? __atomic_load_n(&s->serial, __ATOMIC_RELAXED) : 0;
}

void brick__session_lock(void);
void brick__session_unlock(void);

/*
 * True if the calling thread holds the session lock, or waits for it. The caller is then a signal's
 * handler, and would wait for itself if it took the lock.
 */
bool brick__session_is_busy(void);

/*
 * Returns the id of the process whose memory this is: in a child of vfork() that is the parent's.
 */
uint32_t brick__process_id(void);

/*
 * Whoever writes to a lane reads brick__on through this pointer. It points into a page that the
 * kernel empties in each child: so the child of a raw clone(), which runs no handlers of forks,
 * finds 0 and leaves its parent's lane alone.
 */
extern const uint32_t *brick__on_here __attribute__((visibility("hidden")));

static inline uint32_t brick__serial_here(void)
{
	return __atomic_load_n(brick__on_here, __ATOMIC_RELAXED);
}

/*
 * Switches a session's recording on or off. Under the session lock, or before there are threads. A
 * recorder's session stays off while the recorder's page says so.
 * While the process's own session is the only one, brick__on is its serial number. If there are
 * others, or the session was renewed, each change gives brick__on a new number, so that every
 * thread checks once whether its lane is still right.
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
 * Makes a new session file and maps it; the header describes the process. The tables are empty, and
 * the header has no magic yet: brick__session_ready() sets it, last of all. 0 or -errno.
 */
int brick__session_create(struct brick_session *session, const char *directory, const char *name,
	uint32_t mode, bool is_private);
void brick__session_ready(struct brick_session *session);

/*
 * Under the session lock: makes room in the file for the consumer's histograms of `bricks` bricks.
 * If there is no room for all, the consumer keeps the last ones in memory of its own.
 */
void brick__session_histograms(struct brick_session *session, uint32_t bricks);
void brick__session_destroy(struct brick_session *session);

/* Returns the address of an offset below header_bytes: header or tables, no lane. */
static inline void *brick__at(const struct brick_session *session, uint64_t offset)
{
	return (char *)session->header + offset;
}

/*
 * Under the session lock: appends whole lines to the notes. BRICK_EFULL: they do not fit, none was
 * added, and the ledger counts it (table_full).
 */
int brick__notes_append(struct brick_session_header *header, const char *lines, size_t bytes);

/*
 * Starts the process's own session if BRICK_SESSION_DIR asks for one and none runs. 0, also if one
 * runs already; -errno. It calls the function that session.c, which is built on top of this file,
 * has given to brick__session_starter() when it was loaded.
 */
int brick__session_ensure(void);
void brick__session_starter(int (*start)(void));

/*
 * Refusals: what could not be recorded, because the process could have no session or the thread no
 * lane (descriptors, memory, limits, a directory out of reach). Nothing may vanish uncounted. A
 * session's ledger counts; where there is none, a page that the recorder made counts. Every process
 * maps that page when it is attached, before the program can forbid itself system calls.
 */

/*
 * Maps the recorder's page, if BRICK_SESSION_DIR names a recorder: when we are loaded, or a
 * recorder attaches. Unmaps it when that recorder leaves, and no thread is in a brick.
 */
void brick__refusals_open(void);
void brick__refusals_close(void);

/* Returns the recorder's page; NULL: there is none. */
const struct brick_session_refusals *brick__refusals_page(void);

/* True if the recorder's page is mapped. */
bool brick__refusals_counted(void);

/*
 * Under the session lock: tells the recorder, once for a process, that this process can have no
 * session; error: why (-errno).
 */
void brick__refusals_session(int error);

/*
 * Counts a process that this one starts and that cannot be recorded: why (-errno), its id and its
 * program. program NULL: takes the last count back. Takes no lock: this may be the child of a fork.
 * False: there is no page to count in.
 */
BRICK_API bool brick__refusals_process(int error, uint32_t pid, const char *program);

/* Notes the name of a statically linked program; it may record by itself, so nothing is counted. */
BRICK_API void brick__refusals_static(const char *program);

/* Counts one lost record of this thread. Does nothing while recording is off. */
void brick__refusals_record(void);

/* In the child of a fork: the child may tell of its own refusal. */
void brick__refusals_abandon(void);
