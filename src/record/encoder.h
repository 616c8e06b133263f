/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder consumed from rings, on its way into the file. A thread at the lowest priority
 * there is (SCHED_IDLE) encodes, compresses and writes it, so that the profiled program never waits
 * for that. Where the program leaves no core to such a thread, the backlog grows, and the thread
 * that fills it does the work itself: nothing is ever lost to a starved thread.
 *
 * All functions are for the one filling thread. It never waits for the idle one, not even for a
 * lock or an allocator that it holds: the idle one may not run for seconds.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "lib/drain/drain.h"
#include "lib/writer/writer.h"

struct encoder;

/* Called in the filling thread once everything of a session has been emitted; drain is the
 * callee's.
 */
typedef void (*encoder_done_fn)(void *context, struct drain *drain);

/* Takes the writer over. -errno: it stays the caller's. */
int encoder_create(
	struct encoder **out, struct trace_writer *writer, encoder_done_fn done, void *context);

/* Take everything that waits in the ring of `lane`; returns how much stays for lack of memory. */
uint64_t encoder_consume(struct encoder *e, struct drain *drain, uint32_t lane);

/* Consume and emit the session's digests, from its own ring to the file. 0 or -ENOMEM. */
int encoder_digests(struct encoder *e, struct drain *drain);

/*
 * When threads of the session were off their CPUs: behind what was consumed before. Taken over, and
 * freed. 0 or -ENOMEM.
 */
int encoder_off_cpu(
	struct encoder *e, struct drain *drain, struct sink_off_cpu *intervals, size_t count);

/* Whole packets, as trace_writer_packets() takes them. Taken over, and freed. 0 or -ENOMEM. */
int encoder_packets(struct encoder *e, uint8_t *packets, size_t bytes);

/* The clock of all records that follow; the session's end; a flush of the file. 0 or -ENOMEM. */
int encoder_clock(struct encoder *e, const struct brick_clock *clock);
int encoder_end(struct encoder *e, struct drain *drain, enum drain_end end, uint64_t end_ticks);
int encoder_flush(struct encoder *e, const struct sink_account *account);

/*
 * Call it after every round: does a share of the work when the idle thread falls behind. Returns 1
 * when it should be called again at once, 2 when the idle thread must first let go (soon).
 */
int encoder_assist(struct encoder *e);

/* What is handed in must be written within its part of this interval; 2 s at most. */
void encoder_interval_set(struct encoder *e, uint32_t interval_ms);

/* encoder_assist(); returns the milliseconds until it is due again. */
uint32_t encoder_turn(struct encoder *e);

/* The writer's first error, 0 while there is none. After one, everything handed in is dropped. */
int encoder_error(const struct encoder *e);

/* Do all that is left, end the thread. *writer: for the caller to finish; NULL after an error. */
void encoder_finish(struct encoder *e, struct trace_writer **writer);

/* NULL is legal; encoder_finish() first. */
void encoder_destroy(struct encoder *e);

/*
 * How much memory may be taken for what has not been written yet: a quarter of what is left of the
 * machine's memory, of the memory cgroups (the program has the same ones: to fill them would kill
 * it) and of our address space; from 4 MiB to 512 MiB. root: "" for the system's files, else a
 * directory in their place. Any thread.
 */
uint64_t backlog_capacity_bytes(const char *root);
