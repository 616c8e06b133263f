/* SPDX-License-Identifier: Apache-2.0 */
/* Executions of sites that are a series (series.h). */
#pragma once

#include <stdint.h>
#include "brick/attach.h"

/* One execution of a site; ticks. */
struct brick__series_timing {
	uint32_t mark;	/* the caller's own; not looked at */
	uint32_t begin; /* its lower half */
	uint32_t ticks; /* length */
};

/*
 * Executions of the sites from `first` on, one after the other; from the end of one to the begin of
 * the next it is less than 2^32 ticks.
 */
struct brick__series_run {
	uint32_t first, count;
	uint64_t begin, last; /* when the first one began, and when the last one had begun */
	const struct brick__series_timing *timings;
	const struct brick_timing_work *works; /* by place in `timings` */
	uint32_t work_count;
};
