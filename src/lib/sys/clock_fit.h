/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ties the CPU's counter to CLOCK_MONOTONIC, by pairs of readings and the line through two pairs.
 * The process calibrates its clock with it; consumers fit a line of their own, with a longer
 * baseline (lib/drain/clock_line.h). Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/clock.h"

/* A reading of CLOCK_MONOTONIC between two readings of the counter. */
struct clock_pair {
	uint64_t ticks; /* the middle of both readings of the counter */
	uint64_t ns;	/* CLOCK_MONOTONIC */
	uint64_t width; /* ticks between both readings of the counter */
};

/* Takes several pairs, and returns the narrowest. */
struct clock_pair brick__clock_pair(void);

/*
 * Puts the line through two pairs into mult, shift, base and frequency of *clock, and returns 1. 0:
 * there is no such line, since a clock stood still or ran back.
 */
int brick__clock_fit(
	struct brick_clock *clock, const struct clock_pair *first, const struct clock_pair *last);

/* Return how far the clock's prediction is ahead of a pair, in ns; residual: without the sign. */
int64_t brick__clock_off(const struct brick_clock *clock, const struct clock_pair *pair);
uint64_t brick__clock_residual(const struct brick_clock *clock, const struct clock_pair *pair);

/*
 * Offers the recorder's clock, in memory that stays valid; base_ns is CLOCK_MONOTONIC outside of
 * time namespaces. When the process first needs a clock, it uses this one if it still tells the
 * time.
 */
void brick__clock_offer(const struct brick_clock *clock);

/*
 * Stops the clock: the program is about to forbid reading the counter, and the OS clock reads the
 * counter, too. From now on neither is read, and ticks stand still.
 */
void brick__clock_freeze(void);

/* True if the clock is frozen; freezes it if the calling thread may not read the counter. */
bool brick__clock_is_frozen(void);

/* In the child of a clone(): a parent's thread that was calibrating the clock is not in the child.
 */
void brick__clock_abandon(void);
