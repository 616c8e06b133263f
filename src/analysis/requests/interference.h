/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models how much prompts delay the tokens of other requests, from the recording's own steps. A
 * mixed step is compared with steps of its model that only decode, with as many output tokens and
 * about as much context: their median is its expected time without prompts. If there are too few
 * such steps, that is not known. Read-only once made: any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "analysis/requests/request_data.h"

/* A modelled time: the median of like steps, and a 95 % interval of that median. */
struct expectation {
	double ns, low_ns, high_ns;
	uint32_t like; /* number of like steps; 0: not known, and the rest is not valid */
};

/* The expected effect of cutting prompts into chunks. */
struct chunk_plan {
	uint32_t tokens; /* of a chunk */
	bool is_known;
	double p99_ns;	      /* of all gaps between tokens */
	double ttft_added_ns; /* for the longest prompt that rode along */
};

enum { CHUNK_PLANS = 4 };

struct interference {
	struct expectation *of_step; /* [step_count]; filled in for mixed steps */
	uint64_t mixed_steps;
	uint64_t known_steps; /* mixed steps with an expectation */
	/* Sums over known_steps: */
	uint64_t measured_ns, prompt_tokens;
	double expected_ns, low_ns, high_ns;
	/* Time that prompts add to a step: fixed_ns + slope_ns * tokens; valid with has_slope. */
	bool has_slope;
	double slope_ns, fixed_ns;
	uint64_t longest_prompt; /* the most tokens of prompts in one mixed step */
	uint64_t p99_ns;	 /* of all gaps, measured; ANALYSIS_UNKNOWN: too few gaps */
	struct chunk_plan plans[CHUNK_PLANS];
	uint32_t plan_count;
};

/* 0 or -ENOMEM. */
int interference_create(struct interference **out, const struct requests *requests);
void interference_destroy(struct interference *interference);
