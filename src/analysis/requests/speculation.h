/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gain and the cost of speculative decoding, for each model whose drafts were checked: tokens
 * that were proposed and that held, by their position in the draft; where the time went from one
 * token that was chosen to the next; and the time without drafts. All of this is counted and
 * measured. Times are of cycles in which nothing was evaluated for other requests.
 *
 * Modelled is the time for a token if drafts had been cut at another length: cycles keep what they
 * proposed and accepted up to there, and a step takes the median of steps with as many tokens, on a
 * line between two lengths that were seen, without preemption where that is known. Read-only once
 * made: any thread.
 */
#pragma once

#include <stdint.h>
#include "analysis/requests/request_data.h"

enum { SPECULATION_POSITIONS = 64 }; /* of later ones only the sums know */

struct speculation_position {
	uint64_t proposed, accepted;
	uint64_t verify_ns; /* median of steps that checked so many; ANALYSIS_UNKNOWN: too few */
	double modelled_token_ns; /* with drafts of at most so many tokens; < 0: not known */
};

struct speculation {
	uint32_t process, model;
	uint64_t verifications, proposed, accepted;
	uint64_t draft_steps; /* of a model that drafts, in cycles that have times */
	uint64_t
		shared; /* verifications that came with others' tokens, in it or before: no times */
	uint64_t
		again; /* verifications after which the model went back, and what held came again */
	uint64_t cycles, drafts; /* that have times, and the drafts in them */
	uint64_t tokens;	 /* that these cycles gave */
	uint64_t cycle_ns, draft_ns, verify_ns;
	/* with steps that evaluate again; ANALYSIS_UNKNOWN: nobody said when cells were given back
	 */
	uint64_t rollback_ns;
	uint64_t plain_tokens, plain_ns; /* of the same model, without drafts */
	double break_even; /* share of drafts that must hold for them to pay; < 0: not known */
	uint32_t position_count;				   /* the longest draft */
	struct speculation_position of[SPECULATION_POSITIONS + 1]; /* from 1; 0: without drafts */
	uint32_t best; /* modelled; RUN_NONE: not known */
};

struct speculations {
	struct speculation *list;
	size_t count;
};

/* 0 or -ENOMEM. None: no drafts were checked. */
int speculations_create(struct speculations **out, const struct requests *requests);
void speculations_destroy(struct speculations *speculations);
