/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files that make a schedule share: the window that is looked at and what has been found
 * in it so far. Nothing outside of schedule*.c includes this.
 */
#pragma once

#include <stdbool.h>
#include "analysis/path/schedule.h"
#include "base/array.h"

/* What is known of the lane of a span. */
struct schedule_lane {
	bool drives;	   /* its steps decide when others begin */
	bool stays;	   /* all of its work lies within the step */
	bool meets_driver; /* at a barrier */
};

enum schedule_wait_kind { WAIT_BARRIER, WAIT_DEVICE, WAIT_OTHER };

struct schedule_wait {
	uint64_t arrive_ns, leave_ns;
	uint32_t activity;
	uint32_t lane; /* number of its span */
	uint8_t kind;  /* enum schedule_wait_kind */
};

/* A sample of a thread that launched commands. */
struct schedule_call {
	uint32_t lane, sample;
	uint32_t before; /* the activity that ended when it began; RUN_NONE: the window's begin */
	uint32_t last;	 /* its own last one; RUN_NONE: not ended yet */
	uint64_t begin_ns;
};

/* A command of a queue that stands on its own there, not inside of another. */
struct schedule_command {
	uint32_t command; /* in run->commands */
	uint32_t gap;	  /* the activity before it, in which its queue did nothing, or RUN_NONE */
	uint32_t first, last; /* its own activities; last is RUN_NONE until it has ended */
};

struct schedule_maker {
	struct schedule *schedule;
	const struct run *run;
	const struct step_index *index;
	const struct schedule_source *source;
	uint64_t begin_ns, end_ns;
	uint32_t driver; /* lane of the step; RUN_NONE: the window is a process */
	bool has_tail;	 /* of the step: its window goes on after its evaluation */
	bool is_cut;	 /* the tail, where the device still worked */
	uint32_t wait_owner;

	ARRAY(struct schedule_lane) lanes; /* as many as spans */
	ARRAY(struct schedule_wait) waits; /* by lane, then by time */
	ARRAY(struct schedule_call) calls;
	ARRAY(struct schedule_command) commands; /* ascending */
	ARRAY(struct brick__dag_edge) edges;
	bool failed; /* out of memory */
};

/* What an array_*() returns: not enough memory is a failure of the maker. */
static inline bool schedule_failed(struct schedule_maker *m, int error)
{
	m->failed |= error != 0;
	return m->failed;
}

/* Append an activity; returns its number. */
uint32_t schedule_add(struct schedule_maker *m, const struct schedule_activity *activity);
struct schedule_activity *schedule_next(struct schedule_maker *m); /* to be filled; NULL: failed */

static inline void schedule_connect(struct schedule_maker *m, uint32_t from, uint32_t to)
{
	schedule_failed(m, array_push(&m->edges, (struct brick__dag_edge){from, to}));
}

/* schedule_lane.c: samples [first, end) of a lane become activities, waits and forks. */
void schedule_take_lane(struct schedule_maker *m, uint32_t lane, size_t first, size_t end);

/* What is in the step's account after its end comes one after the other, behind all else. */
void schedule_take_after(struct schedule_maker *m);

/* schedule_wait.c: which waits are one barrier, and what waits for devices waited for. */
void schedule_join_waits(struct schedule_maker *m);

/* schedule_command.c: what commands of queues had to wait for. */
void schedule_sort_calls(struct schedule_maker *m);
void schedule_link_commands(struct schedule_maker *m, uint32_t source);

/* When the last of the commands that a wait was for had ended; 0: it is not known for which. */
uint64_t schedule_join_commands(struct schedule_maker *m, const struct schedule_wait *wait);

/* The last work of a lane that had ended by then; RUN_NONE if none had. */
uint32_t schedule_work_ended_by(
	const struct schedule_maker *m, const struct schedule_span *span, uint64_t ns);
