/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indexes the steps of a run, per lane in the order of its samples and per process by begin time,
 * and the kinds of its bricks. Steps inside of other steps of the same lane are left out: they are
 * parts of the outer one. Borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/owners.h"

/* Kinds of bricks, by what their time counts as. */
enum brick_kind {
	BRICK_KIND_WORK = 0, /* the engine's phases, too */
	BRICK_KIND_WAIT = 1,
	BRICK_KIND_STEP = 2, /* a container: its own time is unattributed */
	BRICK_KIND_TILE = 3, /* no account of its own: its time is that of the brick around it */
	BRICK_KIND_OVERHEAD = 4, /* the profiler's own work (brick/abi/overhead.h) */
};

/*
 * A device's work for a step after its evaluation had returned. Until the next step of its thread
 * begins, it is part of the step, and so is what the thread did meanwhile.
 */
struct step_tail {
	uint64_t device_ns; /* end of the last command that it launched; 0: none is known */
	uint64_t end_ns;    /* the step's own end, or that of its tail */
	uint64_t gap_ns;    /* of the tail: its thread was in no brick */
};

struct step_index {
	uint32_t count;		 /* of outermost steps that have ended */
	uint32_t *by_lane;	 /* step numbers */
	uint32_t *lane_first;	 /* [lane_count + 1]: where a lane's part of by_lane begins */
	uint32_t *by_process;	 /* step numbers */
	uint32_t *process_first; /* [process_count + 1] */
	/* by place in by_process: that of the last step before it that ends later, or RUN_NONE */
	uint32_t *outer;
	struct step_tail *tails; /* [step_count] */
	uint8_t *finished;	 /* [step_count]: 1 if the step is outermost and has ended */
	uint8_t *kinds;		 /* [brick_count]: enum brick_kind */
	uint32_t off_known;	 /* see step_index_knows_off() */
	struct owners owners;	 /* of lanes: one thread's work is not after another's step */
};

enum { STEP_INDEX_ALL = 31 };

/*
 * True if times off the CPU were recorded in all steps of a phase, with what devices did for them;
 * phase -1: in all of the run. Only then do numbers of several steps use time on the CPU: else a
 * part of them would be by one clock, a part by another.
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
 * The step in which that time lies on this lane: the lane's own, else of those of its process the
 * one that began last. RUN_NONE: none.
 */
uint32_t step_index_at(
	const struct step_index *index, const struct run *run, uint32_t lane, uint64_t ns);

/*
 * As step_index_at() for a process; place: in by_process, of the last step that had begun by then.
 */
static inline uint32_t step_index_open(
	const struct step_index *index, const struct run *run, uint32_t place, uint64_t ns)
{
	while (place != RUN_NONE && run->steps[index->by_process[place]].end_ns <= ns)
		place = index->outer[place];
	return place == RUN_NONE ? RUN_NONE : index->by_process[place];
}

/* Place in by_lane of the lane's first step that ends later; lane_first[lane + 1]: none does. */
uint32_t step_index_ended(
	const struct step_index *index, const struct run *run, uint32_t lane, uint64_t ns);

/* The step that launched a command; where its launch is not known, the one in which it began. */
uint32_t step_index_of_command(
	const struct step_index *index, const struct run *run, const struct run_command *command);

/* Threads of its process, beside its own, that recorded during a step. */
uint32_t step_index_threads_beside(const struct run *run, const struct run_step *step);

/* The part of that time in which any step of the process ran. */
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

/* Returns how many such numbers there are. */
uint32_t step_numbers(const struct run *run, const struct step_index *index);
