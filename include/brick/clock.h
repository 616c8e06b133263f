/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host clock. Times are taken in ticks of the cheapest clock that is known to be sound (the
 * invariant TSC, CNTVCT, or CLOCK_MONOTONIC itself) and turned into nanoseconds of CLOCK_MONOTONIC
 * by one linear calibration. Any thread.
 */
#ifndef BRICK_CLOCK_H
#define BRICK_CLOCK_H

#include <stdint.h>
#include "brick/export.h"

BRICK_BEGIN_DECLS

/* Clocks that ticks can come from. */
enum brick_clock_source {
	BRICK_CLOCK_MONOTONIC = 0, /* clock_gettime(CLOCK_MONOTONIC); 1 tick = 1 ns */
	BRICK_CLOCK_TSC = 1,	   /* x86-64 invariant time stamp counter */
	BRICK_CLOCK_CNTVCT = 2,	   /* AArch64 virtual counter */
};

/* A linear map from ticks to ns: ns = base_ns + (ticks - base_ticks) * mult / 2^shift. Frozen. */
struct brick_clock {
	uint32_t source; /* enum brick_clock_source */
	uint32_t shift;
	uint64_t mult;	      /* 0: there is no clock in here */
	uint64_t base_ticks;  /* a reading of the counter ... */
	uint64_t base_ns;     /* ... and CLOCK_MONOTONIC at the same moment */
	uint64_t frequency;   /* ticks per second, as calibrated */
	uint32_t residual_ns; /* largest |predicted - measured| seen when checked against the OS */
	uint32_t step_ticks;  /* mean difference of two readings in a row: a shorter time is not
				 resolved; 0: not known */
};

/* Name of an enum brick_clock_source: "tsc", "cntvct" or "monotonic". Static text. */
BRICK_API const char *brick_clock_source_name(uint32_t source);

/* The process's clock, chosen and calibrated on first use (about 2 ms, once). Never NULL. */
BRICK_API const struct brick_clock *brick_clock_get(void);

/* Why the TSC or CNTVCT was not used; "" when it is. */
BRICK_API const char *brick_clock_reason(void);

/* Present time in ticks. */
BRICK_API uint64_t brick_ticks(void);

__extension__ typedef __int128 brick__int128;
__extension__ typedef unsigned __int128 brick__uint128;

/* Converts a time in ticks to ns of CLOCK_MONOTONIC; the conversion is off by less than 1 ns. */
static inline uint64_t brick_clock_ns(const struct brick_clock *clock, uint64_t ticks)
{
	int64_t delta = (int64_t)(ticks - clock->base_ticks);
	return clock->base_ns +
	       (uint64_t)(int64_t)(((brick__int128)delta * (brick__int128)clock->mult) >>
				   clock->shift);
}

/* Converts a length in ticks to ns, rounded down. */
static inline uint64_t brick_clock_duration_ns(const struct brick_clock *clock, uint64_t ticks)
{
	return (uint64_t)(((brick__uint128)ticks * clock->mult) >> clock->shift);
}

BRICK_END_DECLS

#endif
