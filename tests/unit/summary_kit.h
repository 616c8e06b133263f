/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of rows: the summary of a run by hand.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analysis/accounts/breakdown.h"
#include "analysis/cost/distortion.h"
#include "brick/abi/overhead.h"
#include "analysis/cost/losses.h"
#include "analysis/accounts/summary.h"
#include "analysis/statistics/unknown.h"
#include "tests/unit/run_builder.h"

static inline uint32_t start(struct run *run)
{
	memset(run, 0, sizeof(*run));
	run->complete = 1;
	run->clock = (struct brick_clock){.mult = 1};
	return builder_lane(run, builder_process(run, 1), 1);
}

static inline void give_stats(struct run *run, uint32_t lane)
{
	struct run_stat *stats = calloc(run->brick_count, sizeof(*stats));
	for (size_t b = 0; b < run->brick_count; b++)
		stats[b].min_ns = UINT64_MAX;
	run->lanes[lane].stats = stats;
}
