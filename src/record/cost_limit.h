/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many steps are recorded with their bricks, so that recording costs the program no more than a
 * share of its time (`brick record --max-cost`). Steps come in blocks, with bricks and as one piece
 * each, and where one kind of block follows the other, the medians of their lengths are compared.
 * The cost of a step with bricks is the median of the last such comparisons; the share of these
 * steps follows from the upper end of its interval. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "lib/drain/drain.h"

enum {
	COST_BLOCK = 8,		  /* steps of a block that are looked at: its first, its last */
	COST_BLOCK_LEAST = 3,	  /* fewer tell nothing */
	COST_COMPARISONS = 64,	  /* the most that are remembered */
	COST_COMPARISONS_MIN = 6, /* before so many nothing changes */
	COST_SESSIONS = 16,	  /* further processes are not looked at */
};

/* Lengths, in ticks, of the steps of a block. */
struct cost_block {
	uint64_t first[COST_BLOCK]; /* without the very first step, which finds its way anew */
	uint64_t last[COST_BLOCK];  /* the i-th step's at i % COST_BLOCK */
	uint64_t start;		    /* of the very first step */
	uint64_t count;
};

/* The lengths of a session's steps that were seen so far. */
struct cost_session {
	const struct drain *drain;
	uint32_t brick; /* of the steps in `block`: others of another phase begin anew */
	bool is_plain;
	struct cost_block block;
	uint64_t before; /* median of the end of the block before; 0: none */
};

struct cost_limit {
	double most; /* share of the time of the program's steps */
	struct cost_session sessions[COST_SESSIONS];
	unsigned session_count;
	/* logarithms of a step with bricks to one without, and of the first of a block to others */
	double steps[COST_COMPARISONS], starts[COST_COMPARISONS];
	uint64_t step_count, start_count; /* ever */
	uint64_t with_bricks, without;	  /* steps so far */
	double cost, low, high;		  /* of a step with bricks, as a share of it; 95 % */
	uint32_t blocks;		  /* as in struct brick_session_refusals; 0: none yet */
};

void cost_limit_init(struct cost_limit *limit, double most);

/* A step of the session has ended. True: `blocks` has changed. */
bool cost_limit_step(
	struct cost_limit *limit, const struct drain *drain, const struct drain_step *step);

void cost_limit_forget(struct cost_limit *limit, const struct drain *drain);
