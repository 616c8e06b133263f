/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording in this process. A session starts by itself in a process that `brick record` runs; an
 * embedding program starts its own, and the library may write its recording. A process has one
 * session of its own; a program may make further ones, one for each model say. Start, stop and
 * destroy a session from one thread at a time; call the rest from any thread.
 */
#ifndef BRICK_SESSION_H
#define BRICK_SESSION_H

#include <stddef.h>
#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

/* Modes: when the device is synchronised to get its times. */
enum brick_mode {
	BRICK_MODE_DEFERRED = 0,  /* no synchronisation; device timestamps (default) */
	BRICK_MODE_PER_LAYER = 1, /* synchronise at the end of each layer */
	BRICK_MODE_IMMEDIATE = 2, /* synchronise around each brick */
	BRICK_MODE_NONE = 3,	  /* nothing is recorded */
};

/* Does a recording say when threads were off their CPUs, preempted or blocked? */
enum brick_off_cpu {
	/*
	 * Yes, as the kernel reports it for each thread that records. That takes 50 us at a
	 * thread's first brick and 68 KiB of locked memory for each thread, and no descriptor. If
	 * the kernel refuses, CPU times are recorded of steps only.
	 */
	BRICK_OFF_CPU_ON = 0,
	BRICK_OFF_CPU_OFF = 1, /* perf_event_open(2) is never called */
};

/* Options of a session. */
struct brick_session_options {
	size_t size;	    /* sizeof(struct brick_session_options) */
	const char *output; /* recording to write (a Perfetto trace), or NULL for statistics only */
	const char *
		directory; /* where to keep the session file for a consumer outside; NULL: memory */
	uint32_t mode;	   /* enum brick_mode */
	/*
	 * Records in a thread's ring, rounded up to a power of two from 1024 on. 0: 262144 (8 MiB);
	 * a session without output and directory then has no rings. With rings such a session keeps
	 * its first records (report.h). Each further 64 threads have rings of half the size, down
	 * to a sixteenth.
	 */
	uint32_t ring_records;
	/*
	 * The longest time in ms between two drains by the writer thread; it drains sooner where
	 * rings fill up. 0: 1000. Also the time between two syncs of the file, at least 100 ms: if
	 * the machine fails, records older than this and one sync are on the disk.
	 */
	uint32_t interval_ms;
	uint32_t off_cpu; /* enum brick_off_cpu; of a session with an output */
	/*
	 * Of a session with an output: keep the seconds around each slow step in a file of its own,
	 * as `brick record --slow` does. For OUTPUT run.pftrace the newest is run.slow.pftrace, the
	 * one before run.slow.1.pftrace, and so on to at most 16. Limits with commas between:
	 * "p99", "50ms", "decode=50ms", "request=2s". Takes 32 MiB of memory. NULL: none is kept.
	 * The note "slow" counts the files, and steps and losses without one.
	 */
	const char *slow;
	uint64_t slow_bytes;	/* the most of all these files together, from 16 MB on; 0: 200 MB */
	uint32_t slow_per_hour; /* the most such files in an hour; 0: 6 */
	uint32_t slow_only;	/* 1: OUTPUT.part stays empty, and goes at the end */
};

#define BRICK_SESSION_OPTIONS_INIT BRICK_SIZED(struct brick_session_options)

/*
 * Start recording. options may be NULL (statistics only). In a program under `brick record` the
 * call returns 0, and the recorder's session records. -EALREADY: a session is running. -EINVAL:
 * size, mode, off_cpu or slow. -E2BIG: fields that are not known are set. -EBUSY: another process
 * writes this recording. -EEXIST: OUTPUT.part is a link, a pipe or somebody else's file, or a file
 * of `slow` would replace another's. -ENODEV: the program has forbidden the reading of the CPU's
 * counter. -errno: memory or files cannot be had. After an error nothing has changed.
 */
BRICK_API int brick_session_start(const struct brick_session_options *options);

/*
 * Stop the session. The writer finishes the file (on return 0 it is complete, on the disk and under
 * its final name), and the session's memory is freed; threads may still be inside of bricks. The
 * recorder's session in a program under `brick record` goes on (0). -ENOENT: no session runs. Else
 * the writer's error, after which OUTPUT.part holds what was written before (with slow_only: of the
 * first file that could not be written); -ESTALE: somebody else removed, replaced or changed that
 * file.
 */
BRICK_API int brick_session_stop(void);

/* Switch recording off without ending the session. Does nothing where no session runs. */
BRICK_API void brick_pause(void);

/* Switch recording on again. Does nothing where no session runs, or in BRICK_MODE_NONE. */
BRICK_API void brick_resume(void);

/*
 * Set all statistics back to zero: reports, totals and graphs of the running session then count
 * from now on. Records that were written to a recording stay, and so does the epoch of
 * brick_epoch_ns(). 0. -ENOENT: no session. -EBUSY: a
 * brick is open on some thread. BRICK_ESTATE: another process consumes the session.
 */
BRICK_API int brick_reset(void);

/*
 * Set the session's mode. It holds for all devices that have no mode of their own. BRICK_MODE_NONE
 * switches recording off, as brick_pause() does. 0. -EINVAL: no such mode. -ENOENT: no session.
 */
BRICK_API int brick_mode_set(enum brick_mode mode);

/* The session's mode; BRICK_MODE_NONE: there is no session. */
BRICK_API enum brick_mode brick_mode_get(void);

/*
 * Keep executions one by one from now on (1), for brick_graph_of_session() and the steps of
 * reports, or only count them (0). Statistics are the same. A session with a recording or a ring
 * keeps executions from its start on. A thread changes at its next brick outside of others. 0.
 * -ENOENT: no session. BRICK_ESTATE: 0 was asked for, but a recording needs the executions.
 */
BRICK_API int brick_session_graph_set(int is_on);

/* Returns 1 if executions are kept, else 0. -ENOENT: no session. */
BRICK_API int brick_session_graph_get(void);

/* ns since the session's epoch: its start, or the last brick_epoch_begin(). 0: no session. */
BRICK_API uint64_t brick_epoch_ns(void);

/* Begin an epoch, from which brick_epoch_ns() counts; statistics stay. 0. -ENOENT: no session. */
BRICK_API int brick_epoch_begin(void);

/*
 * Add the note "key=value" to the recording; newlines become blanks, and a line longer than 1022
 * bytes is cut. 0. -ENOENT: no session. -EINVAL: key or format is NULL, or the key has more than
 * 510 bytes. BRICK_EFULL: there is no room for the note; counted, table_full.
 */
BRICK_API int brick_note(const char *key, const char *format, ...) BRICK_PRINTF(2, 3);

/*
 * Store the last note of that key, cut to `bytes` with its terminating 0. Returns the length of the
 * whole note. value may be NULL if bytes is 0. -EINVAL: key or value is NULL. -ENOENT: no session.
 * BRICK_ENOTRECORDED: no such note.
 */
BRICK_API int brick_note_get(const char *key, char *value, size_t bytes);

/*
 * Set a program's own facts about its memory, which reports show: the notes "l2.hit_rate", a share
 * from 0 to 1 (-EINVAL: any other number), and "zero_copy", yes or no. The last call counts. Errors
 * as of brick_note().
 */
BRICK_API int brick_l2_hit_rate_set(double share);
BRICK_API int brick_zero_copy_set(int is_used);

/*
 * Get what was set last: the share goes to *share, "zero_copy" is returned as 1 or 0. Errors as of
 * brick_note_get().
 */
BRICK_API int brick_l2_hit_rate_get(double *share);
BRICK_API int brick_zero_copy_get(void);

/*
 * A further session, for one model say. Each session has its own bricks, statistics, steps, notes,
 * losses and output. A thread uses one session at a time, and all calls of this library are about
 * that session: those of this page, of probes, registry, statistics, devices, tiles and reports.
 * A thread that was not told which session to use uses the process's own; that costs what it costs
 * without other sessions.
 *
 *	struct brick_session *before = brick_session_use(model->session);
 *	run(model);
 *	brick_session_use(before);
 */
struct brick_session;

/*
 * Make a session and start it; options and errors are those of brick_session_start(). Destroy it
 * with brick_session_destroy(). In a program under `brick record` the recorder's session takes its
 * records.
 */
BRICK_API int brick_session_create(
	struct brick_session **out, const struct brick_session_options *options);

/*
 * Stop a session, if brick_session_stop() has not, and free it. Returns 0 or the error of
 * brick_session_stop(). Threads that still use the session record nothing until they use another
 * one. In the child of a fork a parent's session records nothing. NULL is legal.
 */
BRICK_API int brick_session_destroy(struct brick_session *session);

/*
 * Have the calling thread use a session from now on; NULL: the process's own. Returns the session
 * that the thread used before. The thread's bricks stay open there: end each brick in the session
 * in which it began. Takes some 100 ns, and more at a thread's first time in a session.
 */
BRICK_API struct brick_session *brick_session_use(struct brick_session *session);

BRICK_END_DECLS

#endif
