/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer of one session (include/brick/abi/session.h): moves records out of its rings, keeps
 * the drained histograms, and emits all that the session holds into a writer
 * (src/lib/writer/sink.h). The session file is another process's and never trusted: map_session.c
 * checks layouts once, against the size of the file, and keeps them in private memory; everything
 * else is copied before it is looked at.
 *
 * Two sides, each used by one thread at a time, which may be two different threads: the
 * *consuming* side moves records from rings into memory of the caller and is cheap; the *emitting*
 * side feeds the writer. What was consumed must be emitted in the same order, lane by lane.
 *
 * Libc only; part of libbrick, where the thread of src/lib/embed/writer_thread.c uses it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "brick/abi/session.h"
#include "lib/drain/drain_histogram.h"
#include "lib/drain/expand.h"
#include "lib/writer/writer.h"

struct drain;

/*
 * Opens the session in fd, which stays the caller's and must stay open until drain_close(). guard
 * may be NULL for a file that nobody else can shrink. BRICK_EFORMAT, BRICK_EVERSION,
 * BRICK_ETRUNCATED: no usable session. BRICK_EUNSUPPORTED: its process reads another clock than
 * this one. -errno. After an error *why (static text) says what is wrong.
 */
int drain_open(struct drain **out, int fd, const struct drain_guard *guard, const char **why);

/*
 * As drain_open(), for a reader beside the consumer (a view): all mappings are read-only, and fd
 * may be, too. Read records with drain_peek(); drain_consume() is not for views. A view's contents
 * can be emitted again and again, into one writer after the other, with drain_rewind() in between.
 */
int drain_open_view(struct drain **out, int fd, const struct drain_guard *guard, const char **why);

/* NULL is legal. */
void drain_close(struct drain *d);

/* The header as it was when the session was opened; texts in it are ended and clean. */
const struct brick_session_header *drain_header(const struct drain *d);

/* Memory for the texts of drain_title(). */
struct drain_title {
	char cpu[128];		      /* model name; "": not known */
	const char *command[256 + 1]; /* argv, ended by NULL; the texts are the session's */
};

/*
 * Returns the options of a recording at `path` of this session alone. They point into *title,
 * `path` and the session.
 */
struct trace_writer_options drain_title(
	const struct drain *d, struct drain_title *title, const char *path);

/* The present time in the session's ticks. */
uint64_t drain_ticks(const struct drain *d);

/* Returns enum brick_session_state; *end_ticks: when the session ended. As its process says now. */
uint32_t drain_state(const struct drain *d, uint64_t *end_ticks);

/*
 * Returns the first thing that went wrong with the session since it was opened, as static text;
 * NULL: nothing. Known in full after drain_finish(). Either side.
 */
const char *drain_fault(const struct drain *d);

/* Consuming. */

/* Maps lanes that have joined; returns how many lanes there are. They are numbered from 0 on. */
uint32_t drain_lanes(struct drain *d);

/* True: the last drain_lanes() had no memory for a lane; the next call tries again. */
bool drain_lane_is_missing(const struct drain *d);

/* The state of a lane's ring, in records. */
struct drain_level {
	uint64_t waiting;  /* written and not consumed; of a view: in the ring */
	uint64_t capacity; /* 0: the lane has no ring, or is unusable */
	uint64_t written;  /* ever */
};
struct drain_level drain_level(struct drain *d, uint32_t lane);

/* Moves up to `capacity` records out of a lane's ring into `out`; returns how many. */
size_t drain_consume(struct drain *d, uint32_t lane, struct brick_record *out, size_t capacity);

/*
 * Copies the newest `capacity` records of a lane into `out`, or as many as there are, consumed or
 * not; returns how many. None of them was being overwritten while it was copied, and none is older
 * than the last brick_reset(). *first: number of the first one, counted from the lane's first
 * record after the last brick_reset().
 */
size_t drain_peek(
	struct drain *d, uint32_t lane, struct brick_record *out, size_t capacity, uint64_t *first);

/*
 * Reads the scheduler's counts of all live threads with a lane, unless the last such reading is
 * younger than interval_ms. For machines where the kernel does not report switches.
 */
void drain_watch_threads(struct drain *d, uint32_t interval_ms);

/* Adds the sums of drain_watch_threads() so far to *account. */
void drain_threads_account(const struct drain *d, struct off_cpu_account *account);

/* Emitting. These calls return 0, -ENOMEM or the writer's error, which stays with the writer. */

/* Emits records of a lane, in the order in which they were consumed. */
int drain_emit(struct drain *d, struct trace_writer *writer, uint32_t lane,
	const struct brick_record *records, size_t count);

/*
 * Emits the times in which threads of the process were off their CPUs, in the order of their ends.
 * Intervals of threads without a lane are kept for a while: later records may say that these
 * threads own a lane.
 */
int drain_emit_off_cpu(struct drain *d, struct trace_writer *writer,
	const struct sink_off_cpu *intervals, size_t count);

/* Returns how full the ring of digests is, in per cent; at least 1 if any waits. Either side. */
uint32_t drain_digest_level(struct drain *d);

/* Emits the digests that wait, with their process and tables before them. */
int drain_emit_digests(struct drain *d, struct trace_writer *writer);

/* Views only: has the sources of kernels emitted, too, which a view leaves out otherwise. */
void drain_view_code(struct drain *drain);

/* Views only: forgets what was emitted, so that all is emitted anew, into another writer. */
void drain_rewind(struct drain *d);

/*
 * The writer's file ends at that time (of CLOCK_MONOTONIC), or where the last thread is already.
 * What began until then and was not emitted yet still goes there, before drain_part(). since_ns:
 * see drain_end_is_reached().
 */
void drain_end_set(
	struct drain *d, const struct trace_writer *writer, uint64_t ns, uint64_t since_ns);

/* Returns how many of the lane's next records, as they came out of the ring, began until then. */
size_t drain_until_end(
	struct drain *d, uint32_t lane, const struct brick_record *records, size_t count);

/*
 * True if each thread that recorded after since_ns was seen to record after the end, so that none
 * has nodes of its own that it has not told yet.
 */
bool drain_end_is_reached(const struct drain *d);

/* The file goes on. */
void drain_end_clear(struct drain *d);

/*
 * Emits what drain_finish() emits, of a session that goes on: the writer's file ends here, and all
 * that is emitted from now on goes to another writer, but what began before drain_end_set()'s time
 * is left out. Statistics are of the session's whole time, ledgers of this file. A step that is
 * open now is in neither file, and what other threads do until its end is not in the next one;
 * other open bricks begin anew there.
 */
int drain_part(struct drain *d, struct trace_writer *writer);

/*
 * Has each step told when its end is emitted, to DRAIN_STEP_WATCHERS at most. One that is there
 * already is told once.
 */
void drain_steps_watch(struct drain *d, drain_step_fn on_step, void *context);

/* See drain_histogram_percentile(). */
uint64_t drain_length(const struct drain *d, uint32_t brick, unsigned percent, uint64_t *count);

/* How many records the session's threads have dropped so far. */
uint64_t drain_dropped(const struct drain *d);

/*
 * Emitting again. What was given to drain_emit() and drain_emit_off_cpu() of a session can be given
 * to a replay of it, in the same order, for another writer; drain_part() ends that file. A replay
 * changes nothing of the session. It is the emitting side's, and is closed before its session.
 */
int drain_open_replay(struct drain **out, struct drain *of, const char **why);

/* Where a lane stands between two calls of drain_emit(). */
struct drain_start {
	uint32_t depth;			/* open bricks */
	uint16_t open[BRICK_MAX_DEPTH]; /* [depth]: the outermost first */
	struct drain_ahead ahead;	/* what is known of coming samples */
};
void drain_start_get(const struct drain *d, uint32_t lane, struct drain_start *out);

/*
 * The next records of the lane were emitted when it stood there. Later calls of the same lane do
 * nothing.
 */
void drain_start_set(struct drain *replay, uint32_t lane, const struct drain_start *start);

/* These are the lane's next records; those that began until `ticks` are not for the file. */
void drain_start_pass(struct drain *replay, uint32_t lane, const struct brick_record *records,
	size_t count, uint64_t ticks);

/*
 * All lanes are set, and none of their records emitted yet, as one lane's step tells what is left
 * out of the others: a step that is open at the begin of the file is, as in drain_part().
 */
void drain_start_done(struct drain *replay);

/* As brick_clock_ns() backwards. */
uint64_t drain_ticks_at(const struct brick_clock *clock, uint64_t ns);

/* How a session ended. */
enum drain_end {
	DRAIN_END_CLOSED,   /* its process closed it */
	DRAIN_END_DEAD,	    /* its process died */
	DRAIN_END_EXEC,	    /* its process became another program */
	DRAIN_END_OUTLIVED, /* its process was still running when recording ended */
	DRAIN_END_BROKEN,   /* its contents made no sense any more */
};

/*
 * Emits the end of the session: statistics, histograms, notes, open bricks. All that was consumed
 * must have been emitted before; nothing of the session may be emitted afterwards.
 */
int drain_finish(
	struct drain *d, struct trace_writer *writer, enum drain_end end, uint64_t end_ticks);

/* Adds a line "key=value" to the notes that drain_finish() emits; one, of 128 bytes at most. */
void drain_note(struct drain *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Of a session that had a consumer before: the file begins where all its threads have records that
 * the other one did not take, and what was a step then is left out. Statistics are of the session's
 * whole time. Before the first drain_consume().
 */
void drain_go_on(struct drain *d);

/* Counts what has been emitted so far. dropped and threads are known after drain_finish() only. */
struct drain_counts drain_counts(const struct drain *d);

/* The notes as they were emitted by drain_finish(), ended by NUL; "" before. */
const char *drain_notes(const struct drain *d);
