/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the samples of a lane in which each nanosecond is counted once. A sample's time is
 * cut to the time of its parent, and begins where its elder sibling and the wait after that end.
 * The rest of a sample, without nested samples and their waits, is inner waiting and self time:
 *
 *   length = self + inner + sum over nested (length + wait)
 *   self = on the CPU + off.preempted + off.blocked, where the latter are known
 *
 * A step's account has the step, and time after the step that still belongs to it: see enum
 * walk_scope. If a thread other than the engine's samples tokens, the account has only its time
 * outside of all steps of the process, because time beside a step costs nothing.
 *
 * Accumulators join a walk, so that a run is walked once for all of them. Tiles get no frame. Begin
 * and end are called for each other sample, nested like the samples. The run stays as it is; one
 * walk per thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "trace/run.h"

/* The account of a step in which a frame's time counts. */
enum walk_scope {
	WALK_OUTSIDE, /* no account */
	WALK_IN_STEP, /* the step of its own lane that it is, or lies in: part of the wall time */
	/*
	 * the step before: a frame outside of steps on the engine's thread, or sampling on another
	 * thread; part of the wall time
	 */
	WALK_AFTER,
	WALK_ALONGSIDE,	 /* no account: on another thread while a step of its process ran */
	WALK_UNFINISHED, /* no account: it is, or lies in, a step that never ended */
};

/* Parts of a frame's time, as in struct walk_frame. */
struct walk_times {
	uint64_t length_ns, self_ns, inner_ns, wait_ns;
};

struct walk_frame {
	const struct run_sample *sample;
	uint32_t index; /* of the sample on its lane */
	uint32_t brick;
	uint32_t step; /* number in run->steps, of the scope's step; RUN_NONE: none */
	enum walk_scope scope;
	bool is_step;	 /* the outermost, finished step itself */
	bool holds_step; /* steps are nested in it, so that it is part of no step */
	uint64_t begin_ns, end_ns;

	/* These are valid in end() only. */
	uint64_t length_ns;
	uint64_t self_ns;
	uint64_t inner_ns; /* waiting inside of it */
	uint64_t wait_ns;  /* waiting right after it */
	/* part of self_ns off the CPU; 0 unless known in all steps of its phase */
	struct run_off_times off;
	struct run_off_times inner_off, wait_off; /* parts of inner_ns, and of wait_ns */
	struct run_off_times all_off; /* part of length_ns, with nested frames and waits */
	struct walk_times counted;    /* parts of the times above that count in the account */

	/* private to walk.c */
	uint64_t nested_ns, beside_ns;
	uint64_t cursor_ns; /* where its last nested frame and the wait after that ended */
	struct run_off_times nested_off;
};

/* True if no frame that holds it is of its brick. */
static inline bool walk_is_outermost(const struct walk_frame *frame, unsigned depth)
{
	const struct walk_frame *holder = frame - depth + 1;

	while (holder < frame && holder->brick != frame->brick)
		holder++;
	return holder == frame;
}

/* False for a sample that never ended: it is no execution, though its time so far counts. */
static inline bool walk_has_ended(const struct walk_frame *frame)
{
	return !(frame->sample->flags & RUN_SAMPLE_OPEN);
}

/* True for parts of the run's wall time: accounts of steps, or all of a run without steps. */
static inline bool walk_in_wall(const struct run *run, const struct walk_frame *frame)
{
	return !run->step_count || frame->scope == WALK_IN_STEP || frame->scope == WALK_AFTER;
}

/* The brick in which waits of samples count, BarrierWait; brick_count: the run has none. */
static inline uint32_t walk_wait_brick(const struct run *run)
{
	uint32_t b = 0;

	while (b < run->brick_count && run->bricks[b].well_known != BRICK_BARRIER_WAIT)
		b++;
	return b;
}

/*
 * The length of an execution for statistics, in end() only: without times off the CPU, as far as
 * they are known; waits count whole, because a wait needs no CPU.
 */
static inline uint64_t walk_basis_ns(const struct step_index *index, const struct walk_frame *frame)
{
	if (index->kinds[frame->brick] == BRICK_KIND_WAIT)
		return frame->length_ns;
	return frame->length_ns - frame->all_off.blocked_ns - frame->all_off.preempted_ns;
}

/*
 * The parts of a frame's counted time. All views add these to the wall time of bricks: time in
 * which the thread ran or, in a wait, was blocked. The off times are no brick's work, and make the
 * rows "preempted" and "blocked".
 */
struct walk_shares {
	uint64_t own_ns;	       /* of counted.self_ns */
	uint64_t wait_ns;	       /* of counted.inner_ns and counted.wait_ns */
	struct run_off_times own_off;  /* the rest of counted.self_ns */
	struct run_off_times wait_off; /* the rest of the counted waits */
};

/* In end() only. */
struct walk_shares walk_shares(const struct step_index *index, const struct walk_frame *frame);

/*
 * An accumulator's const table of functions; NULL: no such call. Open frames lie in one array:
 * frame[-1] holds frame[0], and the outermost has depth 1. A frame's scope may turn from WALK_AFTER
 * to WALK_OUTSIDE between begin and end, when a step begins inside of it. A negative result ends
 * the walk.
 */
struct walk_ops {
	/* 1: wants the lane's samples; 0: does not. NULL: wants all threads, and no queue. */
	int (*begin_lane)(void *context, uint32_t lane);
	void (*begin)(void *context, const struct walk_frame *frame, unsigned depth);
	void (*end)(void *context, const struct walk_frame *frame, unsigned depth);
	/* For each tile, a sample of the lane. holder: the frame around it, or the lane's own. */
	void (*tile)(void *context, const struct walk_frame *holder, uint32_t sample);
	/* The frame was the innermost of its lane from begin_ns to end_ns, which may be equal. */
	void (*piece)(
		void *context, const struct walk_frame *frame, uint64_t begin_ns, uint64_t end_ns);
	int (*end_lane)(void *context, uint32_t lane); /* for lanes that begin_lane wanted */
	void (*begin_process)(void *context, uint32_t process);
	int (*end_process)(void *context, uint32_t process); /* also after an error */
	int (*finish)(void *context); /* after all lanes, in the order of joining */
};

enum { WALK_JOINED_MAX = 96 }; /* accumulators of one walk */

struct execution_counts;
struct work_accounts;
struct step_times;

/* One pass over a run, and its accumulators. */
struct walk {
	const struct run *run;
	const struct step_index *index;
	struct walk_joined {
		const struct walk_ops *ops;
		void *context;
	} joined[WALK_JOINED_MAX];
	size_t count;
	/* counts that several accumulators share; each is NULL until one asks for it */
	struct execution_counts *executions; /* src/analysis/accounts/execution_counts.h */
	struct work_accounts *work;	     /* src/analysis/accounts/work_accounts.h */
	struct step_times *times;	     /* src/analysis/steps/step_times.h */
};

void walk_init(struct walk *walk, const struct run *run, const struct step_index *index);

/* Adds an accumulator to a walk that has not run. */
void walk_join(struct walk *walk, const struct walk_ops *ops, void *context);

/*
 * Walks over all lanes, process by process, and calls finish() of all accumulators. Returns the
 * first negative result of an accumulator, or -ENOMEM: accumulators that did not finish can then
 * only be destroyed.
 */
int walk_run(const struct walk *walk);

/*
 * Feeds an accumulator samples [first, end) of a lane, as if no frame held them. Calls begin, end
 * and tile only.
 */
void walk_samples(const struct run *run, const struct step_index *index, uint32_t lane,
	size_t first, size_t end, const struct walk_ops *ops, void *context);

/*
 * A walk over one lane, some samples at a time, so that lanes can be walked side by side. Frames
 * have the times of end() only if an accumulator has end(). NULL: no memory.
 */
struct walk_lane *walk_lane_create(
	const struct run *run, const struct step_index *index, uint32_t lane);
void walk_lane_join(struct walk_lane *lane, const struct walk_ops *ops, void *context);
/* Walks over the next `count` samples, or what is left. False: all frames had ended before. */
bool walk_lane_next(struct walk_lane *lane, size_t count);
void walk_lane_destroy(struct walk_lane *lane);
