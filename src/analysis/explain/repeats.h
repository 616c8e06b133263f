/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares executions of the same work with their neighbours in time: same brick, operation, FLOPs,
 * bytes and elements, in the same phase, whatever the layer. The usual time of 32 executions in a
 * row is their median. An execution that takes half as long again, and 5 us more, was held up. The
 * time beyond the median is its excess. So neither a growing context nor another model makes one.
 * Executions of a phase's first step are left out if it takes twice the median of the others.
 * Only threads that run steps are looked at, without their time off the CPU. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "analysis/steps/step_times.h"
#include "analysis/walk/walk.h"

enum { REPEATS_BLOCK = 32 }; /* executions that are compared with each other */
enum { SLOW_STEP = 2 };	     /* a slow step takes so many times the median of the others */

/* Sums of a kind of work in a phase, or of several kinds. */
struct repeats_sums {
	uint64_t count;	     /* executions in blocks that could be compared */
	uint64_t own_ns;     /* their time on the CPU */
	uint64_t held_up;    /* executions that took longer than usual, ... */
	uint64_t held_up_ns; /* ... and by so much */
	uint64_t least_ns;   /* part of held_up_ns beyond the longest time that is still usual */
	uint64_t most_ns;    /* held_up_ns, and what all other executions took beyond the median */
	uint64_t waits_ns;   /* waits inside of executions and behind them */
	uint64_t long_waits; /* waits that took longer than usual, ... */
	uint64_t
		long_waits_ns; /* ... and by so much, without preemption of the process's threads */
};

struct repeats {
	const struct run *run;
	const struct step_index *index;
	uint32_t *kinds; /* [site_count] the first site with the same work; RUN_NONE: it has none */
	struct repeats_block **blocks; /* [STEP_PHASES][site_count] by kind, NULL: none is open */
	struct repeats_sums *sums;     /* [STEP_PHASES][brick_count] */
	uint32_t slow_first[STEP_PHASES]; /* steps, RUN_NONE: it is not slow */
	bool failed;			  /* no memory for a block */
};

/* Valid when the walk has run. 0 or -ENOMEM. */
int repeats_create_in(struct repeats **out, struct walk *walk);
void repeats_destroy(struct repeats *repeats);

/* Sums of a brick in a phase. */
static inline const struct repeats_sums *repeats_of(
	const struct repeats *repeats, int phase, uint32_t brick)
{
	return &repeats->sums[(size_t)phase * repeats->run->brick_count + brick];
}
