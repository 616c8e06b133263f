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
	struct clock_pair (*read)(void); /* brick__clock_pair(), or a test's */
	struct clock_pair first;
	struct clock_pair witnesses[DRAIN_CLOCK_WITNESSES]; /* since then, until it is fitted */
	uint32_t witness_count;
	struct brick_clock clock; /* valid once fitted */
	bool fitted;
	int64_t off_ns;	     /* by the reading before */
	uint64_t most_ns;    /* the largest seen */
	uint64_t changed_ns; /* between two readings at most */
};

/* A baseline that makes the frequency sound to a few parts in 10^7. */
enum { DRAIN_CLOCK_BASELINE_NS = 50000000 };

void drain_clock_start(struct drain_clock *c);

/* How long the baseline would be if it were fitted now. */
uint64_t drain_clock_baseline_ns(struct drain_clock *c);

/* Fix the line; does nothing when it is fixed already. */
const struct brick_clock *drain_clock_fit(struct drain_clock *c);

/* Compare the line with the clocks now; returns the residual so far: the most that a time is off.
 */
uint32_t drain_clock_check(struct drain_clock *c);
