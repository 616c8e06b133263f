/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activities of one step or of a whole process, and their order: which had to wait for which.
 * Bricks become activities of their own time, so that nothing counts twice. An activity can begin
 * after:
 *
 *   - the activity before it on its thread or queue;
 *   - barriers: when a thread leaves one, all who take part have arrived. Those who were waiting
 *     then take part, unless they left together with one who came only then, or were with it
 *     neither before nor after. All can leave when the last has arrived; what a thread took longer
 *     is its own. (With one team of threads this is always right; with several, nearly so.)
 *   - commands of queues: the call that launched them, and the commands that they had to wait for;
 *   - waits for a device (Synchronize): the commands that they were for, or, where that is not
 *     known, what each queue had ended last when the wait ended;
 *   - other waits, and times that a thread was blocked: a queue that worked nine tenths of that
 *     time and had nothing left to do at its end; for the rest the queues' work is counted;
 *   - the begin of work: a thread that did nothing when a step or the computation of a graph began
 *     (GraphCompute) on another thread begins because of that;
 *   - the end of a step: the work of the threads that it met at barriers has ended before; if it
 *     met none, that of all threads whose work lay within the step.
 *
 * All times are measured: with the durations as they are, every activity begins and ends when it
 * did. A recording does not tell why a thread idles otherwise, which event ends a wait of another
 * kind, or where inside of a brick a thread waited. Such times stay as they were, and are counted.
 * Borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/path/schedule_source.h"
#include "analysis/walk/step_index.h"
#include "base/array.h"
#include "lib/graph/dag.h"
#include "trace/run.h"

enum schedule_kind {
	SCHEDULE_WORK,	/* of `brick`: its own time, with its waiting inside */
	SCHEDULE_REST,	/* of a step or a thread: in no brick */
	SCHEDULE_WAIT,	/* the rest of a wait after all that it waited for had come; all of it, if
			   that is not known */
	SCHEDULE_START, /* from the begin of the work to a thread's first brick */
	SCHEDULE_OFF,	/* a thread off its CPU, in whatever brick */
	SCHEDULE_POINT, /* takes no time: several come together */
};

struct schedule_activity {
	uint64_t begin_ns, end_ns; /* measured */
	uint64_t duration_ns;	   /* scheduled: less than measured where others explain it */
	uint32_t owner;		   /* a brick, or enum schedule_owner above them */
	uint32_t lane;		   /* RUN_NONE for points */
	uint32_t sample;	   /* on its lane; RUN_NONE where there is none */
	/*
	 * Why a wait ended: the point where all came together; the wait itself: devices; RUN_NONE:
	 * not known. Why a thread started: a number in forks. Else RUN_NONE.
	 */
	uint32_t cause;
	uint8_t kind;	 /* enum schedule_kind */
	uint8_t is_last; /* of its sample, whose execution it stands for; or a wait after one */
};

/* The begin of work for other threads: of a step, or of the computation of a graph. */
struct schedule_fork {
	uint64_t ns;
	uint32_t lane, sample;
	uint32_t before; /* the activity that ends there; RUN_NONE: the window's begin */
};

/* Owners of time that no brick of the run owns: add run->brick_count. */
enum schedule_owner {
	SCHEDULE_OWNER_BARRIER = 0, /* BarrierWait, where the run has no such brick */
	SCHEDULE_OWNER_REST = 1,    /* in no brick */
	SCHEDULE_OWNER_START = 2,
	SCHEDULE_OWNER_LAUNCH = 3,    /* from a launch until the device began */
	SCHEDULE_OWNER_PREEMPTED = 4, /* off its CPU, and another thread on it */
	SCHEDULE_OWNER_BLOCKED = 5,   /* off its CPU, waiting for something */
	SCHEDULE_OWNER_LEFT_OUT = 6,  /* bricks that were not asked for */
	SCHEDULE_OWNERS = 7,
};

static inline uint32_t schedule_owner_of(const struct run *run, const struct run_site *site)
{
	return site->left_out ? (uint32_t)run->brick_count + SCHEDULE_OWNER_LEFT_OUT : site->brick;
}

/* The activities of a lane stand one after the other. */
struct schedule_span {
	uint32_t lane;
	uint32_t first, count;
};

/* How much of the order is known. */
struct schedule_counts {
	uint64_t barriers;	/* that were put together from waits */
	uint64_t waits;		/* of all kinds */
	uint64_t unknown_waits; /* for nothing that the recording knows */
	uint64_t unknown_wait_ns;
	uint64_t idle; /* times in which a thread other than a step's did nothing, not known why */
	uint64_t idle_ns;
	uint64_t starts;       /* of threads by a step or a graph */
	uint64_t launches;     /* of commands of queues whose call is known */
	uint64_t queue_blocks; /* times a thread was blocked until a queue had nothing left to do */
	uint64_t beneath_ns;   /* of other times that it was blocked: the busiest queue worked
				  meanwhile */
	uint64_t contradictions; /* 1: times contradict each other; threads are taken by themselves
				  */
};

struct schedule {
	const struct run *run;
	uint32_t process;
	uint32_t step;	      /* RUN_NONE: all of the process */
	uint64_t begin_ns;    /* measured; times of the schedule count from here */
	uint64_t measured_ns; /* of the step's account, or of all */
	ARRAY(struct schedule_activity) activities;
	ARRAY(struct schedule_span) spans; /* of a step: its own lane first */
	uint32_t after; /* the first of the activities in the step's account after its end */
	ARRAY(struct schedule_fork) forks; /* by time */
	struct brick__dag dag;
	uint32_t end; /* the activity that all leads to */
	struct schedule_counts counts;
};

/* Makes the schedule of an outermost, finished step. -ENOMEM; *schedule is then empty. */
int schedule_of_step(struct schedule *schedule, const struct run *run,
	const struct step_index *index, const struct schedule_source *source, uint32_t step);

/* Makes the schedule of a whole process. -ENOMEM. BRICK_ENOTRECORDED: nothing was recorded. */
int schedule_of_process(struct schedule *schedule, const struct run *run,
	const struct step_index *index, const struct schedule_source *source, uint32_t process);

void schedule_fini(struct schedule *schedule);
