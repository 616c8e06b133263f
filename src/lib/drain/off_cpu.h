/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the recorded threads did not run. A recorder pairs each time that a thread left its CPU with
 * the next time that it got one. Each such interval then goes to the lane that the thread owned at
 * the time; intervals of threads without a lane go nowhere. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/array.h"
#include "base/hashmap.h"
#include "brick/abi/session.h"
#include "lib/writer/sink.h"

enum off_cpu_why {
	OFF_CPU_BLOCKED,   /* it waited: for a lock, a file, a device, for time to pass */
	OFF_CPU_PREEMPTED, /* it could have run, and another thread ran in its place */
};

/* A thread did not run from begin_ns to end_ns (CLOCK_MONOTONIC). */
struct off_cpu {
	uint64_t begin_ns, end_ns;
	uint32_t pid, tid;
	enum off_cpu_why why;
};

struct off_cpu_recorder;

/* Follow a process from its next exec on, with its threads and children. Errors as those of
 * brick__switches_follow(). */
int off_cpu_create(struct off_cpu_recorder **out, pid_t pid);

/* Follow no process yet: off_cpu_add() does. -ENOMEM. */
int off_cpu_create_empty(struct off_cpu_recorder **out);

/*
 * Follow a process that runs already, whose threads are all stopped, and what it starts. Nothing if
 * the recorder is stopped. 0, or errors of brick__switches_add().
 */
int off_cpu_add(struct off_cpu_recorder *r, pid_t pid);

/* Follow threads of this process that ask for it. -ENOMEM. */
int off_cpu_create_own(struct off_cpu_recorder **out);

/* The calling thread, from now on. Errors as those of brick__switches_join(). */
int off_cpu_join(struct off_cpu_recorder *r);

/* Stops following the calling thread; its intervals so far are still handed out. */
void off_cpu_leave(struct off_cpu_recorder *r);

/* Tries to follow the calling thread, once. 0: the kernel allows it; else the error of the try. */
int off_cpu_available(void);

typedef void (*off_cpu_fn)(void *context, const struct off_cpu *interval);

/* off_cpu_read() leaves out this last time before now_ns: the kernel's records may come late. */
enum { OFF_CPU_VISIBLE_NS = 100000 };

/*
 * Hands out the intervals that ended before now_ns - OFF_CPU_VISIBLE_NS, in the order of their
 * ends. 0 or -ENOMEM.
 */
int off_cpu_read(struct off_cpu_recorder *r, uint64_t now_ns, off_cpu_fn take, void *context);

/* Returns how many switches were lost: intervals may be missing, or two may have become one. */
uint64_t off_cpu_lost(const struct off_cpu_recorder *r);

/* How full the kernel's rings are, 0 to 100. */
unsigned off_cpu_fill(const struct off_cpu_recorder *r);

/*
 * Returns a descriptor, which stays r's: poll(2) finds it readable when many switches wait, until
 * off_cpu_seen() is called. Only of another process. -1: the recorder is stopped.
 */
int off_cpu_wait_fd(const struct off_cpu_recorder *r);

/* Call it after off_cpu_read(): off_cpu_seen() never counts what was lost by then untold. */
void off_cpu_begin(struct off_cpu_recorder *r);

/* Returns the number of switches so far: those read, those that wait, and those lost. */
uint64_t off_cpu_seen(const struct off_cpu_recorder *r);

/* Stops recording, so that it costs no thread anything; unread switches are gone. */
void off_cpu_stop(struct off_cpu_recorder *r);

/*
 * Records again: these processes, and what they start from now on. Of a thread that is off its CPU
 * now, this interval is not known. 0. -EALREADY: it records. Errors of brick__switches_add();
 * -ESRCH: all processes have ended, and nothing is recorded.
 */
int off_cpu_resume(struct off_cpu_recorder *r, const pid_t *pids, size_t count);

/* NULL is legal. */
void off_cpu_destroy(struct off_cpu_recorder *r);

/* Which lane a thread owned, and when. Emitting side. */
struct drain_off_cpu {
	struct hashmap lane_of;		    /* tid -> index of the session's lane */
	struct hashmap since_of, until_of;  /* tid -> ns of CLOCK_MONOTONIC */
	struct hashmap owner_of;	    /* index of the session's lane -> tid */
	struct hashmap forgotten;	    /* tid -> intervals that did not fit into `waiting` */
	ARRAY(struct sink_off_cpu) waiting; /* of threads without a lane so far */
	uint64_t lost; /* intervals that were forgotten of threads that later got a lane */
};

/* Takes from records of a lane, as they are emitted, which thread owns the lane. 0 or -ENOMEM. */
int drain_off_cpu_learn(struct drain_off_cpu *o, const struct brick_clock *clock, uint32_t lane,
	const struct brick_record *records, size_t count);

/* Keeps intervals until drain_off_cpu_emit(); the oldest are forgotten if there are too many. 0 or
 * -ENOMEM. */
int drain_off_cpu_add(struct drain_off_cpu *o, const struct sink_off_cpu *intervals, size_t count);

/*
 * Emits the intervals whose threads own a lane, as `owners` says, and keeps the others.
 * number(context, lane) returns the writer's number of the session's lane. 0, or the writer's
 * error.
 */
int drain_off_cpu_emit(struct drain_off_cpu *o, const struct drain_off_cpu *owners,
	struct trace_writer *writer, int (*number)(void *context, uint32_t lane), void *context);

void drain_off_cpu_fini(struct drain_off_cpu *o);
