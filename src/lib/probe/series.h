/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites that are executed one after the other again and again, as the nodes of a graph are. They
 * are known beforehand, so that recording them takes a fraction of what timings take
 * (brick/attach.h). Creating and freeing: any thread; recording: one thread at a time, and
 * nobody may record one that is freed.
 */
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

struct brick__series;

/* NULL: no memory, or one of them is not registered. */
BRICK_API struct brick__series *brick__series_create(const uint32_t *sites, uint32_t count);
BRICK_API void brick__series_free(struct brick__series *series);

/* Record them, as brick_record_timings_work() would. Returns how long they took together. */
BRICK_API uint64_t brick__series_record(
	struct brick__series *series, const struct brick__series_run *run);
