/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexes the steps of a run by lane, in the order of samples, and by process, in the order of
 * begins; and the kinds of its bricks. Only outermost steps are indexed: a step inside of another
 * step of its lane is a part of that. Borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/owners.h"

/* Kinds of bricks, by what their time counts as. */
enum brick_kind {
	BRICK_KIND_WORK = 0, /* all other kinds of bricks, and the engine's phases */
	BRICK_KIND_WAIT = 1,
	BRICK_KIND_STEP = 2,	 /* holds others: its own time is unattributed */
	BRICK_KIND_TILE = 3,	 /* no account of its own: its time is its holder's */
	BRICK_KIND_OVERHEAD = 4, /* the profiler's own work (brick/abi/overhead.h) */
};

/*
 * The end of a device's work for a step, after its evaluation had returned. This work is part of
 * the step until the next step of the thread begins, and so is the thread's own work meanwhile.
 */
struct step_tail {
	uint64_t device_ns; /* end of the last command that the step launched; 0: none known */
	uint64_t end_ns;    /* end of the tail; without a tail the step's own end */
	uint64_t gap_ns;    /* time of the tail in which the thread was in no brick */
};

struct step_index {
	uint32_t count;		 /* outermost steps that have ended */
	uint32_t *by_lane;	 /* numbers of outermost steps, open ones too */
	uint32_t *lane_first;	 /* [lane_count + 1]: where a lane's part of by_lane begins */
	uint32_t *by_process;	 /* numbers of outermost steps that have ended, by begin */
	uint32_t *process_first; /* [process_count + 1]: as lane_first, of by_process */
	/* by place in by_process: place of the last earlier step that ends later, or RUN_NONE */
	uint32_t *outer;
	struct step_tail *tails; /* [step_count] */
	uint8_t *finished;	 /* [step_count]: 1 if the step is outermost and has ended */
	uint8_t *kinds;		 /* [brick_count]: enum brick_kind */
	uint32_t off_known;	 /* bits for step_index_knows_off() */
	struct owners owners;	 /* threads of lanes: a thread's work is after its own steps only */
};

enum { STEP_INDEX_ALL = 31 }; /* bit of off_known for the whole run: phase -1 */

/*
 * True if times off the CPU were recorded in all steps of a phase, tails included; phase -1: in the
 * whole run. Only then numbers of several steps use time on the CPU, so that no number mixes two
 * clocks.
 */
static inline bool step_index_knows_off(const struct step_index *index, int phase)
{
	return index->off_known >> ((unsigned)phase & STEP_INDEX_ALL) & 1;
}

/* -ENOMEM; *index is then empty. */
int step_index_init(struct step_index *index, const struct run *run);
void step_index_fini(struct step_index *index);

/* True if a step has ended and its batch was evaluated to the end. Rates are of such steps. */
static inline bool step_index_is_evaluated(
	const struct step_index *index, const struct run *run, size_t step)
{
	return index->finished[step] && run->steps[step].outcome == RUN_EVALUATED;
}

/*
 * The step in which a time lies for a lane: the lane's own step, else the step of its process that
 * began last. RUN_NONE: none.
 */
uint32_t step_index_at(
	const struct step_index *index, const struct run *run, uint32_t lane, uint64_t ns);

/*
 * The step of a process that runs at `ns` and began last. place: in by_process, the last step that
 * had begun by then, or RUN_NONE. RUN_NONE: none runs.
 */
static inline uint32_t step_index_open(
	const struct step_index *index, const struct run *run, uint32_t place, uint64_t ns)
{
	while (place != RUN_NONE && run->steps[index->by_process[place]].end_ns <= ns)
		place = index->outer[place];
	return place == RUN_NONE ? RUN_NONE : index->by_process[place];
}

/* Place in by_lane of the lane's first step that ends after `ns`; lane_first[lane + 1]: none. */
uint32_t step_index_ended(
	const struct step_index *index, const struct run *run, uint32_t lane, uint64_t ns);

/*
 * The step that launched a command; where the launch is not known, the step in which the command
 * began. RUN_NONE: none.
 */
uint32_t step_index_of_command(
	const struct step_index *index, const struct run *run, const struct run_command *command);

/* How many other threads of its process recorded during a step. */
uint32_t step_index_threads_beside(const struct run *run, const struct run_step *step);

/* The part of a time, in ns, in which any step of the process ran. */
uint64_t step_index_overlap(const struct step_index *index, const struct run *run, uint32_t process,
	uint64_t begin_ns, uint64_t end_ns);

/* True if a lane runs steps, so that its time is the wall clock of the engine. */
static inline bool step_index_drives(const struct step_index *index, uint32_t lane)
{
	return index->lane_first[lane] != index->lane_first[lane + 1];
}

/* Steps as people count them: those that ended, from 1, in the order in which they began. */
uint32_t step_number(const struct run *run, const struct step_index *index, uint32_t step);

/* The number of each step; the caller frees. [step_count] NULL: no memory. */
uint32_t *step_number_list(const struct run *run, const struct step_index *index);

/* How many steps the whole recording has by this count, with steps that were left out. */
uint32_t step_numbers(const struct run *run, const struct step_index *index);
