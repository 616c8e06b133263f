/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The consumer of one session (include/brick/abi/session.h): moves records out of its rings, keeps
 * the drained histograms, and emits all that the session holds into a writer
 * (src/lib/writer/sink.h). The session file is another process's and never trusted: layouts are
 * checked once, against the size of the file, and kept in private memory; everything else is copied
 * before it is looked at.
 *
 * Two sides, each used by one thread at a time, which may be two different threads: the
 * *consuming* side moves records from rings into memory of the caller and is cheap; the *emitting*
 * side feeds the writer. What was consumed must be emitted in the same order, lane by lane.
 *
 * Libc only; part of libbrick, where the thread of src/lib/embed/writer_thread.c uses it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "brick/abi/session.h"
#include "lib/drain/drain_histogram.h"
#include "lib/writer/writer.h"

struct drain;

/*
 * Open the session in fd, which stays the caller's and must stay open. guard may be NULL for a file
 * that nobody else can shrink. BRICK_EFORMAT, BRICK_EVERSION, BRICK_ETRUNCATED: no usable session;
 * *why (static text) then says what is wrong with it. -errno.
 */
int drain_open(struct drain **out, int fd, const struct drain_guard *guard, const char **why);

/*
 * The same for one who only looks, beside the consumer: all mappings are read-only and fd may be,
 * too. Records are looked at with drain_peek(), not consumed. What a view holds can be emitted
 * again and again, into one writer after the other, with drain_rewind() in between.
 */
int drain_open_view(struct drain **out, int fd, const struct drain_guard *guard, const char **why);

/* NULL is legal. */
void drain_close(struct drain *d);

/* The header as it was when the session was opened; texts in it are ended and clean. */
const struct brick_session_header *drain_header(const struct drain *d);

/*
 * What a recording or run of this session alone says of itself, in memory that *title and the
 * session keep.
 */
struct drain_title {
	char cpu[128];
	const char *command[256 + 1];
};
struct trace_writer_options drain_title(
	const struct drain *d, struct drain_title *title, const char *path);

/* The present time in the session's ticks. */
uint64_t drain_ticks(const struct drain *d);

/* enum brick_session_state, and when the session ended, as its process says now. */
uint32_t drain_state(const struct drain *d, uint64_t *end_ticks);

/*
 * What went wrong with the session since it was opened, as static text; NULL: nothing. Known in
 * full after drain_finish().
 */
const char *drain_fault(const struct drain *d);

/* Consuming. */

/* Look for lanes that joined; returns how many there are. */
uint32_t drain_lanes(struct drain *d);

/* The last look found no memory for a lane; the next one tries again. */
bool drain_lane_is_missing(const struct drain *d);

/* Records that wait in a lane's ring, its capacity (0: it has no ring), and all ever written. */
struct drain_level {
	uint64_t waiting, capacity, written;
};
struct drain_level drain_level(struct drain *d, uint32_t lane);

/* Move up to `capacity` records out of the ring; returns how many. */
size_t drain_consume(struct drain *d, uint32_t lane, struct brick_record *out, size_t capacity);

/*
 * Copy the newest `capacity` records of a lane, or as many as there are, consumed or not; returns
 * how many. None of them was being overwritten while it was copied, and none is older than the last
 * brick_reset(). *first: number of the first one, counted from the lane's first since then. `out`
 * holds `capacity` records.
 */
size_t drain_peek(
	struct drain *d, uint32_t lane, struct brick_record *out, size_t capacity, uint64_t *first);

/*
 * Read what the scheduler counts, at most so often. For where the kernel does not report switches.
 */
void drain_watch_threads(struct drain *d, uint32_t interval_ms);

/* Add what drain_watch_threads() has found so far. */
void drain_threads_account(const struct drain *d, struct off_cpu_account *account);

/* Emitting; errors are the writer's and stay with it, or -ENOMEM. */

/* Records that were consumed, in order. */
int drain_emit(struct drain *d, struct trace_writer *writer, uint32_t lane,
	const struct brick_record *records, size_t count);

/*
 * When threads of the process were off their CPUs, in the order of the ends. Those of threads
 * without a lane are kept for a while: its records may say later that they own one. 0, -ENOMEM, or
 * the writer's error.
 */
int drain_emit_off_cpu(struct drain *d, struct trace_writer *writer,
	const struct sink_off_cpu *intervals, size_t count);

/* Digests that wait, in per cent of their ring (at least 1 if there is any); either side. */
uint32_t drain_digest_level(struct drain *d);

/* Digests that wait, with their process and tables. */
int drain_emit_digests(struct drain *d, struct trace_writer *writer);

/* Of a view: emit the sources of kernels, too. A view that is shown again and again needs none. */
void drain_view_code(struct drain *drain);

/* Forget what was emitted, for another sink. Of a view only. */
void drain_rewind(struct drain *d);

enum drain_end {
	DRAIN_END_CLOSED,   /* cleanly */
	DRAIN_END_DEAD,	    /* its process died */
	DRAIN_END_EXEC,	    /* its process became another program */
	DRAIN_END_OUTLIVED, /* its process was still running when recording ended */
	DRAIN_END_BROKEN,   /* its contents made no sense any more */
};

/*
 * The session is over and all that was consumed has been emitted: statistics, histograms, notes,
 * open bricks, end. Nothing may be emitted of it afterwards.
 */
int drain_finish(
	struct drain *d, struct trace_writer *writer, enum drain_end end, uint64_t end_ticks);

/* What has been emitted so far. dropped and threads are known after drain_finish() only. */
struct drain_counts drain_counts(const struct drain *d);

/* The notes as they were emitted by drain_finish(), ended by NUL; "" before. */
const char *drain_notes(const struct drain *d);
