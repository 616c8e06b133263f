/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the recorded threads did not run. A recorder pairs each time that a thread left its CPU with
 * the next time that it got one. Each interval then goes to the lane that the thread owned then;
 * those of threads without a lane go to none. One thread at a time.
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

/* Follow threads of this process that ask for it. -ENOMEM. */
int off_cpu_create_own(struct off_cpu_recorder **out);

/* The calling thread, from now on. Errors as those of brick__switches_join(). */
int off_cpu_join(struct off_cpu_recorder *r);

/* The calling thread will be followed no more; its intervals so far are still handed out. */
void off_cpu_leave(struct off_cpu_recorder *r);

/* Does the kernel allow it? 0 or an error as above. */
int off_cpu_available(void);

typedef void (*off_cpu_fn)(void *context, const struct off_cpu *interval);

/* A record may become visible a little after its time; then it is handed out later. */
enum { OFF_CPU_VISIBLE_NS = 100000 };

/* Hand out the intervals that have ended by now, in the order of their ends. 0 or -ENOMEM. */
int off_cpu_read(struct off_cpu_recorder *r, uint64_t now_ns, off_cpu_fn take, void *context);

/* Missing switches: intervals may be missing, or two may have become one. */
uint64_t off_cpu_lost(const struct off_cpu_recorder *r);

/* How full the kernel's rings are, 0 to 100. */
unsigned off_cpu_fill(const struct off_cpu_recorder *r);

/*
 * For another process: readable when there are many switches, until off_cpu_seen() is called. -1:
 * it is stopped.
 */
int off_cpu_wait_fd(const struct off_cpu_recorder *r);

/* Switches so far, whether they were read, are to be read, or were lost. */
uint64_t off_cpu_seen(const struct off_cpu_recorder *r);

/* Record no more, at no cost to anybody; unread switches are gone. */
void off_cpu_stop(struct off_cpu_recorder *r);

/*
 * Record again: these processes, with what they start from now on. A thread that is off its CPU now
 * is known from the next time that it gets one. Errors are those of brick__switches_add(), and
 * -ESRCH: all have ended, and nothing is recorded.
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
	uint64_t lost;			    /* of threads that got a lane: were forgotten */
};

/* Records that were emitted may say who owns their lane. 0 or -ENOMEM. */
int drain_off_cpu_learn(struct drain_off_cpu *o, const struct brick_clock *clock, uint32_t lane,
	const struct brick_record *records, size_t count);

/* Keep intervals until drain_off_cpu_emit(). 0 or -ENOMEM. */
int drain_off_cpu_add(struct drain_off_cpu *o, const struct sink_off_cpu *intervals, size_t count);

/* Emit those whose threads own a lane. numbers: in the writer, by the session's lane. */
int drain_off_cpu_emit(struct drain_off_cpu *o, struct trace_writer *writer,
	int (*number)(void *context, uint32_t lane), void *context);

void drain_off_cpu_fini(struct drain_off_cpu *o);
