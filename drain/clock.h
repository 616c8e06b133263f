/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one line that turns the ticks of a whole recording into ns of CLOCK_MONOTONIC: through a pair
 * of readings taken at the start and another taken as late as possible before the first conversion.
 * Afterwards it is only checked. One thread at a time.
 */
#ifndef BRICK_DRAIN_CLOCK_H
#define BRICK_DRAIN_CLOCK_H

#include <stdint.h>
#include "brick/clock.h"
#include "lib/clock_fit.h"

struct drain_clock {
	struct clock_pair first;
	struct brick_clock clock; /* valid once fitted */
	int fitted;
	uint32_t residual_ns; /* the largest seen by checks */
};

/* A baseline that makes the frequency sound to a few parts in 10^7. */
enum { DRAIN_CLOCK_BASELINE_NS = 50000000 };

void drain_clock_start(struct drain_clock *c);

/* How long the baseline would be if it were fitted now. */
uint64_t drain_clock_baseline_ns(const struct drain_clock *c);

/* Fix the line; does nothing when it is fixed already. */
const struct brick_clock *drain_clock_fit(struct drain_clock *c);

/* Compare the line with the clocks now; returns the largest residual so far. */
uint32_t drain_clock_check(struct drain_clock *c);

#endif
