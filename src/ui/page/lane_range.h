/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a lane that lie in a range of time, with those that hold them. Any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trace/run.h"

enum { LANE_RANGE_BACK = 65536 };

struct lane_range {
	size_t first, end; /* from the outermost sample around the first one on */
};

/* What began more than LANE_RANGE_BACK samples before the range is not found. */
static inline struct lane_range lane_range(
	const struct run_lane *lane, uint64_t since_ns, uint64_t until_ns)
{
	struct lane_range range = {run_sample_from(lane, since_ns), 0};
	size_t least = range.first > LANE_RANGE_BACK ? range.first - LANE_RANGE_BACK : 0;

	range.end = range.first;
	while (range.end < lane->sample_count && lane->samples[range.end].begin_ns < until_ns)
		range.end++;
	while (range.first > least && lane->samples[--range.first].depth)
		;
	return range;
}

static inline bool lane_range_holds(const struct run_sample *sample, uint64_t since_ns)
{
	return sample->end_ns + sample->wait_ns > since_ns;
}
