/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one line that turns the ticks of a whole recording into ns of CLOCK_MONOTONIC. It goes
 * through a pair of readings taken at the start and another taken as late as possible before the
 * first conversion. All other readings only check it. Between two readings a slewed clock may be
 * further off than at either, by at most half of the change of its error between them. The residual
 * is therefore the largest error plus half of the largest change. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "brick/clock.h"
#include "lib/sys/clock_fit.h"

enum { DRAIN_CLOCK_WITNESSES = 16 };

struct drain_clock {
	struct clock_pair (*read)(void);		    /* brick__clock_pair(), or a test's */
	struct clock_pair first;			    /* from drain_clock_start() */
	struct clock_pair witnesses[DRAIN_CLOCK_WITNESSES]; /* between first and the fit */
	uint32_t witness_count;
	struct brick_clock clock; /* the process's; once fitted, the line */
	bool fitted;
	int64_t off_ns;	     /* how far the line was ahead at the last reading */
	uint64_t most_ns;    /* the largest such distance, without its sign */
	uint64_t changed_ns; /* the largest change of the distance between two readings */
};

/* A baseline that makes the frequency sound to a few parts in 10^7. */
enum { DRAIN_CLOCK_BASELINE_NS = 50000000 };

/* Takes the first reading. */
void drain_clock_start(struct drain_clock *c);

/* Takes a reading, and returns how long the baseline would be if the line were fitted now, in ns.
 */
uint64_t drain_clock_baseline_ns(struct drain_clock *c);

/* Fixes the line and returns it; the first call decides. The result is c's. */
const struct brick_clock *drain_clock_fit(struct drain_clock *c);

/* Compares the line with the clocks now; returns the residual so far, in ns: the most that a
 * converted time is off. */
uint32_t drain_clock_check(struct drain_clock *c);
