/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A series: sites that are executed one after the other again and again, as the nodes of a graph
 * are. They are known beforehand, so that recording them takes a fraction of the time that timings
 * take (brick/attach.h). Any thread creates and frees a series; one thread at a time records it,
 * and none while it is freed.
 */
#pragma once

#include <stdint.h>
#include "brick/attach.h"

/* One execution of a site; ticks. */
struct brick__series_timing {
	uint32_t mark;	/* the caller's own; not looked at */
	uint32_t begin; /* the lower 32 bits of its begin */
	uint32_t ticks; /* length */
};

/*
 * Executions of `count` sites of a series in a row. From the end of one execution to the begin of
 * the next it is less than 2^32 ticks.
 */
struct brick__series_run {
	uint32_t first;	      /* place in the series of the first site */
	uint32_t count;	      /* entries of `timings` */
	uint64_t begin, last; /* when the first execution began; when the last one had begun */
	const struct brick__series_timing *timings;
	const struct brick_timing_work
		*works; /* of executions with other work, by rising `timing` */
	uint32_t work_count;
};

struct brick__series;

/* Makes a series of sites, by their indexes, copied. NULL: no memory, or a site is not registered.
 */
BRICK_API struct brick__series *brick__series_create(const uint32_t *sites, uint32_t count);
BRICK_API void brick__series_free(struct brick__series *series);

/* Records a run, as brick_record_timings_work() would. Returns the sum of the lengths, in ticks. */
BRICK_API uint64_t brick__series_record(
	struct brick__series *series, const struct brick__series_run *run);
