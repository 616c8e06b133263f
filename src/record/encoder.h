/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encodes, compresses and writes records that the recorder has consumed from rings. An idle thread
 * (SCHED_IDLE) does this, so that the profiled program never waits for it. If the program leaves no
 * CPU to the idle thread, the backlog grows, and the filling thread does the work in
 * encoder_assist(): a starved thread loses no records.
 *
 * All functions but backlog_capacity_bytes() are for the filling thread, of which there is one. The
 * filling thread never waits for the idle thread, not even for a lock or the allocator, because the
 * idle thread may not run for seconds. (encoder_finish() waits.)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/drain/drain.h"
#include "lib/writer/writer.h"
#include "record/cost_limit.h"
#include "lib/keep/exemplars.h"

struct encoder;

/*
 * Called in the filling thread once all of a session has been emitted. The encoder uses `drain` no
 * more; the callee may close it.
 */
typedef void (*encoder_done_fn)(void *context, struct drain *drain);

/*
 * The files of a recording that has several, each after the other. The functions are called by the
 * thread that encodes.
 */
struct encoder_files {
	void *context;
	/* True: the next file is due. between: a round of all threads is complete. */
	bool (*is_due)(void *context, uint64_t bytes, bool between);
	/*
	 * Finishes *writer, whose file ends at that time (CLOCK_MONOTONIC), and puts the next one
	 * there, which begins then. After an error there is none.
	 */
	int (*next)(void *context, uint64_t ns, struct trace_writer **writer);
	/*
	 * The file cannot be written: leaves *writer, which may be NULL, and puts one there that
	 * keeps nothing, until is_due() and next() find that there can be a file again. After an
	 * error there is none.
	 */
	int (*lose)(void *context, int error, struct trace_writer **writer);
};

/* Takes the writer until encoder_finish(). 0, or -errno: the writer stays the caller's. */
int encoder_create(
	struct encoder **out, struct trace_writer *writer, encoder_done_fn done, void *context);

/* Goes on in further files; optional, before anything is queued. `files` outlives the encoder. */
void encoder_files_set(struct encoder *e, const struct encoder_files *files);

/* Keeps exemplars, too; optional, before anything is queued. `exemplars` outlives the encoder. */
void encoder_exemplars_set(struct encoder *e, struct exemplars *exemplars);

/*
 * Has `limit` watch the steps, and writes its blocks to *blocks; optional, before anything is
 * queued. Both outlive the encoder.
 */
void encoder_cost_set(struct encoder *e, struct cost_limit *limit, uint32_t *blocks);

/*
 * The next ten functions queue work, which is done in the order of the calls. `drain` must live
 * until encoder_done_fn is called with it.
 */

/*
 * Consume the waiting records of a lane's ring. Returns the number of records that stay in the ring
 * for lack of memory: try again later.
 */
uint64_t encoder_consume(struct encoder *e, struct drain *drain, uint32_t lane);

/* Emit the digests that wait in the session's digest ring by then. 0 or -ENOMEM. */
int encoder_digests(struct encoder *e, struct drain *drain);

/*
 * Emit intervals in which threads of the session were off their CPUs. `intervals` comes from
 * malloc() and is freed here, also on failure. 0 or -ENOMEM.
 */
int encoder_off_cpu(
	struct encoder *e, struct drain *drain, struct sink_off_cpu *intervals, size_t count);

/*
 * Write whole packets (trace_writer_packets()). `packets` comes from malloc() and is freed here,
 * also on failure. 0, or -ENOMEM: the backlog is too large, or there is no memory.
 */
int encoder_packets(struct encoder *e, uint8_t *packets, size_t bytes);

/* Write a mark; its text is cut to 255 bytes. 0 or -ENOMEM. */
int encoder_mark(struct encoder *e, const struct sink_mark *mark);

/* Write a reading of a counter of energy. 0 or -ENOMEM. */
int encoder_energy(struct encoder *e, const struct sink_energy *reading);

/* Write faults as sink_faults() takes them. Takes the array, but not on failure. 0 or -ENOMEM. */
int encoder_faults(struct encoder *e, struct sink_fault *faults, size_t count);

/* Set the clock of all records that are queued later. 0 or -ENOMEM. */
int encoder_clock(struct encoder *e, const struct brick_clock *clock);

/* End the session: encoder_done_fn is called afterwards. 0, or -ENOMEM: it will not be called. */
int encoder_end(struct encoder *e, struct drain *drain, enum drain_end end, uint64_t end_ticks);

/*
 * The sessions go on without us: the file ends at that time, and what is queued later and began
 * after it is not kept. Of several files only. 0 or -ENOMEM.
 */
int encoder_leave(struct encoder *e, uint64_t ns);

/* Write the account and flush the file; a round of all threads is complete. 0 or -ENOMEM. */
int encoder_flush(struct encoder *e, const struct sink_account *account);

/*
 * Emit a part of the backlog if the idle thread has fallen behind (up to 20 ms), and call
 * encoder_done_fn for sessions that have ended. Call it after every round of recording. Returns 0:
 * nothing is urgent; 1: call it again at once; 2: call it again after a few ms, when the idle
 * thread has given up its lock.
 */
int encoder_assist(struct encoder *e);

/*
 * Work may wait for drain_write_ns(interval_ms), but not longer than 2 s, until encoder_assist()
 * does it.
 */
void encoder_interval_set(struct encoder *e, uint32_t interval_ms);

/* encoder_assist(); returns the ms until it is due again; UINT32_MAX: the queue is empty. */
uint32_t encoder_turn(struct encoder *e);

/* True: records wait for a file's end, so that encoder_flush() is due even if none come. */
bool encoder_is_holding(const struct encoder *e);

/*
 * The writer's first error (negative), or 0. After an error, all queued work is dropped. An error
 * of one of several files is none, unless encoder_files.lose() failed, too.
 */
int encoder_error(const struct encoder *e);

/*
 * Do all queued work, and end the idle thread. *writer: the writer, for the caller to finish; NULL:
 * an error has closed it.
 */
void encoder_finish(struct encoder *e, struct trace_writer **writer);

/* NULL is legal. encoder_finish() comes first. */
void encoder_destroy(struct encoder *e);

/*
 * The largest backlog, in bytes: a quarter of memory_left_bytes(root), from 4 MiB to 512 MiB. The
 * memory cgroups count, because the program is in the same ones: filling them would kill it. root:
 * "", or a directory in place of / (for tests). Any thread.
 */
uint64_t backlog_capacity_bytes(const char *root);
