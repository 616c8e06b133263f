/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of a run's steps. A step's time is its span and, after it, the time in bricks that the
 * engine's thread ran outside of any step before the next one (sampling), and that in which a
 * device still worked for it, whatever the thread did; the wall time of a run is the sum of its
 * steps' times. Only outermost steps that ended count. Read-only once made.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/statistics/unknown.h"
#include "analysis/walk/walk.h"

enum step_phase {
	STEP_PREFILL = BRICK_PHASE_PREFILL,
	STEP_DECODE = BRICK_PHASE_DECODE,
	STEP_MIXED = BRICK_PHASE_MIXED,	    /* tokens of prompts and new ones in one batch */
	STEP_WARM_UP = BRICK_PHASE_WARM_UP, /* in no rate, and no way to a first token */
	STEP_PHASES = 4,
};

static inline enum step_phase step_phase_of(const struct run_step *step)
{
	return (enum step_phase)step->phase;
}

/* "prefill", "decode", "mixed", "warm-up"; NULL beyond. */
const char *step_phase_name(int phase);
/* The phase of a well-known brick that is a step; -1: it is none. */
int step_phase_of_brick(int32_t well_known);

struct step_time {
	uint64_t span_ns;	  /* from its begin to its end */
	uint64_t after_ns;	  /* after it and in its account: in bricks, or a device at work */
	uint64_t unattributed_ns; /* of both: in no brick and no wait, but on the CPU */
	uint64_t sampled_end_ns; /* of the last sampling after it or beside it; 0: there was none */
	/*
	 * the end of its last wait, of the last command that it launched, or its own: its results
	 * were there by then
	 */
	uint64_t done_ns;
};

/* Sums over all steps of one phase; ANALYSIS_UNKNOWN where there are too few to say. */
struct step_phase_times {
	uint64_t count, tokens;
	/*
	 * not in count, percentiles, union_ns and wall_ns: batches that were not evaluated, or not
	 * to the end; their time is in total_ns and the members after it
	 */
	uint64_t refused, aborted, unevaluated_ns;
	/* speculative decoding: evaluated beside `tokens`; drafts that were checked, and those of
	 * them that did not hold; steps of models that draft, and their time */
	uint64_t draft_tokens, checked, refuted, draft_steps, draft_ns;
	uint64_t output_tokens; /* of those: of a mixed step the part that is no prompt's */
	uint64_t
		dropped; /* steps that ran and are not among these, as their records were dropped */
	uint64_t total_ns, after_ns, unattributed_ns;
	uint64_t union_ns; /* with at least one of them running; each in one piece from its begin */
	uint64_t wall_ns;  /* that, and the program's time before them (step_times_between());
			      unknown where steps between them were left out */
	uint64_t min_ns, p50_ns, p95_ns, p99_ns, max_ns; /* of single steps */
};

/* The mean of the evaluated steps; ANALYSIS_UNKNOWN: there is none. */
static inline uint64_t step_mean_ns(const struct step_phase_times *times)
{
	return times->count ? (times->total_ns - times->unevaluated_ns) / times->count
			    : ANALYSIS_UNKNOWN;
}

struct step_times {
	struct step_time *steps; /* [run->step_count] */
	uint64_t wall_ns;
	struct step_phase_times phases[STEP_PHASES];
	/*
	 * Time to first token of the first process that has one: from the begin of the first step
	 * that takes in a prompt to the end of the first step that is followed by sampling, with
	 * that sampling. Where sampling was not recorded: from the begin of the last prompt before
	 * the first decode to the end of its last prefill, with the waits after it and the commands
	 * that it launched; unknown if its prefills may be prompts of their own (as many tokens
	 * each: a benchmark that repeats them). A warm-up is no part of it. ANALYSIS_UNKNOWN if no
	 * step is known to have given a token, also where records of it may have been dropped.
	 */
	uint64_t ttft_ns;
	/* while it is fed */
	struct step_times *same; /* of the same walk: copies of these */
	const struct run *run;
	const struct step_index *index;
};

/* Whole when the walk has run. -ENOMEM; *times is then empty. */
int step_times_init(struct step_times *times, struct walk *walk);
void step_times_fini(struct step_times *times);

/* The program's time between a step and the next one of its process. */
struct step_between {
	uint32_t before, step;
	uint64_t from_ns; /* where all earlier steps have ended */
	uint64_t ns;	  /* from there to the step, less what the account of `before` has of it */
};

/*
 * Calls found() for each of them, in order, but not before a prompt, for which a program may wait,
 * after a warm-up, or where steps were left out. steps: of step_times.
 */
void step_times_between(const struct step_time *steps, const struct run *run,
	const struct step_index *index,
	void (*found)(void *context, const struct step_between *between), void *context);

/*
 * True if steps ran on a lane of a run with statistics only (run.h). Then all of its time in bricks
 * is wall time: time in no step came before or after one.
 */
bool step_times_has_steps(const struct run *run, const struct run_lane *lane);

/* As step_times_init(), with a walk of its own. -ENOMEM. */
int step_times_measure(
	struct step_times *times, const struct run *run, const struct step_index *index);

/* Is the time to the first token known from this run, and was there a step after it? 1: *ttft_ns.
 */
int step_times_first_token(const struct run *run, uint64_t *ttft_ns);

/* True if any step of the phase has ended. */
bool step_phase_ended(const struct run *run, const struct step_index *index, enum step_phase phase);

/* A step and how long it took, to be sorted by that: the longest first, of equals the earlier. */
struct step_length {
	uint64_t ns;
	uint32_t step;
};

int step_length_compare(const void *a, const void *b);

static inline uint64_t step_time_total_ns(const struct step_time *time)
{
	return time->span_ns + time->after_ns;
}

/* The step of a phase whose time is the median (the lower one of two); RUN_NONE if there is none.
 */
uint32_t step_times_median(const struct step_times *times, const struct run *run,
	const struct step_index *index, enum step_phase phase);
