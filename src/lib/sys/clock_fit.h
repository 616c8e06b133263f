/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ties the CPU's counter to CLOCK_MONOTONIC by paired readings and the line through two of them.
 * The process calibrates itself with it; consumers do again, with a longer baseline. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/clock.h"

/* The counter and the OS clock read as one; width is the span of ticks that they lie in. */
struct clock_pair {
	uint64_t ticks, ns, width;
};

/* The narrowest of several pairs: the OS clock read between two readings of the counter. */
struct clock_pair brick__clock_pair(void);

/*
 * Puts the line through two pairs into mult, shift, base and frequency; 0 if there is no such
 * line.
 */
int brick__clock_fit(
	struct brick_clock *clock, const struct clock_pair *first, const struct clock_pair *last);

/* How far the clock's prediction is ahead of a pair, in ns; the residual is without the sign. */
int64_t brick__clock_off(const struct brick_clock *clock, const struct clock_pair *pair);
uint64_t brick__clock_residual(const struct brick_clock *clock, const struct clock_pair *pair);

/*
 * The recorder's clock, in memory that stays; its base is that of CLOCK_MONOTONIC outside of time
 * namespaces. The process uses it, if it still tells the time, when it first needs one.
 */
void brick__clock_offer(const struct brick_clock *clock);

/*
 * From now on the counter cannot be read, nor the OS clock, which reads it too: a program may
 * switch that off. Ticks stand still.
 */
void brick__clock_freeze(void);

/* True from then on, or if the thread is found to be such one. */
bool brick__clock_is_frozen(void);

/* In the child of a clone(): a thread that was choosing the clock is not there to end that. */
void brick__clock_abandon(void);
