/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedule of one step or of a whole process: its activities, and which of them had to wait for
 * which others. A brick's activities are its own time, without nested bricks, so that nothing
 * counts twice. An activity can begin after:
 *
 *   - the activity before it on its thread or queue;
 *   - barriers: when a thread leaves one, all threads that take part have arrived. A thread takes
 *     part if it was waiting then, unless it left together with a thread that came only then, or
 *     met these threads neither before nor after. All can leave when the last has arrived; the time
 *     that a thread takes longer is its own. (Always right for one team, nearly so for several.)
 *   - commands of queues: the call that launched them, and the commands that they had to wait for;
 *   - waits for a device (Synchronize): the commands that were waited for, or, if these are not
 *     known, the last command that each queue had ended when the wait ended;
 *   - other waits, and times that a thread was blocked: a queue that worked nine tenths of that
 *     time and had nothing left to do at its end; otherwise only the queues' work is counted;
 *   - the begin of work: a thread that did nothing begins because a step, or the computation of a
 *     graph (GraphCompute), began on another thread;
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
	SCHEDULE_WAIT,	/* the part of a wait that is not explained: all of it, if no cause is known
			 */
	SCHEDULE_START, /* from the begin of the work to a thread's first brick */
	SCHEDULE_OFF,	/* a thread off its CPU, in whatever brick */
	SCHEDULE_POINT, /* takes no time: where several activities meet */
};

struct schedule_activity {
	uint64_t begin_ns, end_ns; /* measured */
	uint64_t duration_ns;	   /* scheduled: less than end - begin if others explain a part */
	uint32_t owner;		   /* a brick, or enum schedule_owner above them */
	uint32_t lane;		   /* RUN_NONE for points */
	uint32_t sample;	   /* on its lane; RUN_NONE where there is none */
	/*
	 * Of a wait: the index of the point where the threads met; the wait's own index: devices
	 * ended it. Of SCHEDULE_START: an index in `forks`. RUN_NONE: not known, or another kind.
	 */
	uint32_t cause;
	uint8_t kind;	 /* enum schedule_kind */
	uint8_t is_last; /* the last activity of its sample: counts as the execution; or a wait
			    after it */
};

/* The begin of work for other threads: of a step, or of the computation of a graph. */
struct schedule_fork {
	uint64_t ns;
	uint32_t lane, sample;
	uint32_t before; /* the activity that ends there; RUN_NONE: the window's begin */
};

/*
 * Owners of time that no brick of the run owns: add run->brick_count. A new one needs a name in
 * path_owner_name().
 */
enum schedule_owner {
	SCHEDULE_OWNER_BARRIER = 0,   /* BarrierWait, where the run has no such brick */
	SCHEDULE_OWNER_REST = 1,      /* in no brick */
	SCHEDULE_OWNER_START = 2,     /* from the begin of the work to a thread's first brick */
	SCHEDULE_OWNER_LAUNCH = 3,    /* from a launch until the device began */
	SCHEDULE_OWNER_PREEMPTED = 4, /* off its CPU, and another thread on it */
	SCHEDULE_OWNER_BLOCKED = 5,   /* off its CPU, waiting for something */
	SCHEDULE_OWNER_LEFT_OUT = 6,  /* bricks that were not asked for */
	SCHEDULE_OWNERS = 7,
};

/* The owner of the time of a site's samples. */
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
	uint64_t idle; /* times in which a thread that runs no step did nothing, for unknown reasons
			*/
	uint64_t idle_ns;
	uint64_t starts;       /* of threads by a step or a graph */
	uint64_t launches;     /* of commands of queues whose call is known */
	uint64_t queue_blocks; /* times a thread was blocked until a queue had nothing left to do */
	uint64_t beneath_ns;   /* of other blocked times: those in which the busiest queue worked */
	uint64_t contradictions; /* 1: times contradict each other, so lanes do not wait for others
				  */
};

struct schedule {
	const struct run *run;
	uint32_t process;
	uint32_t step;	      /* RUN_NONE: all of the process */
	uint64_t begin_ns;    /* measured; times of the schedule count from here */
	uint64_t measured_ns; /* of the step's account, or of the whole process */
	ARRAY(struct schedule_activity) activities;
	ARRAY(struct schedule_span) spans; /* of a step: its own lane first */
	uint32_t after; /* the first of the activities in the step's account after its end */
	ARRAY(struct schedule_fork) forks; /* by time */
	struct brick__dag dag;
	uint32_t end; /* the activity that all others lead to */
	struct schedule_counts counts;
};

/* Makes the schedule of an outermost, finished step. 0 or -ENOMEM; *schedule is then empty. */
int schedule_of_step(struct schedule *schedule, const struct run *run,
	const struct step_index *index, const struct schedule_source *source, uint32_t step);

/*
 * Makes the schedule of a whole process. 0, -ENOMEM, or BRICK_ENOTRECORDED: nothing was recorded.
 */
int schedule_of_process(struct schedule *schedule, const struct run *run,
	const struct step_index *index, const struct schedule_source *source, uint32_t process);

void schedule_fini(struct schedule *schedule);
