/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the samples of a lane in which each nanosecond is counted once. A sample's time is
 * cut to its parent's and begins where its elder sibling and the wait after it end; what is left of
 * it after its nested samples and their waits is its inner waiting and its self time:
 *
 *   length = self + inner + sum over nested (length + wait)
 *   self = on the CPU + off.preempted + off.blocked, where the latter are known
 *
 * When a thread other than the engine's samples tokens, a step's account has only its time outside
 * of all steps of the process: time beside a step costs nothing.
 *
 * Tiles are passed over, and only named. Begin and end are called for each other sample, nested
 * like the samples. Accumulators join a walk, so that a run is walked once for all of them.
 * Read-only on the run; one walk per thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/walk/step_index.h"
#include "trace/run.h"

/* The place of a sample's time in the accounts. */
enum walk_scope {
	WALK_OUTSIDE, /* in no step's account */
	WALK_IN_STEP, /* is, or lies in, a step of its own lane: part of the wall time */
	/*
	 * Outside of steps, on the engine's thread, or sampling on another: in the account of the
	 * step before
	 */
	WALK_AFTER,
	WALK_ALONGSIDE,	 /* on another thread while a step of its process ran */
	WALK_UNFINISHED, /* is, or lies in, a step that never ended: in no account */
};

/* Parts of a frame's time. */
struct walk_times {
	uint64_t length_ns, self_ns, inner_ns, wait_ns;
};

struct walk_frame {
	const struct run_sample *sample;
	uint32_t index; /* on its lane */
	uint32_t brick;
	uint32_t step; /* number in run->steps, or RUN_NONE */
	enum walk_scope scope;
	bool is_step;	 /* the outermost, finished step itself */
	bool holds_step; /* steps are nested in it, so that it is no part of any */
	uint64_t begin_ns, end_ns;
	uint64_t length_ns; /* valid at the end, as are the next seven */
	uint64_t self_ns;
	uint64_t inner_ns; /* of waiting inside of it */
	uint64_t wait_ns;  /* of waiting right after it */
	/* of self_ns: when the thread was off its CPU; 0 if that is not known of all such steps */
	struct run_off_times off;
	struct run_off_times inner_off, wait_off; /* of inner_ns, of wait_ns */
	struct run_off_times all_off; /* of length_ns: the same, with nested frames and waits */
	struct walk_times counted; /* the part of these times that counts in the frame's account */
	uint64_t nested_ns, beside_ns, cursor_ns;
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

/* False if it never ended: then it is no execution, though its time so far counts. */
static inline bool walk_has_ended(const struct walk_frame *frame)
{
	return !(frame->sample->flags & RUN_SAMPLE_OPEN);
}

/* A part of the run's wall time: that of its steps, or of its threads if it has no steps. */
static inline bool walk_in_wall(const struct run *run, const struct walk_frame *frame)
{
	return !run->step_count || frame->scope == WALK_IN_STEP || frame->scope == WALK_AFTER;
}

/* The brick of waits that belong to samples; brick_count if the run does not know it. */
static inline uint32_t walk_wait_brick(const struct run *run)
{
	uint32_t b = 0;

	while (b < run->brick_count && run->bricks[b].well_known != BRICK_BARRIER_WAIT)
		b++;
	return b;
}

/*
 * The time that statistics of executions use: on the CPU, as far as that is known, and all of a
 * wait, as being off the CPU holds up no work in it.
 */
static inline uint64_t walk_basis_ns(const struct step_index *index, const struct walk_frame *frame)
{
	if (index->kinds[frame->brick] == BRICK_KIND_WAIT)
		return frame->length_ns;
	return frame->length_ns - frame->all_off.blocked_ns - frame->all_off.preempted_ns;
}

/*
 * What a frame adds to the wall time, as all views have it: the time in which its thread ran or, in
 * a wait, was blocked. The rest is nobody's work, and has the rows "preempted" and "blocked".
 */
struct walk_shares {
	uint64_t own_ns;  /* of the frame itself */
	uint64_t wait_ns; /* of waiting inside of it and after it */
	/* the rest of its own counted time, and of its waits' */
	struct run_off_times own_off, wait_off;
};

struct walk_shares walk_shares(const struct step_index *index, const struct walk_frame *frame);

/*
 * An accumulator's const table of functions; NULL where it wants no such call. Frames of open
 * samples stand one after the other: frame[-1] holds frame[0]; the outermost has depth 1. Scope may
 * still turn from WALK_AFTER to WALK_OUTSIDE between begin and end. A negative result ends the
 * walk.
 */
struct walk_ops {
	/* 1: wants the samples of that lane; 0: not. NULL: wants those of threads. */
	int (*begin_lane)(void *context, uint32_t lane);
	void (*begin)(void *context, const struct walk_frame *frame, unsigned depth);
	void (*end)(void *context, const struct walk_frame *frame, unsigned depth);
	/* For each tile. holder: the frame around it, or the lane itself. */
	void (*tile)(void *context, const struct walk_frame *holder, uint32_t sample);
	/* A frame was the innermost of its lane in that time, which may be none. */
	void (*piece)(
		void *context, const struct walk_frame *frame, uint64_t begin_ns, uint64_t end_ns);
	int (*end_lane)(void *context, uint32_t lane); /* of a lane whose samples it wanted */
	void (*begin_process)(void *context, uint32_t process);
	int (*end_process)(void *context, uint32_t process); /* also after an error */
	int (*finish)(void *context); /* after all lanes, in the order of joining */
};

enum { WALK_JOINED_MAX = 96 };

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
	/* shared by several of them */
	struct execution_counts *executions; /* src/analysis/accounts/execution_counts.h */
	struct work_accounts *work;	     /* src/analysis/accounts/work_accounts.h */
	struct step_times *times;	     /* src/analysis/steps/step_times.h */
};

void walk_init(struct walk *walk, const struct run *run, const struct step_index *index);

/* Adds an accumulator to the walk. */
void walk_join(struct walk *walk, const struct walk_ops *ops, void *context);

/*
 * Walks over all lanes, process by process, and lets all accumulators finish. Returns the first
 * negative result of one of them, or -ENOMEM: those that did not finish are then good for
 * destroying only.
 */
int walk_run(const struct walk *walk);

/*
 * Feeds an accumulator samples [first, end) of a lane, as if nothing held them; begin, end and tile
 * only.
 */
void walk_samples(const struct run *run, const struct step_index *index, uint32_t lane,
	size_t first, size_t end, const struct walk_ops *ops, void *context);

/*
 * All samples of one lane: at once, or so many at a time, so that lanes can be walked side by side.
 * Frames have their own times, and times off the CPU, only if an accumulator wants ends. NULL: no
 * memory.
 */
struct walk_lane *walk_lane_create(
	const struct run *run, const struct step_index *index, uint32_t lane);
void walk_lane_join(struct walk_lane *lane, const struct walk_ops *ops, void *context);
bool walk_lane_next(struct walk_lane *lane, size_t count); /* false: all had ended before */
void walk_lane_destroy(struct walk_lane *lane);
