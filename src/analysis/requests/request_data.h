/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a run: counts and measured times of each, and the gaps between its tokens.
 * Borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

enum gap_cause {
	GAP_USUAL,	    /* it was not long */
	GAP_PREFILL_BESIDE, /* its step evaluated a prompt of other requests, too */
	GAP_PREFILL_BEFORE, /* steps before its own did */
	GAP_OTHERS,	    /* steps of other requests came before its own */
	GAP_DRAFTING,	    /* steps of a model that drafts did */
	GAP_MORE_REQUESTS,  /* its step had tokens of more requests than the one before */
	GAP_AGAIN,	    /* tokens of its own had to be evaluated again */
	GAP_SHIFT,	    /* its context was full and was shifted */
	GAP_STATE,	    /* a state was saved or loaded */
	GAP_CACHE,	    /* cells of the cache were given back or copied */
	GAP_GRAPH,	    /* the graph was built anew */
	GAP_COLD_PAGES,	    /* page faults in its step */
	GAP_PREEMPTED,	    /* the thread could have run */
	GAP_BLOCKED,	    /* the thread waited for something within the step */
	GAP_SAMPLING,	    /* sampling between the steps */
	GAP_IDLE,	    /* between the steps the thread waited: for a client, a lock, a timer */
	GAP_HOST,	    /* between the steps the program did something else */
	GAP_STEP,	    /* the step itself took longer, and none of these explains it */
	GAP_CAUSES,
};

/* Parts of a gap; they add up to it. */
enum gap_part {
	GAP_PART_STEP,	    /* its own step, less the next three */
	GAP_PART_GRAPH,	    /* ... graphs that were built and placed */
	GAP_PART_PREEMPTED, /* ... and before it: the thread could have run */
	GAP_PART_BLOCKED,   /* within the step: the thread waited */
	GAP_PART_PREFILL,   /* other steps with prompts, before its own */
	GAP_PART_OTHERS,    /* other steps without */
	GAP_PART_DRAFTING,  /* before its own: steps of a model that drafts, and its own undone */
	GAP_PART_STATE,	    /* states saved or loaded between steps */
	GAP_PART_CACHE,	    /* between steps: cells of the cache given back or copied */
	GAP_PART_SAMPLING,  /* sampling between steps */
	GAP_PART_IDLE,	    /* between steps: the thread waited */
	GAP_PART_HOST,	    /* between steps: the rest */
	GAP_PARTS,
};

struct request_gap {
	uint64_t begin_ns, end_ns;
	uint32_t step;	 /* that ends it */
	uint32_t tokens; /* that it gave; more than one with drafts that held */
	uint64_t parts_ns[GAP_PARTS];
	enum gap_cause cause;
	uint64_t excess_ns; /* over the request's median gap */
	/* GAP_PREFILL_*, GAP_OTHERS: of the other requests, the one with most tokens */
	uint32_t other;	       /* RUN_NONE: none */
	uint32_t other_prompt; /* tokens of prompts of all others, in its step and before it */
	uint64_t faults;       /* in its step, if they were counted */
};

/* Times the median above which a gap is long. */
enum { GAP_LONG = 3 };

static inline uint64_t gap_ns(const struct request_gap *gap)
{
	return gap->end_ns - gap->begin_ns;
}

/* Why there are no more tokens. */
enum request_end {
	REQUEST_OPEN,	   /* the recording ended first, or nobody said */
	REQUEST_TOLD,	   /* the program said that it ended */
	REQUEST_REMOVED,   /* the sequence was removed, all of it */
	REQUEST_CUT,	   /* ... from a position on, where another prompt differs */
	REQUEST_FOLLOWED,  /* another prompt went on behind it */
	REQUEST_RESTARTED, /* the sequence began anew, and nobody had removed it */
	REQUEST_REPLACED,  /* a saved state, or another sequence's tokens, came in its place */
	REQUEST_FREED,	   /* its model is gone */
	REQUEST_ENDS,
};

/* The origin of the tokens that it found in its sequence. */
enum request_reuse {
	REQUEST_REUSE_NONE,
	REQUEST_REUSE_OWN,    /* the sequence's request before had left them */
	REQUEST_REUSE_COPIED, /* another sequence's */
	REQUEST_REUSE_LOADED, /* a saved state's */
	REQUEST_REUSE_BEFORE, /* there before the sequence was seen: recording began later, or a
				 fork */
	REQUEST_REUSES,
};

/* Why tokens of a prompt were evaluated that had been evaluated before. */
enum request_lost {
	REQUEST_LOST_NOT,	/* none were known to be the same */
	REQUEST_LOST_CUT,	/* the sequence was cut at a position before them: prompts differ */
	REQUEST_LOST_REMOVED,	/* the sequence was removed */
	REQUEST_LOST_TAKEN,	/* another request began in the sequence that had them */
	REQUEST_LOST_ELSEWHERE, /* another sequence has them still */
	REQUEST_LOST_SHIFTED,	/* a full context was shifted */
	REQUEST_LOST_REPLACED,	/* a saved state came in their place */
	REQUEST_LOST_CHECKPOINT, /* they were there, and were evaluated anew all the same: what the
				    model keeps could not be taken back to that position */
	REQUEST_LOST_REASONS,
};

/* A step's part of a request. */
struct request_part {
	uint32_t step, request;
	uint32_t tokens, prompt, results;
	uint32_t refuted; /* of the tokens: drafts that did not hold */
	int32_t position;
	uint64_t sampled_ns; /* its next token was chosen; 0: not known */
	uint32_t shifts;     /* of its context, right before */
	/*
	 * A model that keeps a state cannot take single tokens back. If a draft does not hold, it
	 * goes back to before all of them, and evaluates again what held, with the token that was
	 * chosen behind.
	 */
	bool is_undone; /* this part: no token came of it */
	bool is_again;	/* the next one then */
};

struct request {
	uint32_t process, model;
	int32_t sequence;
	bool has_number;
	uint64_t number;     /* the program's own, if it has one */
	uint64_t arrived_ns; /* as the program says; 0: not known */
	uint64_t begin_ns;   /* of its first step */
	uint64_t end_ns;     /* of its last step */
	uint64_t first_ns;   /* its first token was chosen, or its step ended; 0: none came */
	enum request_end end;
	int32_t cut_at; /* REQUEST_CUT: the position */

	/* counted */
	uint64_t prompt_tokens; /* that were evaluated */
	uint64_t
		output_tokens; /* that were made: one for each result behind the prompt that held */
	uint64_t refuted;
	uint32_t reused; /* of its prompt: tokens that were there */
	enum request_reuse reuse;
	uint32_t shifts, shifted; /* of its context, and the tokens that were lost */

	/* of the prompt: evaluated though an earlier request had evaluated the same, at least */
	uint32_t again;
	enum request_lost lost; /* why, of most of them */
	uint32_t lost_at;	/* position at which the sequence that had them was cut */
	uint32_t lost_by;	/* request that took it; RUN_NONE: none */

	uint32_t part_first, part_count;	 /* in requests->parts */
	uint32_t gap_first, gap_count;		 /* in requests->gaps */
	uint64_t p50_ns, p95_ns, p99_ns, max_ns; /* of gaps; ANALYSIS_UNKNOWN: too few */
	uint64_t running_ns; /* steps that it took part in; others ran in them, too */
};

struct requests {
	const struct run *run;
	struct request *list; /* by begin */
	size_t count;
	struct request_part *parts; /* by request, then by time */
	size_t part_count;
	uint32_t *of_step;	  /* indices of parts, by step */
	uint32_t *step_first;	  /* [step_count + 1]: where a step's part of it begins */
	struct request_gap *gaps; /* by request, then by time */
	size_t gap_count;
	uint64_t unknown_steps; /* that were evaluated, and whose sequences are not known */
	bool are_numbered;	/* by the program: each, and no two alike */
	/* ns for a token of a prompt, in steps that evaluated nothing else: median; 0: not known */
	double prompt_token_ns;
};
