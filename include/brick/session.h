/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording in this process. A session starts by itself in a process that `brick record` runs; an
 * embedding program starts its own and may have the library write the recording. The process has
 * one session, and makes more where an engine has several models. Start, stop and destroy a session
 * from one thread at a time; the rest from any thread.
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
	/* As the kernel tells it of each thread that records: 50 us more at a thread's first brick,
	 * 68 KiB of locked memory, no descriptor. Where it refuses, CPU times are of steps only. */
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
	uint32_t ring_records; /* per thread, rounded up to a power of two; 0: 262144 (8 MiB), or
				  none in a session without output and directory, which keeps its
				  first records if it is set (report.h). Each further 64 threads
				  have half as much, down to a sixteenth */
	uint32_t interval_ms;  /* of the writer thread at most, less where rings fill up sooner; 0:
				  1000. Also between syncs of the file (100 at least): what a
				  machine that fails takes along is not older, but for one sync */
	uint32_t off_cpu;      /* enum brick_off_cpu; of a session with an output */
};

#define BRICK_SESSION_OPTIONS_INIT BRICK_SIZED(struct brick_session_options)

/*
 * Start recording. options may be NULL (statistics only). -EALREADY: one is running. -EINVAL: size,
 * mode or off_cpu; -E2BIG: fields that are not known are set; -EBUSY: another process writes this
 * recording; -EEXIST: OUTPUT.part is a link, a pipe or somebody else's file; -errno when memory or
 * files cannot be had. After all of these everything is as if it had not been called.
 * A program under `brick record` gets 0 and the recorder's session, whatever it asks for.
 */
BRICK_API int brick_session_start(const struct brick_session_options *options);

/*
 * Stop: lets a writer finish the file (complete, on the disk and under its final name on return 0)
 * and frees all memory. Threads may still be inside of bricks. -ENOENT: none runs; else the
 * writer's error (-ESTALE: the file was removed, replaced or changed by somebody else), after which
 * OUTPUT.part holds what was written until then.
 */
BRICK_API int brick_session_stop(void);

/* Switch recording off without ending the session. */
BRICK_API void brick_pause(void);

/* Switch it on again. */
BRICK_API void brick_resume(void);

/*
 * Set all statistics back to zero, and begin a new epoch: reports, totals and graphs of the running
 * session then count from now on. Records that were written to a recording stay. -ENOENT: no
 * session. -EBUSY: a brick is open. BRICK_ESTATE: another process consumes the session.
 */
BRICK_API int brick_reset(void);

/*
 * The session's mode from now on: of all devices that have none of their own. BRICK_MODE_NONE
 * switches recording off, as brick_pause() does. -EINVAL: no such mode. -ENOENT: no session.
 */
BRICK_API int brick_mode_set(enum brick_mode mode);

/* The session's mode; BRICK_MODE_NONE: there is no session. */
BRICK_API enum brick_mode brick_mode_get(void);

/*
 * Are executions kept one by one from now on, for brick_graph_of_session() and the steps of
 * reports, or only counted? Statistics are the same. A session with a recording or a ring keeps
 * them from its start on. A thread changes at its next brick outside of others. -ENOENT: no
 * session. BRICK_ESTATE: a recording is written, which needs them.
 */
BRICK_API int brick_session_graph_set(int is_on);

/* 1 or 0. -ENOENT: no session. */
BRICK_API int brick_session_graph_get(void);

/* ns since the session's epoch: its start, or the last brick_epoch_begin(). 0: no session. */
BRICK_API uint64_t brick_epoch_ns(void);

/* Begin an epoch and keep the statistics, which brick_reset() does not. -ENOENT: no session. */
BRICK_API int brick_epoch_begin(void);

/* Add the note "key=value" to the recording. Newlines are replaced. -ENOENT: no session. */
BRICK_API int brick_note(const char *key, const char *format, ...) BRICK_PRINTF(2, 3);

/*
 * The last note of that key, cut to `bytes` with its terminating 0. Returns how long it is. value
 * may be NULL if bytes is 0. -ENOENT: no session. BRICK_ENOTRECORDED: no such note.
 */
BRICK_API int brick_note_get(const char *key, char *value, size_t bytes);

/*
 * A program's own facts about its memory, as notes that reports show: "l2.hit_rate", a share from 0
 * to 1 (-EINVAL: any other number), and "zero_copy", yes or no. The last call counts. -ENOENT: no
 * session.
 */
BRICK_API int brick_l2_hit_rate_set(double share);
BRICK_API int brick_zero_copy_set(int is_used);

/* What was set last; the second returns 1 or 0. Errors as of brick_note_get(). */
BRICK_API int brick_l2_hit_rate_get(double *share);
BRICK_API int brick_zero_copy_get(void);

/*
 * Further sessions: one for each model, say. Each has its own bricks, statistics, steps, notes,
 * losses and output. A thread uses one session at a time. All calls of this library are about that
 * one: those of this page, of probes, registry, statistics, devices, tiles and reports. A thread
 * that was not told to use one uses the process's own, which costs what it costs without others.
 *
 *	struct brick_session *before = brick_session_use(model->session);
 *	run(model);
 *	brick_session_use(before);
 */
struct brick_session;

/*
 * Make one and start it; options as of brick_session_start(), errors, too. In a program under
 * `brick record` the recorder's session takes its records.
 */
BRICK_API int brick_session_create(
	struct brick_session **out, const struct brick_session_options *options);

/*
 * Stop it, if brick_session_stop() has not, and free it. Returns what brick_session_stop() would.
 * Threads that still use it record nothing until they use another one. In the child of a fork a
 * parent's session records nothing.
 */
BRICK_API int brick_session_destroy(struct brick_session *session);

/*
 * The calling thread uses this session from now on; NULL: the process's own. Returns the one that
 * it used. Bricks that it has open in that one stay open; end each in the session in which it
 * began. Some 100 ns, and more at a thread's first time in a session.
 */
BRICK_API struct brick_session *brick_session_use(struct brick_session *session);

BRICK_END_DECLS

#endif
