/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models what prompts cost others that wait for tokens, from the recording's own steps. A mixed
 * step is held against steps of its model that decode alone, with as many output tokens and about
 * as much context; its expected time without prompts is their median. Where there are too few of
 * these it is not known. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/requests/request_data.h"

/* A modelled time: the median of like steps, and a 95 % interval of that median. */
struct expectation {
	double ns, low_ns, high_ns;
	uint32_t like; /* steps; 0: not known */
};

/* The expected effect of prompts in chunks of that many tokens. */
struct chunk_plan {
	uint32_t tokens;
	bool is_known;
	double p99_ns;	      /* of all gaps between tokens */
	double ttft_added_ns; /* for the longest prompt that rode along */
};

enum { CHUNK_PLANS = 4 };

struct interference {
	struct expectation *of_step; /* [step_count], of mixed ones */
	uint64_t mixed_steps, known_steps;
	/* of the mixed steps that are known */
	uint64_t measured_ns, prompt_tokens;
	double expected_ns, low_ns, high_ns;
	/* a step's time for each further token of prompts, and the fixed time of having any */
	bool has_slope;
	double slope_ns, fixed_ns;
	uint64_t longest_prompt; /* tokens of prompts in one mixed step, at most */
	uint64_t p99_ns;	 /* of all gaps, measured; ANALYSIS_UNKNOWN: too few */
	struct chunk_plan plans[CHUNK_PLANS];
	uint32_t plan_count;
};

/* 0 or -ENOMEM. */
int interference_create(struct interference **out, const struct requests *requests);
void interference_destroy(struct interference *interference);
