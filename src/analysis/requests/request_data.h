/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a run: counts and measured times of each, and the gaps between its tokens.
 * Borrows the run. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "trace/run.h"

/* Why a gap was long. "Its step" is the step that gave the token which ends the gap. */
enum gap_cause {
	GAP_USUAL,	    /* it was not long */
	GAP_PREFILL_BESIDE, /* its step evaluated a prompt of other requests, too */
	GAP_PREFILL_BEFORE, /* steps with prompts of other requests came before its step */
	GAP_OTHERS,	    /* steps without prompts, of other requests, came before its step */
	GAP_DRAFTING,	    /* steps of a model that drafts came before its step */
	GAP_MORE_REQUESTS,  /* its step had tokens of more requests than the one before */
	GAP_AGAIN,	    /* tokens of the request had to be evaluated again */
	GAP_SHIFT,	    /* the request's context was full and was shifted */
	GAP_STATE,	    /* a state was saved or loaded */
	GAP_CACHE,	    /* cells of the cache were given back or copied */
	GAP_GRAPH,	    /* the graph was built anew */
	GAP_COLD_PAGES,	    /* page faults in its step */
	GAP_PREEMPTED,	    /* the thread, or another of its step, could have run, and had no CPU */
	GAP_BLOCKED,	    /* the thread waited for something within the step */
	GAP_SAMPLING,	    /* sampling between the steps */
	GAP_IDLE,	    /* between the steps the thread waited: for a client, a lock, a timer */
	GAP_HOST,	    /* between the steps the program did something else */
	GAP_EVICTED,	    /* the cache was full: the request lost its tokens for others' */
	GAP_STEP,	    /* the step itself took longer, and none of these explains it */
	GAP_CAUSES,
};

/* Parts of a gap; they add up to it. "Its step" as in enum gap_cause. */
enum gap_part {
	GAP_PART_STEP,	    /* its step, less the next three parts */
	GAP_PART_GRAPH,	    /* in its step: graphs were built and placed */
	GAP_PART_PREEMPTED, /* in its step and before: the thread could have run */
	GAP_PART_BLOCKED,   /* in its step: the thread waited */
	GAP_PART_PREFILL,   /* other steps with prompts, before its step */
	GAP_PART_OTHERS,    /* other steps without prompts, before its step */
	GAP_PART_DRAFTING,  /* before its step: steps of a model that drafts, and undone steps */
	GAP_PART_STATE,	    /* states saved or loaded between steps */
	GAP_PART_CACHE,	    /* between steps: cells of the cache given back or copied */
	GAP_PART_SAMPLING,  /* sampling between steps */
	GAP_PART_IDLE,	    /* between steps: the thread waited */
	GAP_PART_HOST,	    /* between steps: the rest */
	GAP_PARTS,
};

struct request_gap {
	uint64_t begin_ns, end_ns;
	uint32_t step;	 /* index in the run: the step that ends the gap */
	uint32_t tokens; /* that the step gave; more than one if drafts held */
	uint64_t parts_ns[GAP_PARTS];
	enum gap_cause cause;
	uint64_t excess_ns; /* by which the gap exceeds the request's median gap */
	/* With GAP_PREFILL_* and GAP_OTHERS: the other request with most tokens; RUN_NONE: none. */
	uint32_t other;
	uint32_t other_prompt; /* tokens of other requests' prompts, in the step and before it */
	uint64_t faults;       /* page faults in the step; 0 if they were not counted */
	bool is_evicted; /* the request lost its tokens in it, and they were evaluated again */
};

/* A gap is long above so many times the request's median gap. */
enum { GAP_LONG = 3 };

static inline uint64_t gap_ns(const struct request_gap *gap)
{
	return gap->end_ns - gap->begin_ns;
}

/* Why a request has no more tokens. */
enum request_end {
	REQUEST_OPEN,	 /* the recording ended first, or nobody said */
	REQUEST_TOLD,	 /* the program said that it ended */
	REQUEST_REMOVED, /* the whole sequence was removed */
	REQUEST_CUT, /* the sequence was removed from a position on: another prompt differs there */
	REQUEST_FOLLOWED,  /* another prompt went on behind the request's tokens */
	REQUEST_RESTARTED, /* the sequence began anew, and nobody had removed it */
	REQUEST_REPLACED,  /* a saved state, or another sequence's tokens, came in its place */
	REQUEST_FREED,	   /* its model is gone */
	REQUEST_ENDS,
};

/* The origin of the tokens that a request found in its sequence. */
enum request_reuse {
	REQUEST_REUSE_NONE,
	REQUEST_REUSE_OWN,    /* the sequence's request before had left them */
	REQUEST_REUSE_COPIED, /* copied from another sequence */
	REQUEST_REUSE_LOADED, /* loaded with a saved state */
	REQUEST_REUSE_BEFORE, /* from before the recording of the sequence began, or a fork */
	REQUEST_REUSE_PREFIX, /* the engine keeps prompts' begins for all sequences */
	REQUEST_REUSES,
};

/* Why tokens of a prompt were evaluated that had been evaluated before. */
enum request_lost {
	REQUEST_LOST_NOT,	/* no tokens are known to have been evaluated before */
	REQUEST_LOST_CUT,	/* the sequence was cut at a position before them: prompts differ */
	REQUEST_LOST_REMOVED,	/* the sequence was removed */
	REQUEST_LOST_TAKEN,	/* another request began in the sequence that had them */
	REQUEST_LOST_ELSEWHERE, /* another sequence has them still */
	REQUEST_LOST_SHIFTED,	/* a full context was shifted */
	REQUEST_LOST_REPLACED,	/* a saved state came in their place */
	REQUEST_LOST_CHECKPOINT, /* they were there, and were evaluated anew all the same: what the
				    model keeps could not be taken back to that position */
	REQUEST_LOST_EVICTED,	 /* the engine took their memory while the request ran */
	REQUEST_LOST_REASONS,
};

/* A step's part of a request. */
struct request_part {
	uint32_t step, request;
	uint32_t tokens;     /* of the request in the step */
	uint32_t prompt;     /* those of `tokens` that are its prompt's */
	uint32_t results;    /* tokens whose results are wanted */
	uint32_t refuted;    /* those of `tokens` that are drafts which did not hold */
	int32_t position;    /* of the first token; -1: not known */
	uint64_t sampled_ns; /* when the request's next token was chosen; 0: not known */
	uint32_t shifts;     /* of the request's context, right before */
	/*
	 * A model that keeps a state cannot take single tokens back. If a draft does not hold, it
	 * goes back to before all drafts, and evaluates the drafts that held again, with the token
	 * that was chosen behind them.
	 */
	bool is_undone;	 /* the model went back to before this part: no token came of it */
	bool is_again;	 /* this part evaluates tokens of an undone part again */
	bool is_resumed; /* the request had lost its tokens before this part */
	bool had_token;	 /* the request had made a token before this part */
};

struct request {
	uint32_t process, model;
	int32_t sequence;
	bool has_number;
	uint64_t number;     /* the program's own; valid with has_number */
	uint64_t arrived_ns; /* as the program says; 0: not known */
	uint64_t begin_ns;   /* begin of its first step */
	uint64_t end_ns;     /* end of its last step */
	uint64_t first_ns; /* its first token was chosen, or the step of that ended; 0: no token */
	enum request_end end;
	int32_t cut_at; /* REQUEST_CUT: the position */
	bool is_back;	/* it began unseen and lost its tokens: what it had made counts as prompt */

	uint64_t prompt_tokens; /* of its prompt that were evaluated */
	uint64_t output_tokens; /* one for each result behind the prompt that held */
	uint64_t refuted;	/* drafts that did not hold */
	uint64_t told_output;	/* tokens that the program says it made; 0: it does not say */
	uint32_t reused;	/* tokens of its prompt that its sequence had already */
	enum request_reuse reuse;
	uint32_t shifts, shifted; /* of its context, and the tokens that were lost by these */

	/* At least so many tokens of its prompt were evaluated by an earlier request, too. */
	uint32_t again;
	enum request_lost lost; /* why most of these had to be evaluated again */
	uint32_t lost_at;	/* position at which the sequence that had them was cut */
	uint32_t lost_by;	/* request that took that sequence; RUN_NONE: none */

	uint32_t part_first, part_count;	 /* in requests->parts */
	uint32_t gap_first, gap_count;		 /* in requests->gaps */
	uint64_t p50_ns, p95_ns, p99_ns, max_ns; /* of gaps; ANALYSIS_UNKNOWN: too few */
	uint64_t running_ns; /* sum of the steps it took part in, also with other requests */
};

struct requests {
	const struct run *run;
	struct request *list; /* by begin */
	size_t count;
	struct request_part *parts; /* by request, then by time */
	size_t part_count;
	uint32_t *of_step;	  /* [part_count]: indices in parts, by step */
	uint32_t *step_first;	  /* [step_count + 1]: where a step's entries begin in of_step */
	struct request_gap *gaps; /* by request, then by time */
	size_t gap_count;
	uint64_t unknown_steps; /* evaluated steps whose sequences are not known */
	bool are_numbered;	/* the program numbered all requests, and no two alike */
	/* Median ns of a prompt's token, over steps that evaluated nothing else; 0: not known. */
	double prompt_token_ns;
};
