/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gaps between a request's tokens: their parts, and why the long ones were long. A gap goes from
 * where one token was chosen to where the next one was, and its parts add up to it. The cause of a
 * long gap is the part that most exceeds its median over the request's gaps, or an event that is
 * known to have come with it.
 */
#pragma once

#include "analysis/requests/request_data.h"

/* Bricks of a step with the most self time on its thread; waits and engine phases are left out. */
enum { GAP_BRICKS = 3 };
struct gap_brick {
	uint32_t brick; /* RUN_NONE: there are no more */
	double share;	/* of the step */
};
int gap_bricks(const struct run *run, uint32_t step, struct gap_brick out[GAP_BRICKS]);

/*
 * Add the self time of each brick in a step, on its thread; the step itself gets the rest. By
 * rounding one may come out below 0, which is then a value above INT64_MAX.
 */
void gap_self_times(const struct run *run, uint32_t step, uint64_t *self_ns /*[brick_count]*/);

/* Called by requests_create(), when all else is there. */
int gaps_find(struct requests *requests);
