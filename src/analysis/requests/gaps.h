/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gaps between a request's tokens: their parts, and the causes of long gaps. A gap lasts from the
 * time at which one token was chosen to the time at which the next one was, and its parts add up to
 * that. The cause of a long gap is the part that most exceeds its median over the request's gaps,
 * or an event that is known to have come with that part. One thread at a time.
 */
#pragma once

#include "analysis/requests/request_data.h"

/* The bricks with the most self time in a step, on its thread, without waits and engine phases. */
enum { GAP_BRICKS = 3 };
struct gap_brick {
	uint32_t brick; /* RUN_NONE: there are fewer bricks */
	double share;	/* of the step's time */
};
/* 0 or -ENOMEM. */
int gap_bricks(const struct run *run, uint32_t step, struct gap_brick out[GAP_BRICKS]);

/*
 * Adds the self time of each brick in a step, on its thread, to self_ns; the step's brick gets the
 * rest. By rounding a sum may come out below 0: it is then a value above INT64_MAX.
 */
void gap_self_times(const struct run *run, uint32_t step, uint64_t *self_ns /*[brick_count]*/);

/* Called by requests_create() when all other members are filled in. 0 or -ENOMEM. */
int gaps_find(struct requests *requests);
