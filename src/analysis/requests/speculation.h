/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gain and the cost of speculative decoding, for each model that checked drafts. A cycle is a
 * gap between tokens: drafting, checking, and giving cells back. Counted are the tokens that were
 * proposed and accepted, by their position in the draft. Measured are the parts of cycles, and the
 * time of a token without drafts. Only cycles in which nothing was evaluated for other requests
 * have times.
 *
 * Modelled is the time of a token if drafts had been cut at another length: cycles keep what they
 * proposed and accepted up to that length, and a step takes the median of steps with as many
 * tokens, interpolated between two lengths that were seen, without preemption where that is known.
 * Read-only once made: any thread.
 */
#pragma once

#include <stdint.h>
#include "analysis/requests/request_data.h"

enum { SPECULATION_POSITIONS = 64 }; /* later positions are only in the sums */

struct speculation_position {
	uint64_t proposed, accepted;
	uint64_t verify_ns; /* median of steps that checked drafts of this length; ANALYSIS_UNKNOWN:
			       too few */
	double modelled_token_ns; /* of a token, with drafts of at most this length; < 0: not known
				   */
};

struct speculation {
	uint32_t process, model;
	uint64_t verifications, proposed, accepted;
	uint64_t shared; /* verifications without times: other requests' tokens were in the cycle */
	uint64_t
		again; /* verifications that were undone: tokens that held came again (is_undone) */
	/* Cycles with times, and sums over these: */
	uint64_t cycles;
	uint64_t draft_steps; /* steps of a model that drafts */
	uint64_t drafts;      /* tokens that were proposed */
	uint64_t tokens;      /* tokens that the cycles gave */
	uint64_t cycle_ns, draft_ns, verify_ns;
	/* Giving cells back and evaluating again; ANALYSIS_UNKNOWN: the former was not recorded. */
	uint64_t rollback_ns;
	/* Tokens of the same model without drafts, and their time. */
	uint64_t plain_tokens, plain_ns;
	double break_even; /* share of drafts that must hold for drafting to pay; < 0: not known */
	uint32_t position_count;				   /* length of the longest draft */
	struct speculation_position of[SPECULATION_POSITIONS + 1]; /* from 1; 0: without drafts */
	uint32_t best; /* length with the least modelled_token_ns; RUN_NONE: not known */
};

struct speculations {
	struct speculation *list;
	size_t count;
};

/* 0 or -ENOMEM. If no drafts were checked, count is 0. */
int speculations_create(struct speculations **out, const struct requests *requests);
void speculations_destroy(struct speculations *speculations);
