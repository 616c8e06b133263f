/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a slow step did longer than its neighbours: the nearest evaluated steps of its phase, of as
 * many tokens where there are enough such. Each part of its time is held against the median of that
 * part in the neighbours. Parts are bricks, waits, and time in no brick, on the thread that ran the
 * steps, with the time that this thread was off its CPU in them. Pure; any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "trace/run.h"

enum {
	SLOW_STEP_PARTS = 3,	   /* the most that are told */
	SLOW_STEP_NEIGHBOURS = 32, /* the most that it is compared with */
	SLOW_STEP_LEAST = 4,	   /* fewer neighbours tell nothing */
};

struct slow_step_part {
	const char *brick;		   /* the run's; NULL: in no brick */
	uint64_t took_ns, usual_ns;	   /* usual: the median of the neighbours */
	uint64_t preempted_ns, blocked_ns; /* of took_ns, where that is known */
};

struct slow_step {
	uint32_t step;	 /* index in the run */
	uint32_t number; /* as views count steps */
	size_t neighbours;
	uint64_t took_ns, usual_ns;
	uint64_t others_preempted_ns;		      /* other threads of its process, together */
	struct slow_step_part parts[SLOW_STEP_PARTS]; /* those that grew most, the largest first */
	size_t part_count; /* parts that grew by at least a twentieth of what the step did */
};

/*
 * The step that begins at `ns`. 1: filled in. 0: there is no such step, or it has too few
 * neighbours. -ENOMEM.
 */
int slow_step_at(struct slow_step *out, const struct run *run, uint64_t ns);
