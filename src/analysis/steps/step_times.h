/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of a run's steps. A step's time is its span and the time after it, until the next step, in
 * which the engine's thread was in bricks (sampling) or a device still worked for the step. The
 * wall time of a run is the sum of its steps' times. Only outermost steps that ended count.
 * Read-only once made: any thread.
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
	STEP_WARM_UP = BRICK_PHASE_WARM_UP, /* in no rate and no time to a first token */
	STEP_OTHER = BRICK_PHASE_OTHER,	    /* no such phase is known: training, solvers */
	STEP_PHASES = 5,
};

static inline enum step_phase step_phase_of(const struct run_step *step)
{
	return (enum step_phase)step->phase;
}

/* The order in which views show phases: people wait for decoding most, for a warm-up never. */
extern const enum step_phase step_phase_order[STEP_PHASES];

/* "prefill", "decode", "mixed", "warm-up", "other"; NULL beyond. */
const char *step_phase_name(int phase);
int step_phase_by_name(const char *name); /* -1: none */
/* The phase whose steps are samples of this well-known brick; -1: none. */
int step_phase_of_brick(int32_t well_known);

struct step_time {
	uint64_t span_ns;	  /* from its begin to its end */
	uint64_t after_ns;	  /* after the span: in bricks, or with a device at work for it */
	uint64_t unattributed_ns; /* part of both: in no brick and no wait, but on the CPU */
	uint64_t sampled_end_ns;  /* end of the last sampling after or beside it; 0: none */
	/*
	 * when its results were there: the latest end of the step, its waits and the commands that
	 * it launched
	 */
	uint64_t done_ns;
};

/*
 * Sums over the steps of one phase. min_ns to max_ns are ANALYSIS_UNKNOWN where there are too few
 * steps.
 */
struct step_phase_times {
	uint64_t count;	 /* steps that were evaluated to the end */
	uint64_t tokens; /* of all steps; only evaluated steps have any */
	/*
	 * Batches that were not evaluated, or not to the end: steps, and their time. Their time is
	 * in total_ns, after_ns and unattributed_ns, but not in union_ns, wall_ns and percentiles.
	 */
	uint64_t refused, aborted, unevaluated_ns;
	/* speculative decoding */
	uint64_t draft_tokens; /* tokens that were evaluated beside `tokens` */
	uint64_t checked;      /* drafts that were checked */
	uint64_t refuted;      /* part of checked: drafts that did not hold */
	uint64_t draft_steps;  /* steps of models that draft */
	uint64_t draft_ns;     /* their time */
	/* part of tokens: new ones, so all of decode, and of a mixed step without its prompts */
	uint64_t output_tokens;
	uint64_t dropped; /* steps that ran, but are in no number, as their records were dropped */
	uint64_t total_ns, after_ns, unattributed_ns; /* sums of struct step_time, span in total */
	/*
	 * with at least one step running, each from its begin on in one piece; 0 where statistics
	 * are all there is, and several threads ran steps
	 */
	uint64_t union_ns;
	/*
	 * union_ns and the program's time before these steps (step_times_between());
	 * ANALYSIS_UNKNOWN where steps between them were left out
	 */
	uint64_t wall_ns;
	uint64_t min_ns, p50_ns, p95_ns, p99_ns, max_ns; /* of single steps */
};

/* The mean of the evaluated steps; ANALYSIS_UNKNOWN: there is none. */
static inline uint64_t step_mean_ns(const struct step_phase_times *times)
{
	return times->count ? (times->total_ns - times->unevaluated_ns) / times->count
			    : ANALYSIS_UNKNOWN;
}

struct step_times {
	struct step_time *steps; /* [run->step_count]; only steps that count have times */
	uint64_t wall_ns;	 /* of the run: sum of the steps' times */
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
	/* used while the walk runs */
	struct step_times *same; /* list of other step_times in the walk, which get copies */
	const struct run *run;
	const struct step_index *index;
};

/* Joins the walk; times are there when the walk has run. -ENOMEM; *times is then empty. */
int step_times_init(struct step_times *times, struct walk *walk);
void step_times_fini(struct step_times *times);

/* The program's time between a step and the next one of its process. */
struct step_between {
	uint32_t before;  /* the earlier step that ended last */
	uint32_t step;	  /* the step that begins next */
	uint64_t from_ns; /* when all earlier steps have ended */
	uint64_t ns;	  /* from then to the step's begin, without after_ns of `before` */
};

/*
 * Calls found() for each such time above 0, by process and begin; but not before a prompt, for
 * which a program may wait (a step that trains is none), after a warm-up, or where steps were left
 * out. steps: of a struct step_times.
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

/* 1: *ttft_ns is the time to the first token. 0: not known, or fewer than two steps have ended. */
int step_times_first_token(const struct run *run, uint64_t *ttft_ns);

/* True if any step of the phase has ended. */
bool step_phase_ended(const struct run *run, const struct step_index *index, enum step_phase phase);

/* A step and its time, for qsort() by step_length_compare(): longest first, then by number. */
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
