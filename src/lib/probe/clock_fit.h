/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tying the CPU's counter to CLOCK_MONOTONIC: paired readings and the line through two of them.
 * Used by the process's own calibration and by consumers, which have a longer baseline. Any thread.
 */
#pragma once

#include <stdint.h>
#include "brick/clock.h"

/* The counter and the OS clock read as one; width is the span of ticks that they lie in. */
struct clock_pair {
	uint64_t ticks, ns, width;
};

/* The narrowest of several sandwiches. */
struct clock_pair brick__clock_pair(void);

/* The line through two pairs, into mult, shift, base and frequency; 0 when they are no line. */
int brick__clock_fit(
	struct brick_clock *clock, const struct clock_pair *first, const struct clock_pair *last);

/* How far the clock's prediction is behind a pair, in ns; the residual is without the sign. */
int64_t brick__clock_off(const struct brick_clock *clock, const struct clock_pair *pair);
uint64_t brick__clock_residual(const struct brick_clock *clock, const struct clock_pair *pair);
